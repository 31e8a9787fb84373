import { childOf, type NameTree } from '#adapters/templates/names.ts'
import type {
  HookCondition,
  HookVariable,
  IncomingHookChange,
  OutgoingHookChange,
} from '#model/hooks/schemas.ts'
import { SIGNATURE_SCHEMES } from '#model/hooks/signature-schemes.ts'
import { templateNames } from '#model/hooks/template-names.ts'
import { type PayloadPath, parsePath } from '#model/payload/payload-path.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'

// What a schema cannot say about a hook. Pure: a wish → its faults, all at once.

const MOST_DEFAULT_BYTES = 64 * 1024

export function checkIncoming(wish: IncomingHookChange, operation: string): ErrorsByField {
  const errors = createErrors()
  checkActionType(wish.action_type, operation, errors)
  checkVariables(wish.settings?.variables ?? [], errors)
  checkSignature(wish.settings?.signature, errors)
  checkConditions(wish.trigger_when?.conditions ?? [], errors)
  return errors.found
}

export function checkOutgoing(wish: OutgoingHookChange, operation: string): ErrorsByField {
  const errors = createErrors()
  checkActionType(wish.action_type, operation, errors)
  checkConditions(wish.trigger_when?.conditions ?? [], errors, faultOfEventPath)
  return errors.found
}

type Errors = { found: ErrorsByField; add(field: string, message: string): void }

function createErrors(): Errors {
  const found: ErrorsByField = {}
  return {
    found,
    add(field, message) {
      found[field] = [...(found[field] ?? []), message]
    },
  }
}

function checkActionType(actionType: string | undefined, operation: string, errors: Errors): void {
  if (actionType !== undefined && actionType !== operation) {
    errors.add('action_type', `must be ${operation}, the operation of the pipeline`)
  }
}

function checkVariables(variables: readonly HookVariable[], errors: Errors): void {
  const seen = new Set<string>()
  variables.forEach((variable, index) => {
    const field = `settings.variables.${index}`
    const plain = variable.name.toLowerCase()
    if (seen.has(plain))
      errors.add(`${field}.name`, 'is used by another variable (upper and lower case count as the same)')
    seen.add(plain)
    if (variable.path !== undefined && variable.path !== null)
      checkPath(variable.path, `${field}.path`, errors)
    const fault = faultOfDefault(variable)
    if (fault) errors.add(`${field}.default_value`, fault)
  })
}

function faultOfDefault({ type, default_value: value }: HookVariable): string | undefined {
  if (value === undefined || value === null) return undefined
  const fits = {
    string: typeof value === 'string',
    integer: Number.isSafeInteger(value),
    boolean: typeof value === 'boolean',
    array: Array.isArray(value),
  }
  if (!fits[type]) return `must be of the declared type ${type}, or null for none`
  if (Buffer.byteLength(JSON.stringify(value)) > MOST_DEFAULT_BYTES) return 'must not be longer than 64 KiB'
  return undefined
}

function checkSignature(
  signature: NonNullable<IncomingHookChange['settings']>['signature'],
  errors: Errors,
): void {
  if (!signature) return
  const { scheme, ...settings } = signature
  for (const [field, message] of Object.entries(SIGNATURE_SCHEMES[scheme].checkSettings(settings)))
    errors.add(`settings.signature.${field}`, message!)
}

function checkConditions(
  conditions: readonly HookCondition[],
  errors: Errors,
  faultOf?: (keys: PayloadPath) => string | undefined,
): void {
  conditions.forEach((condition, index) => {
    checkPath(condition.path, `trigger_when.conditions.${index}.path`, errors, faultOf)
  })
}

function checkPath(
  path: string,
  field: string,
  errors: Errors,
  faultOf: (keys: PayloadPath) => string | undefined = () => undefined,
): void {
  const parsed = parsePath(path)
  const fault = parsed.kind === 'fault' ? parsed.message : faultOf(parsed.keys)
  if (fault) errors.add(field, fault)
}

/** A name that no event has never holds: the hook would be silent for ever, and nobody would know why. */
function faultOfEventPath(keys: PayloadPath): string | undefined {
  if (keys[0] !== 'event' && keys[0] !== 'action') return 'must begin with event or action'
  let tree: NameTree | undefined = templateNames()
  for (const [index, key] of keys.entries()) {
    tree = step(tree, key)
    if (!tree) return `has the unknown name ${keys.slice(0, index + 1).join('.')}`
  }
  return undefined
}

/** Templates also know `first`, `last` and `size`; paths point at what is there. */
function step(tree: NameTree, key: string): NameTree | undefined {
  if (tree.kind === 'value' || (tree.kind === 'list' && !/^\d+$/.test(key))) return undefined
  return childOf(tree, key)
}
