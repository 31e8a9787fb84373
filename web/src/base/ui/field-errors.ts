import { GantryError } from '#client/index.ts'

type Split<Name extends string> = { errors: Partial<Record<Name, string>>; rest: Error | null }

/**
 * Splits an error of the API: the messages for the inputs, and the error itself if it is about anything else.
 * `inputOf` names the input of a field, `textOf` makes a sentence of what is wrong.
 */
export function splitErrors<Name extends string>(
  error: Error | null,
  inputOf: (field: string) => Name | undefined,
  textOf: (problem: string, field: string, input: Name) => string = describe,
): Split<Name> {
  if (!(error instanceof GantryError)) return { errors: {}, rest: error }
  const errors: Partial<Record<Name, string>> = {}
  const fields = Object.entries(error.errors)
  for (const [field, problems] of fields) {
    const input = inputOf(field)
    if (input)
      errors[input] = [errors[input], textOf(problems.join('; '), field, input)].filter(Boolean).join(' ')
  }
  const isCovered = fields.length > 0 && fields.every(([field]) => inputOf(field) !== undefined)
  return { errors, rest: isCovered ? null : error }
}

/** The same where inputs have the names of the fields. */
export function fieldErrors<Name extends string>(error: Error | null, names: readonly Name[]): Split<Name> {
  return splitErrors(error, (field) => names.find((name) => name === field), capitalized)
}

/** The API's messages continue the field's name: "must be at least 8 characters". */
function describe(problem: string, field: string): string {
  const [, ...path] = field.split('.')
  const text = path.length === 0 ? capitalized(problem) : `${path.join('.')} ${problem}`
  return /[.!?]$/.test(text) ? text : `${text}.`
}

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
