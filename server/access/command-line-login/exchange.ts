import { sql } from 'kysely'
import type { Static } from 'typebox'
import type { Throttled } from '#access/accounts/login.ts'
import {
  countNetworkFailure,
  readThrottle,
  rejectsAtOnce,
  subjectsOf,
  throttledFor,
} from '#access/accounts/login-throttle.ts'
import { issuePersonalToken } from '#access/accounts/personal-tokens.ts'
import { type Actor, recordAudit } from '#access/audit/record.ts'
import type { TokenScope } from '#access/authorization/token-limits.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { type TakenCode, takeCode } from './authorizations.ts'
import { type exchangeInput, tokenNameOf } from './schemas.ts'

const LIFE = sql<string>`now() + interval '90 days'`
/** Without scopes, a token has every permission except this one. */
const SCOPES: TokenScope[] = ['read', 'run', 'hooks', 'manage', 'approve']

export type IssuedToken = Awaited<ReturnType<typeof issuePersonalToken>>
type Exchanged = { kind: 'done'; userId: number; row: IssuedToken } | { kind: 'refused' } | Throttled

/**
 * Trades a code for a personal access token. Failures count like failed logins from the same network; a correct code
 * is accepted there until the network is rejected altogether.
 */
export async function exchangeCode(
  db: Database,
  input: Static<typeof exchangeInput>,
  { ipAddress, requestId }: Actor,
): Promise<Exchanged> {
  const subjects = subjectsOf('', ipAddress ?? '')
  const seconds = rejectsAtOnce(await readThrottle(db, subjects))
  if (seconds !== null) return { kind: 'throttled', seconds }
  return db.transaction().execute(async (trx): Promise<Exchanged> => {
    const code = await takeCode(trx, input)
    if (code.kind === 'taken') {
      const { name, mayApprove, account } = code
      const row = await issueLogin(trx, account.id, { name, mayApprove }, { ipAddress, requestId })
      return { kind: 'done', userId: account.id, row }
    }
    const throttled = throttledFor(await readThrottle(trx, subjects))
    await countNetworkFailure(trx, subjects)
    await recordRefusal(trx, { userId: null, ipAddress, requestId }, code)
    return throttled === null ? { kind: 'refused' } : { kind: 'throttled', seconds: throttled }
  })
}

/** The token of a command line on this machine. The user must be locked: see `lockAccess`. */
export function issueLogin(
  trx: Transaction,
  userId: number,
  machine: { name: string; mayApprove: boolean },
  from: Pick<Actor, 'ipAddress' | 'requestId'>,
): Promise<IssuedToken> {
  const scopes = machine.mayApprove ? SCOPES : null
  const limits = { scopes, organization_ids: null, project_ids: null, expires_at: LIFE }
  return issuePersonalToken(trx, userId, { ...from, userId }, { name: tokenNameOf(machine.name), ...limits })
}

/** Of codes that existed: the others say nothing, and anyone can send them. */
export async function recordRefusal(
  trx: Transaction,
  actor: Actor,
  { reason, account }: Pick<Extract<TakenCode, { kind: 'refused' }>, 'reason' | 'account'>,
): Promise<void> {
  if (account === null) return
  await recordAudit(trx, actor, {
    organizationId: null,
    verb: 'sign_in_failed',
    subject: { type: 'user', id: account.id, name: account.email },
    before: null,
    after: { method: 'command_line', reason },
  })
}
