// The hooks room: people create, change and remove hooks, and rotate their secrets. What a hook does with a call
// or an event is up to engine/incoming and engine/outgoing.
import { randomUUID } from 'node:crypto'
import { type Insertable, sql } from 'kysely'
import { type Actor, type Change, type Removal, type Requester, recordAudit } from '#access/audit/record.ts'
import { awaitsSecret, sendSecret } from '#model/connections/stored-connections.ts'
import { storePoll } from '#model/connections/stored-polls.ts'
import { IS_STRICT } from '#model/events/delivery-order.ts'
import type { RequestSettings } from '#model/hooks/compile-requests.ts'
import { resetHealth } from '#model/hooks/load-health.ts'
import {
  type HookRow,
  hookSecretAad,
  REMOVED_HOOK,
  tokenOriginsOf,
  urlTokenAad,
} from '#model/hooks/present-hook.ts'
import type { IncomingHookBody, OutgoingHookBody } from '#model/hooks/schemas.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import { hashToken, newDeliverySecret, newHookSecret, newUrlToken } from '#platform/crypto/tokens.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { findRow, updateRow } from '#platform/database/rows.ts'
import type { HooksTable, HookType, TokenTargets } from '#platform/database/tables.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import {
  CHANGED_MEANWHILE,
  conflict,
  FieldErrors,
  GONE,
  type HttpProblem,
  invalidAt,
  REMOVED,
} from '#platform/http/problems.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import { MASK } from '#platform/masking/masked.ts'
import { checkPoll } from './check-poll.ts'
import { checkNamed, expandRequest, type NamedCredential } from './check-token.ts'
import {
  checkConnected,
  connect,
  disconnect,
  findConnection,
  prepareConnection,
  signatureOf,
} from './connect-hook.ts'
import { columnsOf, type HookChange, requestOf } from './hook-columns.ts'
import { findHook } from './read-hooks.ts'
import { checkRequest, validateIncoming, validateOutgoing } from './validate-hook.ts'

export const MAX_HOOKS_PER_PIPELINE = 200
const DEFAULT_OVERLAP_SECONDS = 86_400

export type NewHook =
  | { type: 'incoming'; body: IncomingHookBody }
  | { type: 'outgoing'; body: OutgoingHookBody }

/**
 * `secret` is the text of a secret that this operation generated: it is shown now or never. `wasOffSince` is set
 * for an outgoing hook that this operation switched on again.
 */
/** `receiver`: the result of `checkReceiver`, which is too slow for a transaction. */
export type HookDeps = Requester & {
  box: SecretBox
  receiver: ErrorsByField | undefined
  /** Where the installation allows tokens to go. */
  tokenTargets: TokenTargets
}

export async function createHook(trx: Transaction, by: HookDeps, pipelineId: number, input: NewHook) {
  // Locked, so that two creations at once cannot both pass the limit.
  const columns = ['id', 'environment_id', 'operation'] as const
  const pipeline = await findRow(
    trx,
    'pipelines',
    { id: pipelineId, deleted_at: null },
    columns,
    'for no key update',
  )
  if (!pipeline) return GONE
  const problem = (await checkHook(trx, by, input, pipeline)) ?? (await checkLimit(trx, pipelineId))
  if (problem) return problem
  const connection = await connectionOf(trx, by, pipeline.id, input)
  if (connection && connection.kind !== 'connectable') return connection
  const settings = input.type === 'incoming' ? (input.body.settings ?? {}) : {}
  const unpolled = await checkPoll(trx, pipeline.id, settings, connection !== undefined)
  if (unpolled) return unpolled

  const id = randomUUID()
  const secret = firstSecret(input)
  const token = input.type === 'incoming' ? newUrlToken() : undefined
  await trx
    .insertInto('hooks')
    .values({
      id,
      pipeline_id: pipeline.id,
      environment_id: pipeline.environment_id,
      action_type: pipeline.operation,
      created_by: by.caller.id,
      edited_by: by.caller.id,
      secret: secret === undefined ? null : by.box.seal(secret, hookSecretAad(id)),
      url_token: token === undefined ? null : by.box.seal(token, urlTokenAad(id)),
      url_token_hash: token === undefined ? null : hashToken(token),
      ...(columnsOf(input) as Pick<Insertable<HooksTable>, 'type' | 'name' | 'settings' | 'trigger_when'>),
      ...(await presetTarget(trx, pipeline.id, input)),
    })
    .execute()
  const row = (await findHook(trx, input.type, id))!
  await auditHook(trx, by.actor, 'created', null, row)
  if (connection) await connect(trx, by, { id, name: row.name }, connection)
  if (isPolled(row)) await storePoll(trx, id, true)
  return { kind: 'done' as const, row, secret }
}

