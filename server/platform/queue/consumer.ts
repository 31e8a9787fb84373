import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { fromKysely, type Job } from 'pg-boss'
import type { Attempt, WorkerDeps } from './core.ts'
import { fetchJobs } from './fetch-jobs.ts'
import { affectedIds, createContext, type JobHandler } from './handler.ts'
import { repeat } from './repeat.ts'
import { type RunningAttempt, runAttempt } from './run-attempt.ts'
import { createSignal } from './signal.ts'
import { createOutcomeWriter } from './write-outcomes.ts'

/** A bound for finished work in memory during an outage. */
const MAX_UNWRITTEN = 2_000

export type Consumer = ReturnType<typeof startConsumer>

export type ConsumerOptions = {
  /** How many run at the same time; by default what the catalog says. */
  concurrency?: number
  /** Fetches jobs of this group, and those of none; without it, all. */
  group?: string
  /** A job was started, or has ended. */
  onRunning?: () => void
}

/** The loop of a process that works one queue: fetches jobs, runs them, sends heartbeats, writes outcomes. */
export function startConsumer(
  deps: WorkerDeps,
  job: string,
  handler: JobHandler<unknown>,
  { group, onRunning, ...options }: ConsumerOptions = {},
) {
  const { queue, retry, log, timings } = deps
  const definition = queue.jobs[job]!
  const { concurrency = definition.concurrency } = options
  const running = new Map<string, RunningAttempt & { completed: boolean }>()
  const jobsReady = createSignal()
  const capacityFreed = createSignal()
  let isDraining = false
  let handingOver = new AbortController()
  let lastFetch = Number.NEGATIVE_INFINITY
  const finishing = new AbortController()
  const finished = new AbortController()
  const outcomes = createOutcomeWriter(deps, job, (outcome) => {
    capacityFreed.notify()
    // The next attempt may be due sooner than the next poll.
    if (outcome.kind === 'failed') jobsReady.notify()
  })

  async function fetchUntilFinishing(): Promise<void> {
    while (!finishing.signal.aborted) {
      const capacity = Math.min(
        isDraining ? 0 : definition.batchSize,
        concurrency - running.size,
        MAX_UNWRITTEN - outcomes.pending().length,
      )
      if (capacity <= 0) {
        await capacityFreed.wait()
        continue
      }
      await rest()
      jobsReady.clear()
      const fetched = await fetch(capacity)
      fetched.forEach(finishing.signal.aborted || isDraining ? handBackUnstarted : start)
      if (fetched.length < capacity && !finishing.signal.aborted) await jobsReady.wait(await idleMs())
    }
  }

  /** The first job after a while is fetched at once. */
  async function rest(): Promise<void> {
    const { restMs = 0 } = definition
    const leftMs = restMs - (performance.now() - lastFetch)
    if (leftMs > 0) await delay(leftMs)
    lastFetch = performance.now()
  }

  async function fetch(batchSize: number): Promise<Job<unknown>[]> {
    const fetchNext = () =>
      definition.unique
        ? queue.boss.fetch<unknown>(job, { batchSize })
        : fetchJobs(queue, job, group ?? null, batchSize)
    return retry(`fetch ${job}`, fetchNext, finishing.signal).catch((error) => {
      if (!finishing.signal.aborted) log.error({ err: error, job }, 'fetching jobs failed')
      return []
    })
  }

  function start(fetched: Job<unknown>): void {
    const startedAt = performance.now()
    const { signal: handOver } = handingOver
    const attempt: Attempt = { id: fetched.id, retryCount: fetched.retryCount }
    const run = runAttempt(
      attempt,
      async (signal) => {
        queue.checkPayload(job, fetched.data)
        const context = createContext(queue, job, attempt, signal, {
          onComplete() {
            entry.completed = true
          },
          isDraining: () => isDraining,
          handOver,
        })
        await handler(fetched.data, context)
      },
      { timeoutMs: definition.timeoutSeconds * 1_000, abortGraceMs: timings.abortGraceMs },
    )
    const entry = { ...run, completed: false }
    // The job may come back to the process that had lost it.
    running.get(attempt.id)?.lose()
    running.set(attempt.id, entry)
    onRunning?.()
    void run.outcome.then((outcome) => {
      if (running.get(attempt.id) === entry) running.delete(attempt.id)
      const written = entry.completed && outcome.kind === 'completed'
      outcomes.add({ attempt, outcome, written, durationMs: performance.now() - startedAt })
      capacityFreed.notify()
      onRunning?.()
    })
  }

  function handBackUnstarted({ id, retryCount }: Job<unknown>): void {
    const outcome = { kind: 'handed-back' } as const
    outcomes.add({ attempt: { id, retryCount }, outcome, written: false, durationMs: 0 })
  }

  /** Until the earliest deferred job is due, but no longer than a poll. */
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

  async function sendHeartbeat(): Promise<void> {
    const attempts = [...[...running.values()].map((one) => one.attempt), ...outcomes.pending()]
    if (attempts.length === 0) return
    const touch = () => queue.boss.touch(job, attempts, { db: fromKysely(deps.heartbeats) })
    const owned = new Set(affectedIds(await retry(`heartbeat ${job}`, touch, finished.signal)))
    for (const { id, retryCount } of attempts) {
      const entry = running.get(id)
      if (entry?.attempt.retryCount === retryCount && !entry.completed && !owned.has(id)) entry.lose()
    }
  }

  const fetching = fetchUntilFinishing()
  const beating = repeat(timings.heartbeatMs, finished.signal, sendHeartbeat, {
    onError: (error) => log.error({ err: error, job }, 'heartbeat failed'),
  })
  return {
    /** There may be jobs. */
    wake: jobsReady.notify,
    running: () => running.size,
    /** While it drains it fetches nothing, and what runs is handed over where that is possible. */
    drain(draining: boolean): void {
      isDraining = draining
      jobsReady.notify()
      capacityFreed.notify()
    },
    /** What runs and can continue elsewhere without a loss is handed over. */
    handOver(): void {
      handingOver.abort()
      handingOver = new AbortController()
    },
    /** Resolves when nothing runs. */
    async idle(): Promise<void> {
      while (running.size > 0) await Promise.all([...running.values()].map((one) => one.outcome))
    },
    /** Fetches nothing more. Resolves when nothing runs and every outcome is written or abandoned. */
    async finish(): Promise<void> {
      finishing.abort()
      handingOver.abort()
      jobsReady.notify()
      capacityFreed.notify()
      await fetching
      await Promise.all([...running.values()].map((one) => one.outcome))
      await outcomes.drained()
      finished.abort()
      await beating
    },
    /** Aborts what still runs; it is handed back unless it completes. */
    abort(): void {
      for (const one of running.values()) one.stop()
    },
  }
}
