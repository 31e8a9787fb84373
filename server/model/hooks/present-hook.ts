import { sql } from 'kysely'
import { loadUsers } from '#access/accounts/load-users.ts'
import type { KnownNames } from '#access/authorization/known-names.ts'
import { loadConnections } from '#model/connections/stored-connections.ts'
import { loadPolls } from '#model/connections/stored-polls.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import { byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import { isLargeInteger } from '#platform/exact-json.ts'
import * as t from '#platform/http/schemas.ts'
import { MASK, maskPath } from '#platform/masking/masked.ts'
import type { RequestSettings } from './compile-requests.ts'
import { type EffectiveRequest, effectiveRequest } from './effective-request.ts'
import { healthOf, pauseOf } from './health.ts'
import { loadHealth } from './load-health.ts'
import { loadPauses } from './rate-budgets.ts'
import { type Hook, hookSchema } from './schemas.ts'
import { findSentToken } from './token-hooks.ts'

/** Additional authenticated data of sealed values; the same for the current and the previous secret. */
export const hookSecretAad = (hookId: string) => `hooks/${hookId}/secret`
export const replacedAad = (hookId: string) => `hook_connections/${hookId}/replaced`
export const urlTokenAad = (hookId: string) => `hooks/${hookId}/url_token`

/** Hooks that are not removed, each with the fields of its pipeline that the API shows. */
export function selectHooks(db: Database) {
  return db
    .selectFrom('hooks')
    .innerJoin('pipelines', 'pipelines.id', 'hooks.pipeline_id')
    .innerJoin('environments', 'environments.id', 'pipelines.environment_id')
    .leftJoin('applications', 'applications.id', 'pipelines.application_id')
    .leftJoin('servers', 'servers.id', 'pipelines.server_id')
    .leftJoin('credentials', (join) =>
      join.on((eb) =>
        eb('credentials.id', '=', eb.fn.coalesce('hooks.credential_id', 'applications.credential_id')),
      ),
    )
    .leftJoin('credentials as source', 'source.id', 'applications.credential_id')
    .selectAll('hooks')
    .select((eb) => [
      'pipelines.name as pipeline_name',
      eb.fn.coalesce('applications.name', 'servers.name').$notNull().as('resource_name'),
      'pipelines.resource_type',
      'pipelines.operation',
      'credentials.provider_code as sender_provider',
      'credentials.base_url as sender_base_url',
      'source.provider_code as source_provider',
      'source.base_url as source_base_url',
      'environments.project_id',
      eb.fn.coalesce('pipelines.application_id', 'pipelines.server_id').$notNull().as('resource_id'),
      eb
        .exists(
          eb.selectFrom('hook_connections as c').whereRef('c.hook_id', '=', 'hooks.id').select('c.hook_id'),
        )
        .$castTo<boolean>()
        .as('is_connected'),
      // Changes with every update of the row: the ETag.
      eb.ref('hooks.xmin' as 'hooks.id').as('row_version'),
    ])
    .where('hooks.deleted_at', 'is', null)
}

export type HookRow = Awaited<ReturnType<ReturnType<typeof selectHooks>['execute']>>[number]

/** The columns of a removed hook. The row stays, without its secrets: past calls and runs refer to it. */
export const REMOVED_HOOK = {
  active: false,
  url_token: null,
  url_token_hash: null,
  secret: null,
  previous_secret: null,
  previous_secret_until: null,
  deleted_at: sql<string>`now()`,
  updated_at: sql<string>`now()`,
}

export type PresentOptions = {
  baseUrl: string
  box: SecretBox
  /** Callers who may not edit a hook see neither full URLs, incoming or outgoing, nor what the hook sends. */
  mayEdit: boolean
  names: KnownNames
  /** The plain secret, in the one response that may show it. */
  secret?: string
}

