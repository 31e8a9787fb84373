// Shared by tests of gates: what workers do right before the first step of a target.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { openTargetLifecycle } from '#engine/scheduling/target-lifecycle.ts'
import type { Database } from '#platform/database/connect.ts'
import { openListener } from '#platform/database/listen.ts'
import { later } from './later.ts'

const { signal } = new AbortController()
const job = {
  ...{ jobId: randomUUID(), attempt: 1, signal, isDraining: () => false, handOver: signal },
  ...{ hold: async () => {}, held: sql`select 1`, complete: async () => {} },
}

type Closer = Parameters<typeof later>[0]
type Api = { settings: Parameters<typeof openListener>[0] }

/** Returns a function that says whether the target has begun. The world has to be closed with `later`, too. */
export async function openBeginTarget(file: Closer, { db, api }: { db: Database; api: Api }) {
  const listener = await openListener(api.settings, { onError: assert.ifError })
  later(file, () => listener.close())
  const onError = (error: Error) => assert.fail(error)
  const lifecycle = await openTargetLifecycle({ db, listener, enqueueTargets: async () => {}, onError })
  return async (targetId: number): Promise<boolean> => {
    const attempt = await lifecycle.begin(targetId, job, randomUUID(), async () => ({ order: 1 }))
    attempt?.release()
    return attempt !== null
  }
}
