import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'

const AAD = 'key_check'

/**
 * Secrets sealed with one key cannot be opened with another: failing at start is better than failing at the first
 * hook. The first process stores a sealed value, and all later ones must be able to open it.
 */
export async function assertSameKey(db: Database, box: SecretBox): Promise<void> {
  await db
    .insertInto('key_check')
    .values({ sealed: box.seal('gantry', AAD) })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  if (!(await isSameKey(db, box)))
    throw new Error(
      'The secrets in this database were sealed with another key. Provide the key of the first start: GANTRY_SECRET_KEY, or the file secret.key of its GANTRY_HOME.',
    )
}

/** Once a process has stored the value. */
export async function isSameKey(db: Database, box: SecretBox): Promise<boolean> {
  const { sealed } = await db.selectFrom('key_check').select('sealed').executeTakeFirstOrThrow()
  try {
    return box.open(sealed, AAD) !== undefined
  } catch {
    return false
  }
}
