const JSON_RANGES = new Set(['*/*', 'application/*', 'application/json'])

/** True when JSON is among what the caller accepts; no header means anything goes. */
export function acceptsJson(accept: string | undefined): boolean {
  if (accept === undefined || accept.trim() === '') return true
  return accept.split(',').some((part) => {
    const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase())
    const refused = parameters.some((parameter) => /^q=0(\.0{0,3})?$/.test(parameter))
    return JSON_RANGES.has(range) && !refused
  })
}
