import { hookSecretAad, urlTokenAad } from '#model/hooks/present-hook.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'

/** Everything about a hook that nobody may read, as text: for those who have to hide it elsewhere. */
export async function loadHookSecrets(db: Database, box: SecretBox, hookId: string): Promise<string[]> {
  const hook = await db
    .selectFrom('hooks')
    .select(['secret', 'previous_secret', 'url_token'])
    .where('id', '=', hookId)
    .executeTakeFirst()
  const secrets = [hook?.secret, hook?.previous_secret].filter((sealed) => sealed != null)
  const tokens = [hook?.url_token].filter((sealed) => sealed != null)
  return [
    ...secrets.map((sealed) => box.open(sealed, hookSecretAad(hookId))),
    ...tokens.map((sealed) => box.open(sealed, urlTokenAad(hookId))),
  ]
}
