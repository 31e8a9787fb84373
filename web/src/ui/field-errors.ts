import { GantryError } from '#client/index.ts'

/**
 * Splits an error of the API: the messages of these fields, for the inputs, and the error itself if it is about
 * anything else.
 */
export function fieldErrors<Name extends string>(
  error: Error | null,
  names: readonly Name[],
): { errors: Partial<Record<Name, string>>; rest: Error | null } {
  if (!(error instanceof GantryError)) return { errors: {}, rest: error }
  const errors: Partial<Record<Name, string>> = {}
  const fields = Object.entries(error.errors)
  for (const [field, problems] of fields) {
    const name = names.find((one) => one === field)
    if (name) errors[name] = sentence(problems.join('; '))
  }
  const isCovered = fields.length > 0 && fields.every(([field]) => field in errors)
  return { errors, rest: isCovered ? null : error }
}

/** The API's messages continue the field's name: "must be at least 8 characters". */
function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** The same where inputs have other names than the fields: `inputOf` names the input of a field. */
export function splitErrors<Name extends string>(
  error: Error | null,
  inputOf: (field: string) => Name | undefined,
): { errors: Partial<Record<Name, string>>; rest: Error | null } {
  if (!(error instanceof GantryError)) return { errors: {}, rest: error }
  const errors: Partial<Record<Name, string>> = {}
  const fields = Object.entries(error.errors)
  for (const [field, problems] of fields) {
    const name = inputOf(field)
    if (!name) continue
    const [, ...path] = field.split('.')
    const text =
      path.length === 0 ? sentence(problems.join('; ')) : `${path.join('.')} ${problems.join('; ')}`
    errors[name] = errors[name] ? `${errors[name]} ${text}.` : `${text}${/[.!?]$/.test(text) ? '' : '.'}`
  }
  const isCovered = fields.length > 0 && fields.every(([field]) => inputOf(field) !== undefined)
  return { errors, rest: isCovered ? null : error }
}
