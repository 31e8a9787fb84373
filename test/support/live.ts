import { type Disk, lockLive, type Release, storeKnown } from '#model/live/live-record.ts'
import type { Transaction } from '#platform/database/connect.ts'

/** As a run does that has switched. */
export async function recordLive(trx: Transaction, { applicationId, serverId, ...release }: Disk & Release) {
  await lockLive(trx, applicationId)
  await storeKnown(trx, { applicationId, serverId }, release)
}
