import type { ErrorsByField } from '#platform/http/validation.ts'
import { coerce, type VariableType, type VariableValue } from './coerce.ts'
import { type PayloadPath, readPath } from './payload-path.ts'

/** A declared variable with its parsed path: paths are parsed once per hook. */
export type CompiledVariable = {
  name: string
  /** As written, for messages. */
  path: string
  keys: PayloadPath
  type: VariableType
  required: boolean
  defaultValue: VariableValue | null
}

export type Variables = Record<string, VariableValue>

type Extracted = { kind: 'variables'; variables: Variables } | { kind: 'invalid'; errors: ErrorsByField }

/** All variables of a call, or all their errors. `text` is what `payload` was parsed from. */
export function extractVariables(
  declared: readonly CompiledVariable[],
  payload: unknown,
  text: string,
): Extracted {
  const variables: Variables = {}
  const errors: ErrorsByField = {}
  const exact = exactNumbers(text)
  for (const variable of declared) {
    const found = readPath(payload, variable.keys)
    if (found === undefined || found === null) {
      if (variable.defaultValue !== null) setOwn(variables, variable.name, variable.defaultValue)
      else if (variable.required)
        setOwn(errors, variable.name, [`is required, but the payload has no value at ${variable.path}`])
      continue
    }
    const coerced = coerce(variable.type, found, () => exact(variable.keys))
    if (coerced.kind === 'value') setOwn(variables, variable.name, coerced.value)
    else setOwn(errors, variable.name, [`at ${variable.path}: ${coerced.message}`])
  }
  return Object.keys(errors).length > 0 ? { kind: 'invalid', errors } : { kind: 'variables', variables }
}

/** Plain assignment, which is much faster, would create no property for this one name. */
function setOwn<Value>(record: Record<string, Value>, name: string, value: Value): void {
  if (name === '__proto__')
    Object.defineProperty(record, name, { value, enumerable: true, configurable: true, writable: true })
  else record[name] = value
}

class SourceText {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** Numbers as the sender wrote them. Parses the text again, once, and only when a number is read as a string. */
function exactNumbers(text: string): (keys: PayloadPath) => string {
  const withSource = (_key: string, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' && context?.source !== undefined ? new SourceText(context.source) : value
  let exact: { payload: unknown } | undefined
  return (keys) => {
    exact ??= { payload: JSON.parse(text, withSource as (key: string, value: unknown) => unknown) }
    const found = readPath(exact.payload, keys)
    return found instanceof SourceText ? found.text : String(found)
  }
}
