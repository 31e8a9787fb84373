import { sql } from 'kysely'
import { type Attempt, makeReady, type QueueCore, type WorkerDeps } from './core.ts'
import { affectedIds, completeJobs } from './handler.ts'
import type { Outcome } from './run-attempt.ts'

type FinishedAttempt = {
  attempt: Attempt
  outcome: Outcome
  /** The handler has completed the job in its own transaction. */
  written: boolean
  /** The outcome replaces one that the database rejected. */
  isReplacement?: boolean
  durationMs: number
}

const MAX_BATCH = 500

/**
 * Writes the outcomes of one job's attempts in batches. An outcome stays in memory until the database has stored
 * it, so an outage loses no finished work. An outcome that the database rejects becomes a failed attempt, and
 * does not affect the others of its batch.
 */
export function createOutcomeWriter(deps: WorkerDeps, job: string, onWritten: (outcome: Outcome) => void) {
  const { queue, log, abandon } = deps
  const waiting: FinishedAttempt[] = []
  let writing: FinishedAttempt[] = []
  let timer: NodeJS.Timeout | undefined
  let current: Promise<void> | undefined

  function schedule(): void {
    if (current) return
    if (waiting.length >= MAX_BATCH) begin()
    else timer ??= setTimeout(begin, deps.timings.batchMs)
  }

  function begin(): void {
    clearTimeout(timer)
    timer = undefined
    if (current || waiting.length === 0) return
    writing = waiting.splice(0, MAX_BATCH)
    current = Promise.all([...Map.groupBy(writing, statementKey).values()].map(writeGroup))
      .then(() => {})
      .catch(() => log.warn({ job, jobs: writing.length }, 'worker stopped before outcomes were written'))
      .finally(() => {
        current = undefined
        writing = []
        if (waiting.length > 0) schedule()
      })
  }

  /** All of one group have the same outcome. Throws only when `abandon` has aborted. */
  async function writeGroup(group: FinishedAttempt[]): Promise<void> {
    const { outcome } = group[0]!
    const unwritten = group.filter((one) => !one.written).map((one) => one.attempt)
    try {
      const affected = new Set(unwritten.length > 0 ? await writeOutcome(outcome, unwritten) : [])
      for (const one of group) logAttempt(one, one.written || affected.has(one.attempt.id))
      onWritten(outcome)
    } catch (error) {
      if (abandon.aborted) throw error
      if (group.length > 1) for (const one of group) await writeGroup([one])
      else await replaceRejected(group[0]!, error as Error)
    }
  }

  /** The database rejected the outcome, so the attempt fails with that error. */
  async function replaceRejected(finished: FinishedAttempt, error: Error): Promise<void> {
    const outcome = { kind: 'failed', error } as const
    if (!finished.isReplacement) {
      return writeGroup([{ ...finished, outcome, written: false, isReplacement: true }])
    }
    // Without a heartbeat the job is soon reassigned, which also counts its attempts.
    log.error({ err: error, job, job_id: finished.attempt.id }, 'job outcome could not be written')
    onWritten(outcome)
  }

  function writeOutcome(outcome: Outcome, attempts: Attempt[]): Promise<string[]> {
    const write = {
      completed: () => completeJobs(queue, job, attempts),
      failed: async () =>
        affectedIds(await queue.boss.fail(job, attempts, { message: storableMessage(outcome) })),
      'handed-back': () => handBack(queue, job, attempts),
      lost: async () => [],
    } satisfies Record<Outcome['kind'], () => Promise<string[]>>
    return deps.retry(`write outcomes of ${job}`, write[outcome.kind], abandon)
  }

  function logAttempt({ attempt, outcome, durationMs }: FinishedAttempt, owned: boolean): void {
    const kind = owned ? outcome.kind : 'lost'
    const fields = {
      job,
      job_id: attempt.id,
      attempt: attempt.retryCount + 1,
      outcome: kind,
      duration_ms: Math.round(durationMs),
      ...(outcome.kind === 'failed' && { error: outcome.error.message }),
    }
    const level = kind === 'completed' ? 'debug' : kind === 'handed-back' ? 'info' : 'warn'
    log[level](fields, 'job attempt')
  }

  return {
    add(finished: FinishedAttempt): void {
      waiting.push(finished)
      schedule()
    },
    /** Attempts whose outcome is not written yet. They still need their heartbeat. */
    pending: () => [...writing, ...waiting].map((one) => one.attempt),
    /** Resolves when everything added so far is written, or `abandon` has aborted. */
    async drained(): Promise<void> {
      while (current || waiting.length > 0) {
        begin()
        await current
      }
    },
  }
}

/** pg-boss takes one error message per statement, so failures with the same message share a statement. */
function statementKey({ outcome }: FinishedAttempt): string {
  return outcome.kind === 'failed' ? `failed ${outcome.error.message}` : outcome.kind
}

/** jsonb accepts neither NUL nor a lone surrogate. */
function storableMessage(outcome: Outcome): string {
  const message = outcome.kind === 'failed' ? outcome.error.message : ''
  return message.replaceAll('\u0000', '').slice(0, 2_000).toWellFormed()
}

/**
 * Makes jobs ready again at once for any worker; returns the ids of those that these attempts still owned. Their
 * retry budget does not change: they did not fail.
 */
export async function handBack(queue: QueueCore, name: string, attempts: Attempt[]): Promise<string[]> {
  const isOwned = sql`name = ${name} and id = any(${attempts.map(({ id }) => id)}::uuid[])
    and (id::text || ':' || retry_count) = any(${attempts.map((one) => `${one.id}:${one.retryCount}`)}::text[])`
  const ready = await makeReady(queue.db, isOwned, sql`retry_limit = retry_limit + 1`)
  return ready.map(({ id }) => id)
}
