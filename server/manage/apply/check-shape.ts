import type { ErrorObject } from 'ajv'
import { hookSchemas } from '#model/hooks/schemas.ts'
import { createValidatorCompiler, errorsByField } from '#platform/http/validation.ts'
import type { Fault } from './positions.ts'
import { documentSchema, type GantryDocument } from './schemas.ts'

type Check = (value: unknown) => { value: unknown } | { error: ErrorObject[] }

let check: Check | undefined

/** Made when it is first needed: most processes never are asked to apply anything. */
function validator(): Check {
  check ??= createValidatorCompiler(hookSchemas)({
    schema: documentSchema,
    httpPart: 'body',
    method: 'POST',
    url: '/apply',
  }) as unknown as Check
  return check
}

const MOST_FAULTS = 100
/** They say only that one of their parts failed, which is reported by itself. */
const SUMMING_UP = ['if', 'anyOf', 'propertyNames']

export type CheckedShape =
  | { kind: 'document'; document: GantryDocument }
  | { kind: 'faults'; faults: Fault[] }

/** What the schema says about the value of a document. */
export function checkShape(value: unknown): CheckedShape {
  const checked = validator()(value)
  if ('value' in checked) return { kind: 'document', document: value as GantryDocument }
  const errors = checked.error.filter(({ keyword }) => !SUMMING_UP.includes(keyword))
  return { kind: 'faults', faults: errors.slice(0, MOST_FAULTS).map(toFault) }
}

function toFault(error: ErrorObject): Fault {
  const path: string[] = error.instancePath.split('/').slice(1).map(unescapePointer)
  const message = Object.values(errorsByField([error]))[0]?.[0] ?? 'is wrong'
  if (error.keyword === 'required')
    return { path: [...path, error.params.missingProperty], message, onKey: true }
  if (error.keyword === 'additionalProperties')
    return { path: [...path, error.params.additionalProperty], message, onKey: true }
  if (error.propertyName !== undefined) return { path: [...path, error.propertyName], message, onKey: true }
  return { path, message }
}

function unescapePointer(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~')
}
