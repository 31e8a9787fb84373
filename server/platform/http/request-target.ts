/** Clients may name the whole address in the request line (`GET http://host/path`), as they do to proxies. */
export function pathAndQuery(target: string): string {
  return target.replace(/^https?:\/\/[^/?#]*/i, '')
}
