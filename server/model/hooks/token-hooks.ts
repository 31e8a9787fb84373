import { type RawBuilder, sql } from 'kysely'
import type { Scope } from '#access/authorization/permissions.ts'
import type { Database } from '#platform/database/connect.ts'
import type { TokenTargets } from '#platform/database/tables.ts'
import { allOf, compileRequests, type RequestSettings } from './compile-requests.ts'
import { effectiveRequest } from './effective-request.ts'
import type { TokenOwner } from './presets/api-base.ts'
import { allOriginsOf, outsideOrigins, senderOf, tokensIn } from './token-use.ts'

type Credential = TokenOwner & { id: number; name: string; targets: TokenTargets }

/** An outgoing hook that sends a token: whose, and to where. */
export type TokenHook = HookFields & NonNullable<ReturnType<typeof findSentToken<Credential>>>

type HookFields = Required<Scope> & { id: string; name: string; pipeline_id: number; active: boolean }

type Row = HookFields & {
  target_url: string
  settings: RequestSettings & { timeout_seconds: number }
  own: Credential | null
  source: Credential | null
}

type Wanted = { applicationId: number } | { credentialId: number } | 'leaving'

/**
 * The hooks that send a token and that are on pipelines of an application, or whose token is that of a credential; by name.
 * `leaving`: the active ones of the installation whose token may leave its provider, the newest of very many.
 */
export async function loadTokenHooks(db: Database, of: Wanted): Promise<TokenHook[]> {
  const { rows } = await sql<Row>`
    select h.id, h.name, h.pipeline_id, h.active, h.target_url, h.settings, project.organization_id, environment.project_id,
      h.environment_id, ${CREDENTIAL('own')}, ${CREDENTIAL('source')}
    from hooks h
    join pipelines p on p.id = h.pipeline_id
    join environments environment on environment.id = h.environment_id
    join projects project on project.id = environment.project_id
    left join applications application on application.id = p.application_id
    left join credentials own on own.id = h.credential_id
    left join credentials source on source.id = application.credential_id
    where h.type = 'outgoing' and h.deleted_at is null and ${conditionOf(of)}
    order by ${of === 'leaving' ? sql`h.created_at desc, h.id limit ${MAX_LEAVING}` : sql`h.name, h.id`}`.execute(
    db,
  )
  return rows.flatMap((row) => readRow(row, of))
}

const MAX_LEAVING = 1_000

/** Presets send their tokens to the provider only. */
function conditionOf(of: Wanted): RawBuilder<unknown> {
  if (of === 'leaving')
    return sql`h.active and coalesce(own.id, source.id) is not null and h.settings -> 'preset' is null
      and h.settings::text like '%access_token%'`
  return 'applicationId' in of
    ? sql`application.id = ${of.applicationId}`
    : sql`${of.credentialId}::bigint in (own.id, source.id)`
}

const CREDENTIAL = (table: 'own' | 'source') => sql`
  case when ${sql.ref(`${table}.id`)} is not null then json_build_object('id', ${sql.ref(`${table}.id`)},
    'name', ${sql.ref(`${table}.name`)}, 'provider', ${sql.ref(`${table}.provider_code`)},
    'baseUrl', ${sql.ref(`${table}.base_url`)}, 'targets', ${sql.ref(`${table}.token_targets`)}) end as ${sql.ref(table)}`

/** None when it sends no token, or cannot send anything. */
function readRow(row: Row, of: Wanted): TokenHook[] {
  const { target_url, settings, own, source, ...hook } = row
  const sent = findSentToken({ target_url, settings }, own, source)
  if (!sent || (of !== 'leaving' && 'credentialId' in of && sent.credential.id !== of.credentialId)) return []
  return [{ ...hook, ...sent }]
}

/** Whose token a hook sends and where to; `outside`: where that is not its provider. Null: none. Pure. */
export function findSentToken<Credential extends TokenOwner>(
  hook: Parameters<typeof effectiveRequest>[0],
  own: Credential | null,
  source: Credential | null,
) {
  const effective = effectiveRequest(hook, own ?? source)
  const compiled = effective.kind === 'request' ? compileRequests(effective) : null
  if (compiled?.kind !== 'compiled') return null
  const { requests } = compiled
  const credential = senderOf(tokensIn(requests.reads), own, source)
  if (!credential) return null
  const origins = [...new Set(allOriginsOf(allOf(requests)))]
  return { credential, origins, outside: outsideOrigins(credential, origins) }
}
