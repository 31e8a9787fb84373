import { type InsertObject, type NotNull, sql } from 'kysely'
import type { Static } from 'typebox'
import { type Actor, recordAudit } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { newPersonalToken } from '#platform/crypto/personal-token.ts'
import { hashToken } from '#platform/crypto/tokens.ts'
import { anyOf } from '#platform/database/any-of.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { findRow, NOW } from '#platform/database/rows.ts'
import type { Tables } from '#platform/database/tables.ts'
import type { Page } from '#platform/http/pagination.ts'
import { FieldErrors, type HttpProblem } from '#platform/http/problems.ts'
import { readPage } from '#platform/http/read-page.ts'
import type { personalTokenInput } from './personal-token-schema.ts'

const limits = ['scopes', 'organization_ids', 'project_ids', 'expires_at'] as const
const columns = [
  'id',
  'name',
  ...limits,
  'used_at as last_used_at',
  'used_ip as last_used_ip',
  'created_at',
] as const

type Input = Static<typeof personalTokenInput>

export async function createPersonalToken(trx: Transaction, caller: Caller, actor: Actor, input: Input) {
  if (!(await lockAccess(trx, caller))) return ENDED
  // A token without scopes does not have it, and must not get it this way.
  if (caller.token.kind === 'personal' && input.scopes?.includes('approve')) return LOG_IN_TO_APPROVE
  const problem = await checkInput(trx, caller, input)
  if (problem) return problem
  const { name, scopes = null, organization_ids = null, project_ids = null } = input
  const expires_at = input.expires_at == null ? null : new Date(input.expires_at)
  const values = { name, scopes, organization_ids, project_ids, expires_at }
  return { kind: 'done' as const, row: await issuePersonalToken(trx, caller.id, actor, values) }
}

type NewToken = Pick<InsertObject<Tables, 'tokens'>, (typeof limits)[number]> & { name: string }

/** The user must be locked: see `lockAccess`. */
export async function issuePersonalToken(trx: Transaction, userId: number, actor: Actor, values: NewToken) {
  const token = newPersonalToken()
  const row = await trx
    .insertInto('tokens')
    .values({ user_id: userId, kind: 'personal', hash: hashToken(token), ...values })
    .returning(columns)
    .executeTakeFirstOrThrow()
  const after = Object.fromEntries(limits.map((field) => [field, row[field]]))
  await recordToken(trx, actor, 'created', { id: row.id, name: values.name }, null, after)
  return { ...row, name: values.name, token }
}

const LOG_IN_TO_APPROVE: HttpProblem = {
  kind: 'forbidden',
  reason: 'Log in to create a personal access token with the scope approve.',
}
const ENDED: HttpProblem = { kind: 'forbidden', reason: 'Your session or token was revoked.' }

type Holder = { id: number; token: { id: number } }

/**
 * Revoking everything of a user locks the user first: a token created meanwhile must not survive. False when the
 * token was revoked.
 */
export async function lockAccess(trx: Transaction, { id, token }: Holder): Promise<boolean> {
  await trx.selectFrom('users').select('id').where('id', '=', id).forShare().execute()
  const current = await findRow(trx, 'tokens', { id: token.id, revoked_at: null }, ['id'])
  return current !== undefined
}

export async function listPersonalTokens(db: Database, userId: number, page: Page) {
  const active = db
    .selectFrom('tokens')
    .select(columns)
    .where('user_id', '=', userId)
    .where('kind', '=', 'personal')
    .where('revoked_at', 'is', null)
    .$narrowType<{ name: NotNull }>()
  return readPage(active, 'tokens', page)
}

/** False when the user has no such token. */
export async function revokePersonalToken(trx: Transaction, userId: number, actor: Actor, id: number) {
  const row = await trx
    .updateTable('tokens')
    .set({ revoked_at: NOW })
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .where('kind', '=', 'personal')
    .where('revoked_at', 'is', null)
    .returning(['id', 'name', ...limits])
    .$narrowType<{ name: NotNull }>()
    .executeTakeFirst()
  if (!row) return false
  const before = Object.fromEntries(limits.map((field) => [field, row[field]]))
  await recordToken(trx, actor, 'revoked', row, before, null)
  return true
}

function recordToken(
  trx: Transaction,
  actor: Actor,
  verb: 'created' | 'revoked',
  { id, name }: { id: number; name: string },
  before: object | null,
  after: object | null,
): Promise<void> {
  const subject = { type: 'personal_access_token', id, name }
  return recordAudit(trx, actor, { organizationId: null, verb, subject, before, after })
}

/** ISO 8601 has four digits for the year. */
const YEAR_10000 = Date.UTC(10_000, 0)

const UNKNOWN = 'does not exist, or you cannot access it'

async function checkInput(db: Database, caller: Caller, input: Input): Promise<HttpProblem | undefined> {
  const errors = new FieldErrors()
  const { expires_at, organization_ids, project_ids } = input
  const expiry = expires_at == null ? Number.POSITIVE_INFINITY : Date.parse(expires_at)
  if (expires_at != null && !(expiry > Date.now() && expiry < YEAR_10000))
    errors.add('expires_at', 'must be a time in the future, before the year 10000')
  // A token must not outlive the token that created it.
  const { token } = caller
  if (token.kind === 'personal' && token.expires_at !== null && expiry > Date.parse(token.expires_at))
    errors.add(
      'expires_at',
      `must not be later than ${token.expires_at}, when the token of this request expires`,
    )
  await checkRestrictions(db, caller, { organization_ids, project_ids }, errors)
  return errors.problem
}

async function checkRestrictions(
  db: Database,
  { grants }: Caller,
  { organization_ids, project_ids }: Pick<Input, 'organization_ids' | 'project_ids'>,
  errors: FieldErrors,
): Promise<void> {
  const organizations = await existing(db, 'organizations', organization_ids ?? [])
  for (const [index, id] of (organization_ids ?? []).entries()) {
    const hasRole = grants.some((grant) => grant.organization_id === id)
    if (!hasRole || !organizations.has(id)) errors.add(`organization_ids.${index}`, UNKNOWN)
  }
  const projects = await existing(db, 'projects', project_ids ?? [])
  for (const [index, id] of (project_ids ?? []).entries()) {
    const organizationId = projects.get(id)
    const hasRole = grants.some(
      (grant) =>
        grant.organization_id === organizationId && (grant.project_id === null || grant.project_id === id),
    )
    if (organizationId === undefined || !hasRole) errors.add(`project_ids.${index}`, UNKNOWN)
    else if (organization_ids && !organization_ids.includes(organizationId))
      errors.add(`project_ids.${index}`, 'does not belong to any of organization_ids')
  }
}

/** The organization of each that exists. */
async function existing(db: Database, table: 'organizations' | 'projects', ids: readonly number[]) {
  if (ids.length === 0) return new Map()
  const column = table === 'projects' ? 'organization_id' : 'id'
  const { rows } = await sql<{ id: number; organization_id: number }>`
    select id, ${sql.ref(column)} as organization_id from ${sql.table(table)}
    where ${anyOf('id', ids)} and deleted_at is null`.execute(db)
  return new Map(rows.map((row) => [row.id, row.organization_id]))
}
