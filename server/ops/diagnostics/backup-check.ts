import type { Database } from '#platform/database/connect.ts'
import { BACKUP_OLD_AFTER_HOURS, readNewestBackup } from '#platform/database/newest-backup.ts'
import { bounded } from './database-checks.ts'
import { ok, warning } from './run-checks.ts'

const HOUR = 3_600

/** A new installation has none, and nothing to lose yet: that is a hint, and no warning. */
export async function checkBackups(db: Database) {
  const newest = await bounded(db, readNewestBackup)
  if (newest === null)
    return ok(
      'No backup is recorded yet: gantry-server backup makes one, gantry-server backup-made records others.',
    )
  const hours = Math.floor(newest.age_seconds / HOUR)
  if (newest.age_seconds <= BACKUP_OLD_AFTER_HOURS * HOUR)
    return ok(`The newest backup is ${hours === 1 ? '1 hour' : `${hours} hours`} old.`)
  return warning(
    `The newest backup is ${hours} hours old.`,
    'Find out why no backup succeeds. If another tool makes them, let it run gantry-server backup-made after each.',
  )
}