export async function changeHook(
  trx: Transaction,
  by: HookDeps & { id: string; ifMatch?: string },
  input: HookChange,
) {
  const { id, ifMatch } = by
  const before = await findHook(trx, input.type, id, { lock: true })
  if (!before) return GONE
  if (isOutdated(ifMatch, before.row_version)) return CHANGED_MEANWHILE
  const pipeline = { id: before.pipeline_id, operation: before.operation }
  const problem = await checkHook(trx, by, input, pipeline, before)
  if (problem) return problem
  const connection = await changedConnection(trx, by, before, input)
  if (connection && connection.kind !== 'connectable' && connection.kind !== 'connected') return connection
  const settings = input.type === 'incoming' ? (input.body.settings ?? before.settings) : {}
  const unpolled = await checkPoll(trx, pipeline.id, settings, connection !== undefined)
  if (unpolled) return unpolled

  const { type, body } = input
  const needsSecret = type === 'incoming' && body.requires_secret && before.secret === null
  const given = type === 'incoming' ? body.secret : undefined
  const generated = needsSecret && given === undefined ? newHookSecret() : undefined
  const secret = given ?? generated
  await updateRow(trx, 'hooks', id, {
    ...columnsOf(input, before),
    ...(await presetTarget(trx, before.pipeline_id, input, before)),
    // The editor is the person in whose name the hook sends.
    ...(!isOnlySwitchingOff(input) && { edited_by: by.caller.id }),
    ...(secret !== undefined && {
      secret: by.box.seal(secret, hookSecretAad(id)),
      ...(connection?.kind === 'connected'
        ? await untilConfirmed(trx, before)
        : { previous_secret: null, previous_secret_until: null }),
    }),
  })
  if (connection?.kind === 'connected' && secret !== undefined) await sendSecret(trx, id, 0)
  const row = (await findHook(trx, type, id))!
  if (type === 'incoming' && (isPolled(row) || isPolled(before))) await storePoll(trx, id, isPolled(row))
  if (type === 'incoming' && body.connect === false) await disconnect(trx, by, row)
  if (connection?.kind === 'connectable') await connect(trx, by, { id, name: row.name }, connection)
  if (row.target_url !== before.target_url) await resetHealth(trx, id)
  if (type === 'outgoing') await putInOrder(trx, id)
  const isOnAgain = type === 'outgoing' && body.active === true
  await auditHook(trx, by.actor, 'changed', before, row)
  return {
    kind: 'done' as const,
    row,
    secret: generated,
    wasOffSince: isOnAgain ? (before.off_since ?? undefined) : undefined,
  }
}

/**
 * Generates a new secret; the old one stays valid for a while, so that the other side can follow. What the hook
 * sends stays the same, and so does its editor.
 */
export async function rotateSecret(
  trx: Transaction,
  type: HookType,
  { id, body, actor, box }: Change<{ overlap_seconds?: number }, string> & { box: SecretBox },
) {
  const before = await findHook(trx, type, id, { lock: true })
  if (!before) return GONE
  if (before.secret === null) return conflict('This hook has no secret: set requires_secret to true first.')
  const secret = type === 'incoming' ? newHookSecret() : newDeliverySecret()
  const { overlap_seconds: overlap = DEFAULT_OVERLAP_SECONDS } = body
  const isConnected = (await findConnection(trx, id)) !== undefined
  await updateRow(trx, 'hooks', id, {
    secret: box.seal(secret, hookSecretAad(id)),
    previous_secret: overlap > 0 ? before.secret : null,
    previous_secret_until: overlap > 0 ? sql<string>`now() + ${overlap}::int * interval '1 second'` : null,
    ...(isConnected && overlap > 0 && (await untilConfirmed(trx, before))),
  })
  if (isConnected) await sendSecret(trx, id, overlap > 0 ? overlap : null)
  const row = (await findHook(trx, type, id))!
  await auditHook(trx, actor, 'secret rotated', before, row)
  return { kind: 'done' as const, row, secret }
}

