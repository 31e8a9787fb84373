import { randomUUID } from 'node:crypto'
import type { Database } from '#platform/database/connect.ts'

/** A worker that has just sent a heartbeat, without a process; returns its id. */
export async function insertWorker(
  db: Database,
  name: string | null,
  more: { running_targets?: number } = {},
): Promise<string> {
  const id = randomUUID()
  await db
    .insertInto('workers')
    .values({ id, name, version: '0.0.0-test', capacity: 32, running_targets: 0, reattaches: true, ...more })
    .execute()
  return id
}
