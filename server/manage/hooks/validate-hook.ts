import type { Caller } from '#access/authorization/caller.ts'
import { can } from '#access/authorization/permissions.ts'
import { compileRequest, type HookRequest } from '#adapters/templates/compile.ts'
import { childOf, type NameTree } from '#adapters/templates/names.ts'
import type { HookRow } from '#model/hooks/present-hook.ts'
import type {
  HookCondition,
  HookVariable,
  IncomingHookChange,
  OutgoingHookChange,
} from '#model/hooks/schemas.ts'
import { canCarrySignature } from '#model/hooks/signature-headers.ts'
import { SIGNATURE_SCHEMES } from '#model/hooks/signature-schemes.ts'
import { templateNames } from '#model/hooks/template-names.ts'
import { type PayloadPath, parsePath } from '#model/payload/payload-path.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { FieldErrors, type HttpProblem } from '#platform/http/problems.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'

// The rules for a hook that a schema cannot express. Each function reports every error at once.

const MAX_DEFAULT_BYTES = 64 * 1024
const MAX_LOOKUP_MS = 3_000

/** Pure. */
export function validateIncoming(
  input: IncomingHookChange,
  operation: string,
  stored?: Pick<HookRow, 'secret_header_name'>,
): ErrorsByField {
  const errors = new FieldErrors()
  if (input.action_type !== undefined && input.action_type !== operation)
    errors.add('action_type', `must be ${operation}, the operation of the pipeline`)
  checkHeaderName(input.secret_header_name, stored, errors)
  checkVariables(input.settings?.variables ?? [], errors)
  checkSignature(input.settings?.signature, errors)
  checkConditions(input.trigger_when?.conditions ?? [], errors)
  return errors.found
}

/** Pure. */
export function validateOutgoing(
  input: OutgoingHookChange,
  operation: string,
  stored?: Pick<HookRow, 'action_type' | 'trigger_when'>,
): ErrorsByField {
  const errors = new FieldErrors()
  checkWatchedType(input, operation, stored, errors)
  checkConditions(input.trigger_when?.conditions ?? [], errors, checkEventPath)
  return errors.found
}

/** Compiles the templates, and checks that the caller may send the token that they use. */
export async function checkRequest(
  trx: Transaction,
  caller: Caller,
  pipelineId: number,
  request: HookRequest,
): Promise<HttpProblem | undefined> {
  const compiled = compileRequest(request, templateNames())
  if (compiled.kind === 'invalid') return { kind: 'invalid', errors: compiled.errors }
  if (!compiled.request.usesAccessToken) return undefined
  const credential = await trx
    .selectFrom('pipelines')
    .innerJoin('applications', 'applications.id', 'pipelines.application_id')
    .innerJoin('credentials', 'credentials.id', 'applications.credential_id')
    .select(['credentials.organization_id', 'credentials.auth_type'])
    .where('pipelines.id', '=', pipelineId)
    .executeTakeFirst()
  if (credential?.auth_type !== 'token') {
    const message =
      'uses application.source_provider.access_token, but the application has no credential with a token'
    return { kind: 'invalid', errors: { settings: [message] } }
  }
  if (can(caller, 'credential:run', credential)) return undefined
  return {
    kind: 'forbidden',
    reason:
      "The hook sends the token of the application's credential, which requires the permission credential:run.",
  }
}

/** Whether the receiver's address may be called at all. A name that cannot be resolved now passes: it may be later. */
export async function checkReceiver(
  guard: AddressGuard,
  targetUrl: string,
): Promise<ErrorsByField | undefined> {
  const host = URL.parse(targetUrl)?.hostname
  if (!host) return undefined
  const timeout = new Promise<undefined>((resolve) => setTimeout(resolve, MAX_LOOKUP_MS, undefined).unref())
  const verdict = await Promise.race([guard.check(host), timeout])
  return verdict?.kind === 'refused' ? { target_url: [verdict.message] } : undefined
}

