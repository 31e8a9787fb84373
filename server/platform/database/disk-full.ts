import { sql } from 'kysely'
import type { Database } from './connect.ts'
import type { DatabaseFailures } from './failures.ts'
import { outageKind } from './outage-kinds.ts'

/** The answer of a probe holds for this long: health checks come often, and each probe writes a megabyte. */
const PROBE_AGAIN_MS = 2_000

/**
 * Whether the disk of the database is full. True from the first write that failed for this reason until a probe succeeds;
 * while no write has failed, nothing is probed. Never throws.
 */
export function createDiskWatch(db: Database, failures: Pick<DatabaseFailures, 'counts'>) {
  let overcome = 0
  let probing: Promise<boolean> | undefined
  let probedAt = Number.NEGATIVE_INFINITY

  async function probe(): Promise<boolean> {
    const seen = failures.counts().disk_full
    try {
      await probeWrite(db)
      overcome = seen
      return false
    } catch (error) {
      // Its own failure is counted, too.
      if (outageKind(error) === 'disk_full') probedAt = performance.now()
      return true
    }
  }

  return {
    async isDiskFull(): Promise<boolean> {
      if (failures.counts().disk_full === overcome) return false
      if (performance.now() - probedAt < PROBE_AGAIN_MS) return true
      probing ??= probe().finally(() => {
        probing = undefined
      })
      return probing
    },
  }
}

const DONE = new Error('The probe is complete')

/**
 * Writes a megabyte to a new table and rolls it back. A row in an existing table would prove nothing: it may fit into a page
 * that is already there. Unlogged, and in the tablespace of Gantry's own tables.
 */
export async function probeWrite(db: Database): Promise<void> {
  const write = db.transaction().execute(async (trx) => {
    await sql`set local statement_timeout = '2s'`.execute(trx)
    await sql`create unlogged table gantry_disk_probe (filler text)`.execute(trx)
    await sql`
      insert into gantry_disk_probe
      select repeat(md5(n::text), 60) from generate_series(1, 512) as n`.execute(trx)
    throw DONE
  })
  await write.catch((error: unknown) => {
    if (error !== DONE) throw error
  })
}
