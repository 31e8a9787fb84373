export type CurlRequest = { method: string; path: string; body?: unknown }

/** Everything is single-quoted: nothing in a URL or a body can end the quotes. Pure. */
export function curlCommand({ base, method, path, body }: CurlRequest & { base: string }): string {
  const lines = [
    `curl -X ${method} ${quote(base + path)}`,
    '-H "Authorization: Bearer $GANTRY_TOKEN"',
    ...(body === undefined
      ? []
      : [`-H 'Content-Type: application/json'`, `-d ${quote(JSON.stringify(body, null, 2))}`]),
  ]
  return lines.join(' \\\n  ')
}

/** One word of a shell. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