/** A pipeline has one type of actions; a resource has those of all its pipelines, including future ones. */
function checkWatchedType(
  input: OutgoingHookChange,
  operation: string,
  stored: Pick<HookRow, 'action_type' | 'trigger_when'> | undefined,
  errors: FieldErrors,
): void {
  const scope = (input.trigger_when ?? stored?.trigger_when)?.scope ?? 'pipeline'
  const actionType = input.action_type ?? stored?.action_type ?? operation
  if (scope === 'pipeline' && actionType !== operation)
    errors.add(
      'action_type',
      `must be ${operation}, the operation of the pipeline, unless trigger_when.scope is resource`,
    )
}

/** A name that is already stored stays valid: senders use it. */
function checkHeaderName(
  name: string | undefined,
  stored: Pick<HookRow, 'secret_header_name'> | undefined,
  errors: FieldErrors,
): void {
  if (name === undefined || canCarrySignature(name)) return
  if (name.toLowerCase() === stored?.secret_header_name?.toLowerCase()) return
  errors.add(
    'secret_header_name',
    `must not be ${name}, which HTTP clients and proxies set: use a header of its own, such as X-Hub-Signature-256`,
  )
}

function checkVariables(variables: readonly HookVariable[], errors: FieldErrors): void {
  const seen = new Set<string>()
  variables.forEach(({ name, path, type, default_value }, index) => {
    const field = `settings.variables.${index}`
    if (seen.has(name.toLowerCase()))
      errors.add(`${field}.name`, 'is taken by another variable (names are case-insensitive)')
    seen.add(name.toLowerCase())
    if (path != null) checkPath(path, `${field}.path`, errors)
    const error = default_value == null ? undefined : checkDefault(type, default_value)
    if (error) errors.add(`${field}.default_value`, error)
  })
}

function checkDefault(type: HookVariable['type'], value: unknown): string | undefined {
  const fits = {
    string: typeof value === 'string',
    integer: Number.isSafeInteger(value),
    boolean: typeof value === 'boolean',
    array: Array.isArray(value),
  }
  if (!fits[type]) return `must be of the declared type ${type}, or null for none`
  return Buffer.byteLength(JSON.stringify(value)) > MAX_DEFAULT_BYTES
    ? 'must not be longer than 64 KiB'
    : undefined
}

function checkSignature(
  signature: NonNullable<IncomingHookChange['settings']>['signature'],
  errors: FieldErrors,
): void {
  if (!signature) return
  const { scheme, ...settings } = signature
  for (const [field, message] of Object.entries(SIGNATURE_SCHEMES[scheme].checkSettings(settings)))
    errors.add(`settings.signature.${field}`, message!)
}

type CheckKeys = (keys: PayloadPath) => string | undefined

function checkConditions(
  conditions: readonly HookCondition[],
  errors: FieldErrors,
  checkKeys?: CheckKeys,
): void {
  conditions.forEach(({ path }, index) => {
    checkPath(path, `trigger_when.conditions.${index}.path`, errors, checkKeys)
  })
}

function checkPath(path: string, field: string, errors: FieldErrors, checkKeys?: CheckKeys): void {
  const parsed = parsePath(path)
  const error = parsed.kind === 'invalid' ? parsed.message : checkKeys?.(parsed.keys)
  if (error) errors.add(field, error)
}

/** A name that no event has never matches: the hook would stay silent for no visible reason. */
function checkEventPath(keys: PayloadPath): string | undefined {
  if (keys[0] !== 'event' && keys[0] !== 'action') return 'must begin with event or action'
  let tree: NameTree | undefined = templateNames()
  for (const [index, key] of keys.entries()) {
    // Templates also know `first`, `last` and `size`; paths only reach stored values.
    const isReachable: boolean = tree.kind !== 'value' && (tree.kind !== 'list' || /^\d+$/.test(key))
    tree = isReachable ? childOf(tree, key) : undefined
    if (!tree) return `has the unknown name ${keys.slice(0, index + 1).join('.')}`
  }
  return undefined
}
