import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'

const PLACE = 'key_check'

/**
 * Secrets sealed with one key cannot be opened with another: better not to start than to fail at the
 * first hook. The first process leaves a sealed value behind, all later ones must be able to open it.
 */
export async function assertSameKey(db: Database, box: SecretBox): Promise<void> {
  await db
    .insertInto('key_check')
    .values({ sealed: box.seal('gantry', PLACE) })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const { sealed } = await db.selectFrom('key_check').select('sealed').executeTakeFirstOrThrow()
  try {
    box.open(sealed, PLACE)
  } catch (error) {
    throw new Error(
      'The secrets in this database were sealed with another key. Give the key of the first start: GANTRY_SECRET_KEY, or the file secret.key of its GANTRY_HOME.',
      { cause: error },
    )
  }
}
