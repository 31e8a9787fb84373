import { sql } from 'kysely'
import { assertSameKey } from '#ops/commands/same-key.ts'
import { findMasterKeys, keyFile, newKey, replaceKeyFile } from '#platform/crypto/master-key.ts'
import { createSecretBox, type Keys } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { olderWorkEnded, type Patience } from './older-work.ts'
import { resealAll } from './reseal.ts'
import { readRetired, retire } from './retired-keys.ts'

export type Rotation = {
  db: Database
  home: string
  say: (message: string) => void
  signal: AbortSignal
  patience: Patience
}

export type Rotated = { resealed: number; unreadable: string[] }

/** Any number that nothing else in this database locks. */
const ROTATION_LOCK = 7_070_002

/**
 * Rotates the key of the key file:
 *
 * 1. The file gets a new key, before the old one. From then on every process seals with the new key, because it
 *    looks at the file each time; and opens both, because it reads the file anew when it meets a key it lacks.
 * 2. What was sealed before that has arrived in the database.
 * 3. Everything is sealed again.
 * 4. The old key leaves the file.
 *
 * Cut short anywhere, it goes on from there when it is called again: a file with two keys is at step 2.
 */
export async function rotateKeyFile(rotation: Rotation): Promise<Rotated> {
  const { db, home, say, signal } = rotation
  return alone(db, async () => {
    const before = await findMasterKeys({ home })
    if (!before) throw new Error(`there is no key at ${keyFile(home)}: give GANTRY_HOME as for npm start`)
    await assertSameKey(db, createSecretBox(before))
    const keys: Keys = before.length > 1 ? before : [newKey(), ...before]
    if (before.length > 1) say('going on with a rotation that was not finished')
    else await replaceKeyFile(keyFile(home), keys)
    say('the new key is in place; waiting for what was begun under the old one')
    await olderWorkEnded(db, rotation.patience, signal)
    const [current, ...older] = keys
    const result = await resealUntilNothingIsLeft(rotation, [...keys, ...(await readRetired(home))])
    await retire(home, older)
    await replaceKeyFile(keyFile(home), [current])
    return result
  })
}

/** For keys from the environment, which only whoever sets them can change: seals everything with the first. */
export async function resealWithFirst(rotation: Rotation, keys: Keys): Promise<Rotated> {
  return alone(rotation.db, async () => {
    await assertSameKey(rotation.db, createSecretBox(keys))
    return resealUntilNothingIsLeft(rotation, keys)
  })
}

async function resealUntilNothingIsLeft({ db, signal, say }: Rotation, keys: Keys): Promise<Rotated> {
  const box = createSecretBox(keys)
  let resealed = 0
  for (;;) {
    const pass = await resealAll({ db, box, key: keys[0], signal })
    resealed += pass.resealed
    if (pass.resealed === 0) return { resealed, unreadable: pass.unreadable }
    say(`${resealed} values sealed again`)
  }
}

/** Two rotations at once would each think that the other's key is the old one. */
async function alone<Result>(db: Database, work: () => Promise<Result>): Promise<Result> {
  return db.connection().execute(async (connection) => {
    const { rows } = await sql<{ free: boolean }>`
      select pg_try_advisory_lock(${ROTATION_LOCK}) as free`.execute(connection)
    if (!rows[0]!.free) throw new Error('another rotation is at work on this database')
    try {
      return await work()
    } finally {
      await sql`select pg_advisory_unlock(${ROTATION_LOCK})`.execute(connection)
    }
  })
}
