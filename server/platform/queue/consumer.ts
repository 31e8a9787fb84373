import { sql } from 'kysely'
import type { Job } from 'pg-boss'
import type { Attempt, Log, QueueCore } from './core.ts'
import { settledIds } from './fence.ts'
import { createContext, type JobHandler } from './handler.ts'
import type { Outage } from './outage.ts'
import { repeat } from './repeat.ts'
import { type RunningAttempt, runAttempt } from './run-attempt.ts'
import { createSettler } from './settle.ts'
import { createSignal } from './signal.ts'

export type ConsumerTimings = {
  /** How long an idle lane waits before it looks without having been told to. */
  pollMs: number
  /** How long outcomes are gathered to be written together. */
  gatherMs: number
  /** How often the database is told that the attempts are alive. */
  beatMs: number
  abortGraceMs: number
}

/** Everything that a process does about one job name: fetch, run, keep alive, settle. */
export type Consumer = {
  /** There may be jobs. */
  wake(): void
  /** Fetches nothing more. Resolves when nothing runs and every outcome is written or given up. */
  finish(): Promise<void>
  /** Aborts what still runs; it is handed back unless it completes. */
  abort(): void
}

/** During an outage finished work piles up in memory: not without end. */
const MOST_UNSETTLED = 2_000

export function startConsumer(options: {
  queue: QueueCore
  job: string
  handler: JobHandler<unknown>
  outage: Outage
  log: Log
  timings: ConsumerTimings
  /** Aborts when outcomes that the database has not taken are to be given up. */
  giveUp: AbortSignal
}): Consumer {
  const { queue, job, outage, timings, giveUp } = options
  const definition = queue.jobs[job]!
  const running = new Map<string, RunningAttempt & { completed: boolean }>()
  const news = createSignal()
  const room = createSignal()
  const finishing = new AbortController()
  const finished = new AbortController()
  const settler = createSettler({
    queue,
    job,
    outage,
    log: options.log,
    gatherMs: timings.gatherMs,
    giveUp,
    onWritten(outcome) {
      room.ring()
      // The next attempt may be due sooner than the next poll.
      if (outcome.kind === 'failed') news.ring()
    },
  })

  async function fetchUntilFinishing(): Promise<void> {
    while (!finishing.signal.aborted) {
      const free = Math.min(
        definition.batchSize,
        definition.concurrency - running.size,
        MOST_UNSETTLED - settler.size(),
      )
      if (free <= 0) {
        await room.wait()
        continue
      }
      news.hush()
      const fetched = await outage.persist(
        `fetch ${job}`,
        () => queue.boss.fetch<unknown>(job, { batchSize: free }),
        finishing.signal,
      )
      if (finishing.signal.aborted) fetched.forEach(giveBackUnstarted)
      else fetched.forEach(start)
      if (fetched.length < free) await news.wait(await idleMs())
    }
  }

  function start(fetched: Job<unknown>): void {
    const startedAt = performance.now()
    const attempt: Attempt = { id: fetched.id, retryCount: fetched.retryCount }
    const run = runAttempt(
      attempt,
      async (signal) => {
        queue.checkPayload(job, fetched.data)
        const context = createContext(queue, job, attempt, signal, () => {
          entry.completed = true
        })
        await options.handler(fetched.data, context)
      },
      { timeoutMs: definition.timeoutSeconds * 1_000, abortGraceMs: timings.abortGraceMs },
    )
    const entry = { ...run, completed: false }
    // This process may be the one that takes over what it had lost.
    running.get(attempt.id)?.lose()
    running.set(attempt.id, entry)
    void run.outcome.then((outcome) => {
      if (running.get(attempt.id) === entry) running.delete(attempt.id)
      const written = entry.completed && outcome.kind === 'completed'
      settler.add({ attempt, outcome, written, startedAt, endedAt: performance.now() })
      room.ring()
    })
  }

  function giveBackUnstarted({ id, retryCount }: Job<unknown>): void {
    const now = performance.now()
    const attempt = { id, retryCount }
    settler.add({ attempt, outcome: { kind: 'handed-back' }, written: false, startedAt: now, endedAt: now })
  }

  /** Until the next look: when the earliest deferred job is due, but no longer than a poll. */
  async function idleMs(): Promise<number> {
    const due = sql<{ ms: number | null }>`
      select extract(epoch from min(start_after) - queue.job_now())::float8 * 1000 as ms from queue.job
      where name = ${job} and state < 'active' and not blocked and start_after > queue.job_now()`
    const ms = await due.execute(queue.db).then(
      ({ rows }) => rows[0]?.ms,
      () => undefined,
    )
    return Math.min(timings.pollMs, Math.ceil(ms ?? timings.pollMs))
  }

  async function beat(): Promise<void> {
    const attempts = [...[...running.values()].map((one) => one.attempt), ...settler.unsettled()]
    if (attempts.length === 0) return
    const touched = await outage.persist(
      `heartbeat ${job}`,
      () => queue.boss.touch(job, attempts),
      finished.signal,
    )
    const ours = new Set(settledIds(touched))
    for (const { id, retryCount } of attempts) {
      const entry = running.get(id)
      if (entry?.attempt.retryCount === retryCount && !entry.completed && !ours.has(id)) entry.lose()
    }
  }

  const fetching = fetchUntilFinishing().catch((error) => {
    if (!finishing.signal.aborted) throw error
  })
  const beating = repeat(timings.beatMs, finished.signal, beat)
  return {
    wake: news.ring,
    async finish() {
      finishing.abort()
      news.ring()
      room.ring()
      await fetching
      await Promise.all([...running.values()].map((one) => one.outcome))
      await settler.drained()
      finished.abort()
      await beating
    },
    abort() {
      for (const one of running.values()) one.stop()
    },
  }
}
