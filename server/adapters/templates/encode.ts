/** Percent-encoded whole: nothing in the text can end a segment, a parameter or the address. */
export function encodeWhole(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

export function encodeKeepingSlashes(text: string): string {
  return encodeWhole(text).replaceAll('%2F', '/')
}
