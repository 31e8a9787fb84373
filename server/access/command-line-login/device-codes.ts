// Login of a command line whose machine has no browser, as OAuth 2 does it for devices (RFC 8628): the terminal shows a
// short code, a person enters it on a page of any other machine, and the command line asks until it gets its token.
import { hash, randomInt } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import type { Static } from 'typebox'
import type { Throttled } from '#access/accounts/login.ts'
import { countFailure, readThrottle, rejectsAtOnce, subjectsOf } from '#access/accounts/login-throttle.ts'
import { networkOf } from '#access/accounts/networks.ts'
import { lockAccess } from '#access/accounts/personal-tokens.ts'
import type { Actor } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { hashToken, newUrlToken } from '#platform/crypto/tokens.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { NOW } from '#platform/database/rows.ts'
import type { Tables } from '#platform/database/tables.ts'
import { type IssuedToken, issueLogin, recordRefusal } from './exchange.ts'
import type { deviceApproval } from './schemas.ts'

export const LIFE_SECONDS = 600
/** Between two questions of the command line. */
export const INTERVAL_SECONDS = 5
/** Questions come a little early when the one before took its time. */
const TOLERANCE_SECONDS = 0.5
/** Unfinished logins of one network. */
const MAX_OPEN = 20
/** In one session of a browser. */
const MAX_WRONG = 5
/** Without vowels, so that no code is a word, and without digits, which look like letters. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ'
const CODE_LENGTH = 8

const LIFE = sql<string>`now() + ${LIFE_SECONDS} * interval '1 second'`

type DeviceCode = Selectable<Tables['device_codes']>
export type Device = Pick<DeviceCode, 'name' | 'ip_address' | 'expires_at'>

/** Pure: what a person typed, in any case and with any separators. */
export function normalizeCode(typed: string): string {
  return typed.toUpperCase().replaceAll(/[^A-Z0-9]/g, '')
}

const hashOfCode = (typed: string): Buffer => hash('sha256', normalizeCode(typed), 'buffer')

function newUserCode(): string {
  const letters = Array.from({ length: CODE_LENGTH }, () => LETTERS[randomInt(LETTERS.length)])
  return `${letters.slice(0, 4).join('')}-${letters.slice(4).join('')}`
}

type Created = { kind: 'done'; device_code: string; user_code: string } | Throttled

