/** From the most specific range to the least: the first that the caller names decides. */
const JSON_RANGES = ['application/json', 'application/*', '*/*']

/** True when JSON is among what the caller accepts; no header means anything goes. */
export function acceptsJson(accept: string | undefined): boolean {
  if (accept === undefined || accept.trim() === '') return true
  const accepted = new Map(accept.split(',').map(readRange))
  const decisive = JSON_RANGES.find((range) => accepted.has(range))
  return decisive !== undefined && accepted.get(decisive) === true
}

/** True when the caller names this very type: a wildcard, or no header, is not enough. */
export function namesType(accept: string | undefined, type: string): boolean {
  return new Map((accept ?? '').split(',').map(readRange)).get(type) === true
}

function readRange(part: string): [range: string, wanted: boolean] {
  const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase())
  return [range, !parameters.some((parameter) => /^q=0(\.0{0,3})?$/.test(parameter))]
}
