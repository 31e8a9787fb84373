// The first start: creates the first user and the sample organization in an empty database.
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { RefuseLocal } from '#adapters/executors/connect.ts'
import { slugify } from '#client/slug.ts'
import type { Config } from '#platform/config.ts'
import { generatePassword, hashPassword } from '#platform/crypto/passwords.ts'
import type { Database } from '#platform/database/connect.ts'
import { createSample } from './sample.ts'
import { createSampleRepository } from './sample-repository.ts'

export type FirstStart =
  | { kind: 'not-the-first' }
  | {
      kind: 'first'
      email: string
      generatedPassword: string | null
      /** Why the sample has no server; null when it has one, or when there is no sample. */
      missingServer: string | null
    }

/** Any number that nothing else in this database locks. */
const FIRST_START_LOCK = 7_070_001

/** Processes that start concurrently wait here; the first one does the work. */
export async function prepareFirstStart(
  db: Database,
  config: Pick<Config, 'adminEmail' | 'adminPassword' | 'home' | 'sample'>,
  refuseLocal: RefuseLocal,
): Promise<FirstStart> {
  return db.transaction().execute(async (trx): Promise<FirstStart> => {
    await sql`set local lock_timeout = '30s'`.execute(trx)
    await sql`select pg_advisory_xact_lock(${FIRST_START_LOCK})`.execute(trx)
    const user = await trx.selectFrom('users').select('id').limit(1).executeTakeFirst()
    if (user) return { kind: 'not-the-first' }
    const password = config.adminPassword ?? generatePassword()
    const { id } = await trx
      .insertInto('users')
      .values({
        name: 'Administrator',
        email: config.adminEmail,
        url_slug: slugify(config.adminEmail.split('@')[0] ?? 'admin'),
        is_instance_admin: true,
        password_hash: await hashPassword(password),
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    const sites = sitesFolder(config.home)
    const refused = config.sample ? await refuseLocal(sites) : undefined
    if (config.sample)
      await createSample(trx, {
        ownerId: id,
        sites: refused ? null : sites,
        repository: await createSampleRepository(config.home),
      })
    return {
      kind: 'first',
      email: config.adminEmail,
      generatedPassword: config.adminPassword === undefined ? password : null,
      missingServer: refused ? Object.values(refused).flat().join(' ') : null,
    }
  })
}

/**
 * Where the sample is deployed to. Under root, commands run as another user who cannot access the home: they get a
 * separate folder.
 */
function sitesFolder(home: string): string {
  if (process.getuid?.() !== 0) return join(home, 'sites')
  const name = createHash('sha256').update(home).digest('hex').slice(0, 8)
  return `/var/lib/gantry/sites-${name}`
}
