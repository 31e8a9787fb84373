import type { Caller } from '#access/authorization/caller.ts'
import { childOf, type NameTree } from '#adapters/templates/names.ts'
import { allOf, compileRequests } from '#model/hooks/compile-requests.ts'
import type { HookRow } from '#model/hooks/present-hook.ts'
import type {
  HookCondition,
  HookVariable,
  IncomingHookChange,
  OutgoingHookChange,
} from '#model/hooks/schemas.ts'
import { canCarrySignature, DEFAULT_SIGNATURE_HEADER } from '#model/hooks/signature-headers.ts'
import { SIGNATURE_SCHEMES } from '#model/hooks/signature-schemes.ts'
import { templateNames } from '#model/hooks/template-names.ts'
import type { PayloadPath } from '#model/payload/payload-path.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import { shownTo } from '#platform/addresses/verdict.ts'
import type { Transaction } from '#platform/database/connect.ts'
import type { TokenTargets } from '#platform/database/tables.ts'
import { FieldErrors, type HttpProblem } from '#platform/http/problems.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import { checkRepository, checkTokens, expandRequest, type NamedCredential } from './check-token.ts'
import type { requestOf } from './hook-columns.ts'
import { checkConditions, checkPath, checkPathRules, headersOf } from './validate-conditions.ts'
import { checkRequests } from './validate-requests.ts'

// The rules for a hook that a schema cannot express. Each function reports every error at once.

const MAX_DEFAULT_BYTES = 64 * 1024
const MAX_LOOKUP_MS = 3_000

type StoredReception = Pick<HookRow, 'secret_header_name'> & Partial<Pick<HookRow, 'trigger_when'>>

/** Pure. */
export function validateIncoming(
  input: IncomingHookChange,
  /** Of the pipeline; null: not checked. */
  operation: string | null,
  stored?: StoredReception,
): ErrorsByField {
  const errors = new FieldErrors()
  if (operation !== null && input.action_type !== undefined && input.action_type !== operation)
    errors.add('action_type', `must be ${operation}, the operation of the pipeline`)
  checkHeaderName(input.secret_header_name, stored, errors)
  checkVariables(input.settings?.variables ?? [], errors)
  checkSignature(input.settings?.signature, errors)
  checkIncomingConditions(input, stored, errors)
  checkPathRules(input.trigger_when?.paths ?? [], operation, errors)
  return errors.found
}

/** Pure. */
export function validateOutgoing(
  input: OutgoingHookChange,
  operation: string,
  stored?: Pick<HookRow, 'action_type' | 'trigger_when'> & Partial<Pick<HookRow, 'settings' | 'target_url'>>,
): ErrorsByField {
  const errors = new FieldErrors()
  checkWatchedType(input, operation, stored, errors)
  checkRequests(input, stored, errors)
  checkConditions(input.trigger_when?.conditions ?? [], errors, { checkKeys: checkEventPath })
  return errors.found
}

/** Compiles the templates, and checks that the caller may send the token that they use. */
export async function checkRequest(
  trx: Transaction,
  caller: Caller,
  pipelineId: number,
  request: ReturnType<typeof requestOf>,
  credential: NamedCredential,
  tokenTargets: TokenTargets,
): Promise<HttpProblem | undefined> {
  const expanded = await expandRequest(trx, pipelineId, request)
  if (expanded.kind === 'unfit') return { kind: 'invalid', errors: expanded.errors }
  const compiled = compileRequests(expanded)
  if (compiled.kind === 'invalid')
    return {
      kind: 'invalid',
      // What a user wrote of a preset's request are its options.
      errors: request.settings.preset
        ? { 'settings.preset': [...new Set(Object.values(compiled.errors).flat())] }
        : compiled.errors,
    }
  return (
    (await checkTokens(trx, caller, pipelineId, credential, allOf(compiled.requests), tokenTargets)) ??
    (await checkRepository(trx, pipelineId, request))
  )
}

/**
 * Why the receiver's address may not be called at all; undefined when it may. A name that cannot be resolved now passes: it
 * may be later.
 */
export async function checkReceiver(guard: AddressGuard, caller: Caller, targetUrl: string) {
  const host = URL.parse(targetUrl)?.hostname
  if (!host) return undefined
  const timeout = new Promise<undefined>((resolve) => setTimeout(resolve, MAX_LOOKUP_MS, undefined).unref())
  const verdict = await Promise.race([guard.check(host), timeout])
  return verdict?.kind === 'refused' ? shownTo(caller, verdict).message : undefined
}

/** The same for all URLs of a change, by the field that each is in. */
export async function checkReceivers(
  urls: readonly { field: string; url: string }[],
  check: (url: string) => Promise<string | undefined>,
): Promise<ErrorsByField | undefined> {
  const errors = new FieldErrors()
  const messages = await Promise.all(urls.map(({ url }) => check(url)))
  for (const [index, message] of messages.entries()) if (message) errors.add(urls[index]!.field, message)
  return errors.any ? errors.found : undefined
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
    `must not be ${name}, which HTTP clients and proxies set: use a dedicated header, such as X-Hub-Signature-256`,
  )
}

/** Conditions never read the signature, also after the header with it is another one. */
function checkIncomingConditions(
  input: IncomingHookChange,
  stored: StoredReception | undefined,
  errors: FieldErrors,
): void {
  const signatureHeader = input.secret_header_name ?? stored?.secret_header_name ?? DEFAULT_SIGNATURE_HEADER
  if (input.trigger_when) {
    checkConditions(input.trigger_when.conditions ?? [], errors, { signatureHeader })
  } else if (input.secret_header_name !== undefined) {
    const conditions = (stored?.trigger_when?.conditions ?? []) as HookCondition[]
    if (headersOf(conditions).includes(signatureHeader.toLowerCase()))
      errors.add('secret_header_name', 'must not be a header that a condition reads')
  }
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
