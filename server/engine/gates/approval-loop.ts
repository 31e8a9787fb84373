// Runs that need approval, whichever process is up: what they ship is found out, and their time runs out.
import { sql } from 'kysely'
import { reportMoves } from '#engine/scheduling/committed-moves.ts'
import { openSchedulingPass } from '#engine/scheduling/scheduling-pass.ts'
import { loadApproval } from '#engine/scheduling/verify-approval.ts'
import { EXPIRED, isEnd, type State } from '#model/actions/status.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import type { Listener } from '#platform/database/listen.ts'
import { repeat } from '#platform/queue/repeat.ts'
import { type PrepareDeps, prepareApproval } from './prepare-approval.ts'
import { endWaiting, waitsForApproval } from './settle-gate.ts'
import { watchStale } from './stale-approvals.ts'

/** How many one process looks at side by side: each may fetch from a repository. */
const AT_ONCE = 4
/** Another process takes over what one has claimed and not renewed. */
const LEASE_SECONDS = 30
const RENEW_MS = 10_000
const EXPIRE_AT_ONCE = 100

type LoopDeps = PrepareDeps & { onError: (error: Error) => void }

/** Any number of processes may do this side by side: a run that one of them has claimed is not due for the others. */
export async function startApproving(
  options: LoopDeps & { listener: Listener; everyMs: number; isPaused: () => boolean },
): Promise<{ stop(): Promise<void> }> {
  const stopping = new AbortController()
  const { signal } = stopping
  const onError = (error: unknown) => options.onError(error as Error)
  const working = new Set<Promise<void>>()

  /** Takes one after the other; while there is more, another one works beside it. */
  function begin(): void {
    if (working.size >= AT_ONCE || signal.aborted) return
    const work = (async () => {
      for (;;) {
        const [actionId] = signal.aborted ? [] : await claimDue(options.db, 1)
        if (actionId === undefined) return
        begin()
        await prepareOne(options, actionId, signal)
      }
    })()
      .catch((error) => {
        if (!signal.aborted) onError(error)
      })
      .finally(() => working.delete(work))
    working.add(work)
  }

  await watchStale({ ...options, onError }, () => {
    if (!options.isPaused()) begin()
  })
  const polling = repeat(
    options.everyMs,
    signal,
    async () => {
      if (options.isPaused()) return
      begin()
      await expireDue(options)
    },
    { onError },
  )
  return {
    async stop() {
      stopping.abort()
      await Promise.all([polling, ...working])
    },
  }
}

/** Everything that is due, and nothing else: for tests, pass by pass. */
export async function prepareDue(deps: LoopDeps, signal: AbortSignal): Promise<void> {
  for (;;) {
    const claimed = await claimDue(deps.db, AT_ONCE)
    if (claimed.length === 0 || signal.aborted) return
    await Promise.all(claimed.map((actionId) => prepareOne(deps, actionId, signal)))
  }
}

async function prepareOne(deps: LoopDeps, actionId: number, signal: AbortSignal): Promise<void> {
  const renewing = setInterval(() => void renew(deps.db, actionId).catch(() => {}), RENEW_MS)
  try {
    await prepareApproval(deps, actionId, signal)
  } catch (error) {
    // Due again when the lease ends.
    if (!signal.aborted) deps.onError(error as Error)
  } finally {
    clearInterval(renewing)
  }
}

/** Times are stored to the millisecond, rounded: what is due now may seem to be due in a moment. */
async function claimDue(db: Database, limit: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    update approval_requests set due_at = clock_timestamp() + ${LEASE_SECONDS}::int * interval '1 second'
    where action_id = any(array(
      select action_id from approval_requests where due_at <= clock_timestamp() + interval '1 ms'
      order by due_at limit ${limit} for update skip locked))
    returning action_id as id`.execute(db)
  return rows.map(({ id }) => id)
}

async function renew(db: Database, actionId: number): Promise<void> {
  await sql`
    update approval_requests set due_at = clock_timestamp() + ${LEASE_SECONDS}::int * interval '1 second'
    where action_id = ${actionId} and due_at > clock_timestamp()`.execute(db)
}

const FAILED_EXPIRED: State = { status: 'failed', reason: 'FAILED_EXPIRED' }

/** Ends what was not approved in time; an error in one environment does not stop the others. */
export async function expireDue(deps: LoopDeps): Promise<void> {
  const { rows } = await sql<{ actionId: number; environmentId: number }>`
    select action_id as "actionId", environment_id as "environmentId" from approval_requests
    where expires_at <= clock_timestamp() order by expires_at limit ${EXPIRE_AT_ONCE}`.execute(deps.db)
  for (const one of rows) await expire(deps, one).catch(deps.onError)
}

function expire(
  { db, onMoves, enqueueTargets }: LoopDeps,
  { actionId, environmentId }: { actionId: number; environmentId: number },
): Promise<void> {
  const work = async (trx: Transaction): Promise<void> => {
    const pass = await openSchedulingPass(trx, environmentId)
    const [action] = await pass.load([actionId])
    const state = await loadApproval(trx, actionId)
    if (!action || !state || isEnd(action.status) || !waitsForApproval(action)) {
      await sql`
        update approval_requests set expires_at = null, due_at = null where action_id = ${actionId}`.execute(
        trx,
      )
      return
    }
    // Approved, or asked for again, meanwhile.
    if (state.expiresAt === null || Date.parse(state.expiresAt) > Date.parse(pass.at)) return
    await endWaiting(pass, action, { whole: EXPIRED, part: FAILED_EXPIRED }, enqueueTargets)
  }
  return reportMoves(db, onMoves, work, environmentId)
}
