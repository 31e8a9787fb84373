import { type RawBuilder, sql } from 'kysely'
import type { Scope } from '#access/authorization/permissions.ts'
import type { Database } from '#platform/database/connect.ts'
import { allOf, compileRequests, type RequestSettings } from './compile-requests.ts'
import { effectiveRequest } from './effective-request.ts'
import { senderOf, tokensIn } from './token-use.ts'

type Credential = { id: number; name: string; provider: string; baseUrl: string | null }

/** An outgoing hook that sends a token: whose, and to where. */
export type TokenHook = Scope & {
  id: string
  name: string
  pipeline_id: number
  credential: Credential
  origins: string[]
}

type Row = Required<Scope> & {
  id: string
  name: string
  pipeline_id: number
  target_url: string
  settings: RequestSettings & { timeout_seconds: number }
  own: Credential | null
  source: Credential | null
}

/** The hooks that send a token and that are on pipelines of an application, or whose token is that of a credential; by name. */
export async function loadTokenHooks(
  db: Database,
  of: { applicationId: number } | { credentialId: number } | 'all',
): Promise<TokenHook[]> {
  const { rows } = await sql<Row>`
    select h.id, h.name, h.pipeline_id, h.target_url, h.settings, project.organization_id, environment.project_id,
      h.environment_id, ${CREDENTIAL('own')}, ${CREDENTIAL('source')}
    from hooks h
    join pipelines p on p.id = h.pipeline_id
    join environments environment on environment.id = h.environment_id
    join projects project on project.id = environment.project_id
    left join applications application on application.id = p.application_id
    left join credentials own on own.id = h.credential_id
    left join credentials source on source.id = application.credential_id
    where h.type = 'outgoing' and h.deleted_at is null and ${conditionOf(of)}
    order by h.name, h.id`.execute(db)
  return rows.flatMap((row) => readRow(row, of))
}

function conditionOf(of: Parameters<typeof loadTokenHooks>[1]): RawBuilder<unknown> {
  if (of === 'all') return sql`coalesce(own.id, source.id) is not null`
  return 'applicationId' in of
    ? sql`application.id = ${of.applicationId}`
    : sql`${of.credentialId}::bigint in (own.id, source.id)`
}

const CREDENTIAL = (table: 'own' | 'source') => sql`
  case when ${sql.ref(`${table}.id`)} is not null then json_build_object('id', ${sql.ref(`${table}.id`)},
    'name', ${sql.ref(`${table}.name`)}, 'provider', ${sql.ref(`${table}.provider_code`)},
    'baseUrl', ${sql.ref(`${table}.base_url`)}) end as ${sql.ref(table)}`

/** None when it sends no token, or cannot send anything. */
function readRow(row: Row, of: Parameters<typeof loadTokenHooks>[1]): TokenHook[] {
  const { target_url, settings, own, source, ...hook } = row
  const effective = effectiveRequest({ target_url, settings }, own ?? source)
  const compiled = effective.kind === 'request' ? compileRequests(effective) : null
  if (compiled?.kind !== 'compiled') return []
  const { requests } = compiled
  const credential = senderOf(tokensIn(requests.reads), own, source)
  if (!credential || (of !== 'all' && 'credentialId' in of && credential.id !== of.credentialId)) return []
  const sending = allOf(requests).filter(({ usesAccessToken }) => usesAccessToken)
  return [{ ...hook, credential, origins: [...new Set(sending.map(({ url }) => url.origin))] }]
}