export async function presentHooks(
  db: Database,
  rows: readonly HookRow[],
  options: PresentOptions,
): Promise<Hook[]> {
  const creatorIds = rows.map((row) => row.created_by)
  const incomingIds = rows.filter((row) => row.type === 'incoming').map((row) => row.id)
  const outgoingIds = rows.filter((row) => row.type === 'outgoing').map((row) => row.id)
  const [users, health, pauses, connections, polls] = await Promise.all([
    loadUsers(db, creatorIds).then(byId),
    loadHealth(db, outgoingIds),
    loadPauses(db, outgoingIds),
    loadConnections(db, incomingIds),
    loadPolls(db, incomingIds),
  ])
  return rows.map((row) => {
    const effective = presetRequest(row)
    const target_url = effective?.target_url ?? row.target_url
    const pause = pauses.get(row.id)
    const { mayEdit, names } = options
    return t.pickFields(hookSchema, {
      ...row,
      ...pauseOf(row, health.get(row.id), pause),
      created_by_user: users.get(row.created_by)!,
      health: row.type === 'outgoing' ? healthOf(row, health.get(row.id), pause?.paused_until) : null,
      connection: connections.get(row.id) ?? null,
      poll: polls.get(row.id) ?? null,
      url: urlOf(row, options),
      target_url: mayEdit ? target_url : target_url && maskPath(target_url),
      secret: options.secret ?? (row.secret === null ? null : MASK),
      settings: mayEdit ? row.settings : withoutTexts(row.settings),
      effective_settings: effective && (mayEdit ? effective.settings : withoutTexts(effective.settings)),
      token_origins: tokenOriginsOf(row),
      pipeline_name: names.pipeline ? row.pipeline_name : null,
      resource_name: names[row.resource_type] ? row.resource_name : null,
    })
  })
}

/** What a hook with a preset sends with its current credential; null for other hooks, and when that does not fit. */
export function presetRequest(row: HookRow): EffectiveRequest | null {
  const settings = settingsOf(row)
  if (row.type !== 'outgoing' || !settings.preset) return null
  const effective = effectiveRequest({ target_url: row.target_url!, settings }, senderOf(row))
  return effective.kind === 'request' ? effective : null
}

/** The origins that a hook sends a token to although they are not its provider's. */
export function tokenOriginsOf(row: HookRow): string[] {
  const settings = settingsOf(row)
  // Presets send theirs to the provider only.
  if (row.type !== 'outgoing' || settings.preset || !JSON.stringify(settings).includes('access_token'))
    return []
  const source = ownerOf(row.source_provider, row.source_base_url)
  return findSentToken({ target_url: row.target_url!, settings }, senderOf(row), source)?.outside ?? []
}

/** Of an outgoing hook. */
const settingsOf = (row: HookRow) => row.settings as RequestSettings & { timeout_seconds: number }
const ownerOf = (provider: string | null, baseUrl: string | null) =>
  provider === null ? null : { provider, baseUrl }
const senderOf = (row: HookRow) => ownerOf(row.sender_provider, row.sender_base_url)

function urlOf(row: HookRow, { baseUrl, box, mayEdit }: PresentOptions): string | null {
  if (row.url_token === null) return null
  const token = mayEdit ? box.open(row.url_token, urlTokenAad(row.id)) : MASK
  return `${baseUrl}/hooks/${token}/trigger`
}

/** Headers and bodies can contain keys of the receiver: without `hook:edit` only their names are shown. */
export function withoutTexts(settings: HookRow['settings']): HookRow['settings'] {
  const { requests } = settings as RequestSettings
  return {
    ...withoutTextsOf(settings),
    ...(requests && {
      requests: {
        ...requests,
        create: withoutTextsOf(requests.create),
        update: withoutTextsOf(requests.update),
      },
    }),
  }
}

function withoutTextsOf<
  Request extends { request_headers?: unknown; request_body?: unknown; target_url?: unknown },
>(request: Request): Request {
  const { request_headers: headers, request_body: body, target_url: url } = request
  return {
    ...request,
    ...(typeof url === 'string' && { target_url: maskPath(url) }),
    ...(Array.isArray(headers) && {
      request_headers: headers.map(({ name }) => ({ name, value: MASK })),
    }),
    ...(body != null && { request_body: maskTexts(body) }),
  }
}

function maskTexts(value: unknown): unknown {
  if (typeof value === 'string') return MASK
  if (Array.isArray(value)) return value.map(maskTexts)
  if (typeof value !== 'object' || value === null || isLargeInteger(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inside]) => [key, maskTexts(inside)]))
}
