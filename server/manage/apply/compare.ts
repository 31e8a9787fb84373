import { isDeepStrictEqual } from 'node:util'
import { readKnownHost } from '#adapters/executors/host-key.ts'
import { normalizeCredential } from '#manage/credentials/normalize-credential.ts'
import { columnsOf, type HookChange } from '#manage/hooks/hook-columns.ts'
import { normalizeServer } from '#manage/servers/normalize-server.ts'
import { wholeChecks } from '#model/gates/checks-terms.ts'
import { wholeRetention } from '#model/inventory/retention.ts'
import { type HealthCheckInput, normalizeHealthCheck } from '#model/pipelines/health-check.ts'
import { wholeRollout } from '#model/pipelines/rollout.ts'
import { parseExactly } from '#platform/exact-json.ts'
import { MASK } from '#platform/masking/masked.ts'
import { wholeNamedApproval } from './approvers.ts'
import type { Path } from './problems.ts'
import type { Bodies, DesiredResource } from './resources.ts'
import type { ResourceKind } from './schemas.ts'
import { type Fields, type StoredResource, sorted } from './stored-state.ts'

// Compares a resource in the document with the stored one. Pure, except that it opens secrets.

export type FieldChange = { field: string; before: unknown; after: unknown }

const SECRET_FIELDS = ['token', 'private_key', 'secret']

/** Equals nothing that a document can contain. */
const UNREADABLE = Symbol('a secret that cannot be opened')

/** The fields whose value would change; for a new resource, all that the document gives. */
export function compare(
  desired: DesiredResource,
  stored: StoredResource | undefined,
  isFilled: (path: Path) => boolean,
): FieldChange[] {
  const before: Fields = stored ? withSecret(stored) : {}
  const normalize = NORMALIZE[desired.type] as ((body: Fields, stored: StoredResource) => Fields) | undefined
  const body = desired.body as Fields
  const after = stored && normalize ? normalize(body, stored) : body
  const isFilledWhole = desired.type === 'variable' && isFilled(desired.at)
  return Object.entries(after)
    .filter(([field, value]) => value !== undefined && field !== 'trigger_after')
    .filter(([field, value]) => !stored || !isSame(before[field] ?? null, value))
    .map(([field, value]) => {
      const isHidden = isFilledWhole || isSecret(desired, stored, field) || isFilled([...desired.at, field])
      const show = (one: unknown) => ((isHidden && one != null) || one === UNREADABLE ? MASK : (one ?? null))
      return { field, before: show(before[field]), after: show(value) }
    })
}

type Sent = { request_body?: unknown; requests?: { create?: Sent; update?: Sent } }

/** The order of keys matters in one kind of value: in the bodies that an outgoing hook sends. */
function isSame(before: unknown, after: unknown): boolean {
  const bodiesOf = (value: unknown) => {
    const { request_body, requests } = (value ?? {}) as Sent
    return JSON.stringify([request_body, requests?.create?.request_body, requests?.update?.request_body])
  }
  return isDeepStrictEqual(before, after) && bodiesOf(before) === bodiesOf(after)
}

/** Whether the document gives a secret. Comparing it with the stored one reveals whether they are equal. */
export function suppliesSecret({ type, body }: DesiredResource): boolean {
  return type === 'variable' || SECRET_FIELDS.some((field) => (body as Fields)[field] !== undefined)
}

function isSecret(desired: DesiredResource, stored: StoredResource | undefined, field: string): boolean {
  if (desired.type !== 'variable') return SECRET_FIELDS.includes(field)
  return field === 'value' && (desired.body.hidden === true || stored?.body.hidden === true)
}

function withSecret({ type, body, credential, openSecret }: StoredResource): Fields {
  const secret = openSecret?.() ?? (openSecret ? UNREADABLE : null)
  if (type === 'variable') return { ...body, value: secret }
  if (type === 'hook') return { ...body, secret }
  if (type === 'credential')
    return { ...body, [credential?.auth_type === 'key' ? 'private_key' : 'token']: secret }
  return body
}

/** The given fields as they would be stored; undefined ones are not given. Invalid ones stay as they are, to be rejected by their room. */
const NORMALIZE: { [Kind in ResourceKind]?: (body: Bodies[Kind], stored: StoredResource) => Fields } = {
  // A key is generated once; afterward `generate` has no effect.
  credential({ generate: _, ...given }, stored) {
    const normalized = normalizeCredential(given, stored.credential!)
    if (normalized.kind === 'invalid') return given
    const { secret, ...columns } = normalized.credential
    const { token, private_key, ...plain } = given
    const key = private_key === undefined ? undefined : secret
    return { ...pickGiven(plain, columns), token, private_key: key }
  },
  environment: ({ retention, approval, ...given }) => ({
    ...given,
    ...(approval !== undefined && { approval: wholeNamedApproval(approval) }),
    ...(retention !== undefined && { retention: wholeRetention(retention) }),
  }),
  server({ credential, ...given }, { server }) {
    const { columns, errors } = normalizeServer(given, server!)
    const isValid = Object.keys(errors).length === 0
    if (isSameKey(columns.host_key, server!.host_key)) columns.host_key = server!.host_key
    return { ...(isValid ? pickGiven(given, columns) : given), credential }
  },
  application: ({ servers, health_check, ...given }) => ({
    ...given,
    ...withDefaults(health_check),
    ...(servers && { servers: sorted(servers) }),
  }),
  pipeline: ({ rollout, run_after, health_check, wait_for_checks, ...given }) => ({
    ...given,
    ...(wait_for_checks !== undefined && { wait_for_checks: wholeChecks(wait_for_checks) }),
    ...withDefaults(health_check),
    ...(rollout !== undefined && { rollout: wholeRollout(rollout) }),
    ...(run_after && { run_after: sorted(run_after) }),
  }),
  hook(body, { hook }) {
    const columns: Fields = columnsOf({ type: hook!.type, body } as HookChange, hook)
    for (const field of ['settings', 'trigger_when'])
      if (columns[field] !== undefined) columns[field] = parseExactly(columns[field] as string)
    const { secret, action_type, credential, connect, ...given } = body as Fields
    return { ...pickGiven(given, columns), action_type, credential, connect, secret }
  },
}

function withDefaults(health_check: HealthCheckInput | null | undefined): Fields {
  if (health_check === undefined) return {}
  const normalized = normalizeHealthCheck(health_check)
  return { health_check: normalized.kind === 'valid' ? normalized.check : health_check }
}

/** Where the document has a fingerprint, the first connection may have stored the whole key. */
function isSameKey(desired: string | null, stored: string | null): boolean {
  const [one, other] = [desired, stored].map((text) => text && readKnownHost(text)?.fingerprint)
  return one != null && one === other
}

function pickGiven(given: Fields, normalized: Fields): Fields {
  return Object.fromEntries(Object.keys(given).map((field) => [field, normalized[field]]))
}