/** Only the hashes of both codes are stored. */
export async function createDeviceCode(
  db: Database,
  name: string,
  { ipAddress }: Actor,
): Promise<Created | { kind: 'too-many' }> {
  const seconds = rejectsAtOnce(await readThrottle(db, subjectsOf('', ipAddress ?? '')))
  if (seconds !== null) return { kind: 'throttled', seconds }
  const network = networkOf(ipAddress ?? '')
  return db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(hashtextextended('device codes ' || ${network}::text, 0))`.execute(
      trx,
    )
    const { open } = await trx
      .selectFrom('device_codes')
      .select(({ fn }) => fn.countAll<number>().as('open'))
      .where('network', '=', network)
      .where('expires_at', '>', NOW)
      .executeTakeFirstOrThrow()
    if (open >= MAX_OPEN) return { kind: 'too-many' }
    const [device_code, user_code] = [`gty_dc_${newUrlToken()}`, newUserCode()]
    const hashes = { device_hash: hashToken(device_code), user_code_hash: hashOfCode(user_code) }
    await trx
      .insertInto('device_codes')
      .values({ ...hashes, name, ip_address: ipAddress ?? '', network, expires_at: LIFE })
      .execute()
    return { kind: 'done', device_code, user_code }
  })
}

type Answer = 'look' | 'approved' | 'denied'
type Answered =
  | { kind: 'done'; device: Device }
  | { kind: 'unknown-code'; left: number }
  | { kind: 'too-many-wrong' }
  | { kind: 'answered-before' }
  | { kind: 'ended' }
  | Throttled

/** What a person does with the code that they entered. One that does not exist counts as a failed login. */
export function answerDevice(
  db: Database,
  caller: Caller,
  { user_code: typed, may_approve = false }: Static<typeof deviceApproval>,
  answer: Answer,
  { ipAddress }: Actor,
): Promise<Answered> {
  return db.transaction().execute(async (trx): Promise<Answered> => {
    const subjects = subjectsOf(caller.email, ipAddress ?? '')
    const seconds = rejectsAtOnce(await readThrottle(trx, subjects))
    if (seconds !== null) return { kind: 'throttled', seconds }
    if (!(await lockAccess(trx, caller))) return { kind: 'ended' }
    const wrong = await lockWrongCodes(trx, caller)
    if (wrong >= MAX_WRONG) return { kind: 'too-many-wrong' }
    const device = await trx
      .selectFrom('device_codes')
      .select(['name', 'ip_address', 'expires_at', 'state'])
      .where('user_code_hash', '=', hashOfCode(typed))
      .where('expires_at', '>', NOW)
      .forUpdate()
      .executeTakeFirst()
    if (!device) {
      await countFailure(trx, subjects, { forAccount: false })
      await sql`update sessions set wrong_codes = wrong_codes + 1 where family = ${caller.token.family}::uuid`.execute(
        trx,
      )
      return { kind: 'unknown-code', left: MAX_WRONG - wrong - 1 }
    }
    const { state, ...found } = device
    if (state !== 'pending') return { kind: 'answered-before' }
    if (answer !== 'look')
      await trx
        .updateTable('device_codes')
        .set({
          state: answer,
          ...(answer === 'approved' && { user_id: caller.id, token_id: caller.token.id, may_approve }),
        })
        .where('user_code_hash', '=', hashOfCode(typed))
        .execute()
    return { kind: 'done', device: found }
  })
}

/** Tries in one session are counted one by one. */
async function lockWrongCodes(trx: Transaction, { token }: Caller): Promise<number> {
  const { rows } = await sql<{ wrong_codes: number }>`
    select wrong_codes from sessions where family = ${token.family}::uuid for update`.execute(trx)
  return rows[0]?.wrong_codes ?? MAX_WRONG
}

type Taken =
  | { kind: 'done'; userId: number; row: IssuedToken }
  | { kind: 'pending' | 'too-fast' | 'denied' | 'expired' }

/** The token, once: from then on the device code is expired, whatever became of the answer. */
export function takeDeviceToken(
  db: Database,
  deviceCode: string,
  { ipAddress, requestId }: Actor,
): Promise<Taken> {
  return db.transaction().execute(async (trx): Promise<Taken> => {
    const device = await trx
      .selectFrom('device_codes')
      .select(['device_hash', 'name', 'state', 'user_id', 'token_id', 'may_approve'])
      .select(
        sql<boolean>`coalesce(polled_at > now() - ${INTERVAL_SECONDS - TOLERANCE_SECONDS} * interval '1 second', false)`.as(
          'is_too_fast',
        ),
      )
      .where('device_hash', '=', hashToken(deviceCode))
      .where('expires_at', '>', NOW)
      .forUpdate()
      .executeTakeFirst()
    if (!device) return { kind: 'expired' }
    if (device.is_too_fast) return { kind: 'too-fast' }
    if (device.state === 'denied') return { kind: 'denied' }
    const own = trx.updateTable('device_codes').where('device_hash', '=', device.device_hash)
    if (device.state === 'pending') {
      await own.set({ polled_at: NOW }).execute()
      return { kind: 'pending' }
    }
    await trx.deleteFrom('device_codes').where('device_hash', '=', device.device_hash).execute()
    const [id, token] = [device.user_id!, { id: device.token_id! }]
    const isSession = await lockAccess(trx, { id, token })
    const { active, email } = await trx
      .selectFrom('users')
      .select(['active', 'email'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    const actor = { userId: null, ipAddress, requestId }
    if (!isSession || !active) {
      await recordRefusal(trx, actor, { reason: 'ended_session', account: { id, email } })
      return { kind: 'expired' }
    }
    const machine = { name: device.name, mayApprove: device.may_approve }
    return { kind: 'done', userId: id, row: await issueLogin(trx, id, machine, actor) }
  })
}

/** Deletes logins that were never finished; run by a job. */
export async function pruneDeviceCodes(db: Database): Promise<void> {
  await db.deleteFrom('device_codes').where('expires_at', '<', NOW).execute()
}
