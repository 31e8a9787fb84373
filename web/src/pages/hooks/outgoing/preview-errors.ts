// Errors of a preview at the inputs they are about. Pure.
import { GantryError } from '#client/index.ts'
import { inputFor } from '#web/base/form/changes.ts'
import { capitalized } from '#web/base/ui/field-errors.ts'
import { lineAndColumn, scanJson } from './scan-json.ts'

const BODY = 'settings.request_body'

type PreviewErrors = { byInput: Record<string, string>; rest: string | null }

/** `bodyText` tells where in the template a problem is: the API names the path of the text. */
export function previewErrors(
  error: Error | null,
  inputs: readonly string[],
  bodyText: string,
): PreviewErrors {
  if (!error) return { byInput: {}, rest: null }
  const byInput: Record<string, string> = {}
  const fields = error instanceof GantryError ? Object.entries(error.errors) : []
  let rest = fields.length === 0 ? error.message : null
  for (const [field, problems] of fields) {
    const input = inputFor(field, inputs)
    const text = problems.join('; ')
    if (!input) rest = `${field} ${text}`
    else byInput[input] ??= input === BODY ? `${positionInBody(field, bodyText)}${text}` : capitalized(text)
  }
  return { byInput, rest }
}

/** `Line 3, text: `, or only the path where the text is no JSON. */
function positionInBody(field: string, bodyText: string): string {
  const path = field.slice(BODY.length + 1)
  const scanned = scanJson(bodyText)
  const at = scanned.kind === 'valid' ? scanned.starts.get(path) : undefined
  if (path === '') return ''
  if (at === undefined) return `${path}: `
  return `${capitalized(lineAndColumn(bodyText, at).split(',')[0]!)}, ${path}: `
}