export async function removeHookOf(
  trx: Transaction,
  type: HookType,
  { id, actor, ifMatch }: Removal<string>,
) {
  const row = await findHook(trx, type, id, { lock: true })
  if (!row) return GONE
  if (isOutdated(ifMatch, row.row_version)) return CHANGED_MEANWHILE
  await removeHook(trx, type, id)
  await auditHook(trx, actor, 'removed', row, null)
  return REMOVED
}

export async function removeHook(db: Database, type: HookType, id: string): Promise<void> {
  await db
    .updateTable('hooks')
    .set(REMOVED_HOOK)
    .where('id', '=', id)
    .where('type', '=', type)
    .where('deleted_at', 'is', null)
    .execute()
}

const AUDITED = [
  'name',
  'active',
  'pipeline_id',
  'target_url',
  'verify_ssl',
  'credential_id',
  'requires_secret',
  'secret_algorithm',
  'secret_header_name',
  'trigger_when',
] as const

export async function auditHook(
  trx: Transaction,
  actor: Actor,
  verb: string,
  before: HookRow | null,
  after: HookRow | null,
): Promise<void> {
  const shown = (row: HookRow) => {
    const token_origins = tokenOriginsOf(row)
    return {
      ...Object.fromEntries(AUDITED.map((field) => [field, row[field]])),
      settings: withoutHeaderValues(row.settings),
      ...(token_origins.length > 0 && { token_origins }),
      secret: row.secret === null ? null : MASK,
    }
  }
  const { id, name, type, project_id } = (after ?? before)!
  const { organization_id } = (await findRow(trx, 'projects', { id: project_id }, ['organization_id']))!
  await recordAudit(trx, actor, {
    organizationId: organization_id,
    verb,
    subject: { type: `${type}_hook`, id, name },
    before: before && shown(before),
    after: after && shown(after),
  })
}

/** Header values may be keys, so they are left out. */
function withoutHeaderValues(settings: HookRow['settings']): HookRow['settings'] {
  const { request_headers, requests } = settings as RequestSettings
  const hidden = <Request extends Pick<RequestSettings, 'request_headers'>>(request: Request): Request =>
    request.request_headers
      ? {
          ...request,
          request_headers: request.request_headers.map(({ name }) => ({ name, value: MASK })),
        }
      : request
  return {
    ...settings,
    ...hidden({ ...(request_headers && { request_headers }) }),
    ...(requests && {
      requests: { ...requests, create: hidden(requests.create), update: hidden(requests.update) },
    }),
  }
}

/** Why the caller cannot save this; undefined when they can. */
export async function checkHook(
  trx: Transaction,
  { caller, receiver, tokenTargets }: Pick<HookDeps, 'caller' | 'receiver' | 'tokenTargets'>,
  input: HookChange,
  { id: pipelineId, operation }: { id: number; operation: string },
  stored?: HookRow,
): Promise<HttpProblem | undefined> {
  const { type, body } = input
  const credential = credentialOf(input, stored)
  const named = await checkNamed(trx, caller, pipelineId, credential)
  if (named) return named
  const sent = type === 'outgoing' && !isOnlySwitchingOff(input) ? requestOf(body, stored) : undefined
  // Without a URL there is nothing to compile.
  const request =
    sent?.target_url || sent?.settings.preset
      ? await checkRequest(trx, caller, pipelineId, sent, credential, tokenTargets)
      : undefined
  if (request?.kind === 'forbidden') return request
  // Templates that were valid when they were saved must not block other changes.
  const setsRequest =
    type === 'outgoing' && (credential.isNew || (body.target_url ?? body.settings) !== undefined)
  const found = [
    type === 'incoming'
      ? validateIncoming(body, operation, stored)
      : validateOutgoing(body, operation, stored),
    receiver ?? {},
    setsRequest && request?.kind === 'invalid' ? request.errors : {},
    sent && !sent.target_url && !sent.settings.preset ? { target_url: ['is required'] } : {},
  ]
  const errors = new FieldErrors()
  for (const [field, messages] of found.flatMap(Object.entries<string[]>))
    for (const message of messages) errors.add(field, message)
  return errors.problem
}

