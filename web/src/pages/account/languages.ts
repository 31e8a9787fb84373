const LANGUAGES = 'cs da de en es fr it ja ko nl pl pt sv tr uk zh'.split(' ')

/** Pure. Each by the name that its speakers use; the current one is always a choice. */
export function languageChoices(current: string): { value: string; label: string }[] {
  const codes = LANGUAGES.includes(current) ? LANGUAGES : [current, ...LANGUAGES]
  return codes.map((code) => ({ value: code, label: nameOf(code) }))
}

function nameOf(code: string): string {
  try {
    return new Intl.DisplayNames([code], { type: 'language' }).of(code) ?? code
  } catch {
    // Not a language tag: profiles may hold any text.
    return code
  }
}
