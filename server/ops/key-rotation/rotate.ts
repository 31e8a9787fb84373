// The key rotation room: re-encrypts every secret with a new master key while the service runs.
import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { assertSameKey } from '#ops/commands/same-key.ts'
import { decodeKeys, findMasterKeys, keyFile, newKey, replaceKeyFile } from '#platform/crypto/master-key.ts'
import { createSecretBox, type Keys } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { earlierTransactionsEnd } from '#platform/database/earlier-transactions.ts'
import { type Resealed, resealAll } from './reseal.ts'

export type Rotation = {
  db: Database
  home: string
  print: (message: string) => void
  signal: AbortSignal
  /** How long a value may take from being sealed to the transaction that stores it. */
  sealToStoreMs: number
  /** How long transactions may take to end. Those of Gantry end within a minute. */
  transactionsMs: number
}

/** Any number that nothing else in this database locks. */
const ROTATION_LOCK = 7_070_002

/**
 * Rotates the key of the key file:
 *
 * 1. The new key goes into the file, before the old one. From then on every process seals with the new key, because
 *    it checks the file each time, and opens both, because it reloads the file when it meets an unknown key.
 * 2. Wait until everything that was sealed before is stored.
 * 3. Reseal everything.
 * 4. The old key moves to the file of retired keys.
 *
 * An interrupted rotation continues when it is called again: a file with two keys is at step 2.
 */
export async function rotateKeyFile(rotation: Rotation): Promise<Resealed> {
  const { db, home, print } = rotation
  return exclusively(db, async () => {
    const before = await findMasterKeys({ home })
    if (!before) throw new Error(`there is no key at ${keyFile(home)}: set GANTRY_HOME as for npm start`)
    await assertSameKey(db, createSecretBox(before))
    const keys: Keys = before.length > 1 ? before : [newKey(), ...before]
    if (before.length > 1) print('continuing an unfinished rotation')
    else await replaceKeyFile(keyFile(home), keys)
    print('the new key is installed; waiting for transactions that use the old one')
    await earlierTransactions(rotation)
    const [current, ...older] = keys
    const result = await resealUntilDone(rotation, [...keys, ...(await readRetired(home))])
    await retire(home, older)
    await replaceKeyFile(keyFile(home), [current])
    return result
  })
}

/** For keys from the environment, which Gantry cannot change: reseals everything with the first. */
export async function resealWithFirst(rotation: Rotation, keys: Keys): Promise<Resealed> {
  return exclusively(rotation.db, async () => {
    await assertSameKey(rotation.db, createSecretBox(keys))
    return resealUntilDone(rotation, keys)
  })
}

async function resealUntilDone({ db, signal, print }: Rotation, keys: Keys): Promise<Resealed> {
  const box = createSecretBox(keys)
  let resealed = 0
  for (;;) {
    const pass = await resealAll({ db, box, key: keys[0], signal })
    resealed += pass.resealed
    if (pass.resealed === 0) return { resealed, unreadable: pass.unreadable }
    print(`${resealed} values resealed`)
  }
}

/** Two concurrent rotations would each take the other's key for the old one. */
async function exclusively<Result>(db: Database, work: () => Promise<Result>): Promise<Result> {
  return db.connection().execute(async (connection) => {
    const { rows } = await sql<{ free: boolean }>`
      select pg_try_advisory_lock(${ROTATION_LOCK}) as free`.execute(connection)
    if (!rows[0]!.free) throw new Error('another rotation is running on this database')
    try {
      return await work()
    } finally {
      await sql`select pg_advisory_unlock(${ROTATION_LOCK})`.execute(connection)
    }
  })
}

/**
 * Resolves when everything that was sealed before this call is stored, or never will be: whatever was sealed has
 * started its transaction by the time that we look, and those transactions have ended. Commands next to the service
 * (`gantry maintenance`) have long transactions, and store nothing sealed.
 */
async function earlierTransactions({ db, signal, sealToStoreMs, transactionsMs }: Rotation): Promise<void> {
  await pause(sealToStoreMs, undefined, { signal })
  if (!(await earlierTransactionsEnd(db, { withinMs: transactionsMs, signal })))
    throw new Error('transactions in the database do not end: run this again when they have')
}

export function retiredFile(home: string): string {
  return `${keyFile(home)}.retired`
}

async function readRetired(home: string): Promise<Buffer[]> {
  const text = await readFile(retiredFile(home), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  return [...(decodeKeys(text) ?? [])]
}

/**
 * Keeps keys that nothing is sealed with any more, the latest first: earlier backups need them, and a value that
 * escaped a rotation is not lost.
 */
async function retire(home: string, keys: Buffer[]): Promise<void> {
  const known = await readRetired(home)
  const [first, ...others] = [...keys, ...known.filter((one) => !keys.some((key) => key.equals(one)))]
  if (first) await replaceKeyFile(retiredFile(home), [first, ...others])
}
