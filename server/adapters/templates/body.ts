/** A text that is sent as it stands, or a template. */
export type BodyText<Text> = { field: string; text: Text }

/** A body as JSON with holes: finished JSON, and texts that are put in, quoted, when it is rendered. */
export type BodyPiece<Text> = string | BodyText<Text>

export const BODY = 'settings.request_body'

const MOST_BYTES = 128 * 1024
const DEEPEST = 20

/** A fault of the body as a whole, before its texts are looked at. */
export function bodyFault(body: unknown): { field: string; message: string } | undefined {
  const deep = tooDeep(body, BODY, 1)
  if (deep) return { field: deep, message: `is nested deeper than ${DEEPEST} levels` }
  if (Buffer.byteLength(JSON.stringify(body)) > MOST_BYTES)
    return { field: BODY, message: 'must not be longer than 128 KiB as JSON' }
  return undefined
}

function tooDeep(value: unknown, field: string, depth: number): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (depth > DEEPEST) return field
  for (const [key, inside] of Object.entries(value)) {
    const found = tooDeep(inside, `${field}.${key}`, depth + 1)
    if (found) return found
  }
  return undefined
}

/**
 * Keys and structure are written once, here, so no value can change them later. `read` gives a template for
 * a text, or nothing for one that is sent as it stands.
 */
export function cutBody<Text>(
  body: unknown,
  read: (text: string, field: string) => Text | undefined,
): BodyPiece<Text>[] {
  const pieces: BodyPiece<Text>[] = []
  let json = ''
  write(body, BODY)
  return json ? [...pieces, json] : pieces

  function write(value: unknown, field: string): void {
    if (typeof value === 'string') writeText(value, field)
    else if (typeof value === 'object' && value !== null) writeAll(value, field)
    else json += JSON.stringify(value)
  }

  function writeText(value: string, field: string): void {
    const text = read(value, field)
    if (text === undefined) {
      json += JSON.stringify(value)
      return
    }
    pieces.push(json, { field, text })
    json = ''
  }

  function writeAll(values: object, field: string): void {
    const [open, close] = Array.isArray(values) ? '[]' : '{}'
    json += open
    for (const [index, [key, value]] of Object.entries(values).entries()) {
      if (index > 0) json += ','
      if (open === '{') json += `${JSON.stringify(key)}:`
      write(value, `${field}.${key}`)
    }
    json += close
  }
}