/** A hook with a preset shows the URL that this leads to. */
async function presetTarget(
  trx: Transaction,
  pipelineId: number,
  { type, body }: HookChange,
  stored?: HookRow,
): Promise<{ target_url?: string }> {
  const request = type === 'outgoing' ? requestOf(body, stored) : undefined
  if (!request?.settings.preset) return {}
  const expanded = await expandRequest(trx, pipelineId, request)
  return expanded.kind === 'unfit' ? {} : { target_url: expanded.target_url }
}

/** The credential that the hook names once the input is stored. */
function credentialOf({ type, body }: HookChange, stored?: HookRow): NamedCredential {
  const given = type === 'outgoing' ? body.credential_id : undefined
  const before = stored?.credential_id ?? null
  const id = given === undefined ? before : given
  return { id, isNew: id !== before }
}

const isPolled = ({ settings }: HookRow) => (settings as { poll?: object }).poll !== undefined

/** The connection that the input asks for; undefined when it asks for none. */
async function connectionOf(
  trx: Transaction,
  by: HookDeps,
  pipelineId: number,
  input: HookChange,
  stored?: HookRow,
) {
  if (input.type !== 'incoming' || input.body.connect !== true) return undefined
  const signature = signatureOf(receptionColumns(input, stored))
  const prepared = await prepareConnection(trx, by.caller, pipelineId, signature, undefined)
  return prepared.kind === 'unfit' ? invalidAt('connect', prepared.problem) : prepared
}

/** `connected`: it is already, and stays so. */
async function changedConnection(trx: Transaction, by: HookDeps, before: HookRow, input: HookChange) {
  if (input.type !== 'incoming' || input.body.connect === false) return undefined
  if (!(await findConnection(trx, before.id))) return connectionOf(trx, by, before.pipeline_id, input, before)
  const signature = signatureOf(receptionColumns(input, before))
  return (await checkConnected(trx, before.id, signature)) ?? { kind: 'connected' as const }
}

/** The columns that say how calls are signed, once the input is stored. */
function receptionColumns(input: HookChange, stored?: HookRow) {
  const columns = columnsOf(input, stored)
  const settings = typeof columns.settings === 'string' ? JSON.parse(columns.settings) : stored?.settings
  return {
    ...(columns as Pick<HookRow, 'requires_secret' | 'secret_algorithm' | 'secret_header_name'>),
    settings,
  }
}

/** A connected hook accepts the secret that its host has until the host confirms the new one. */
async function untilConfirmed(trx: Transaction, { id, secret, previous_secret }: HookRow) {
  const known = (await awaitsSecret(trx, id)) ? previous_secret : secret
  return { previous_secret: known, previous_secret_until: known && '9999-12-31T00:00:00Z' }
}

async function checkLimit(trx: Transaction, pipelineId: number): Promise<HttpProblem | undefined> {
  const { count } = await trx
    .selectFrom('hooks')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('pipeline_id', '=', pipelineId)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow()
  if (count < MAX_HOOKS_PER_PIPELINE) return undefined
  return conflict(`A pipeline can have ${MAX_HOOKS_PER_PIPELINE} hooks; remove one first.`)
}

/** Such a change sends nothing, and does not make the caller the hook's editor. */
function isOnlySwitchingOff({ body }: HookChange): boolean {
  return body.active === false && Object.keys(body).length === 1
}

/** From now on replays of a strict hook wait for their turn, also those that wait already. */
async function putInOrder(trx: Transaction, hookId: string): Promise<void> {
  await sql`
    update deliveries set asked_by = null, is_redelivered = true from hooks
    where hooks.id = ${hookId} and ${sql.raw(IS_STRICT)} and deliveries.hook_id = hooks.id and state = 'pending'
      and asked_by is not null and (leased_until is null or leased_until < now())`.execute(trx)
}

function firstSecret({ type, body }: NewHook): string | undefined {
  if (type === 'outgoing') return newDeliverySecret()
  return body.secret ?? (body.requires_secret ? newHookSecret() : undefined)
}
