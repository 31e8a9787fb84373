import type { Attempt, Log, QueueCore } from './core.ts'
import { finishJobs, settledIds } from './fence.ts'
import { handBack } from './hand-back.ts'
import type { Outage } from './outage.ts'
import type { Outcome } from './run-attempt.ts'

export type Settlement = {
  attempt: Attempt
  outcome: Outcome
  /** The handler has completed the job in its own transaction. */
  written: boolean
  startedAt: number
  endedAt: number
}

/**
 * Writes the outcomes of one job's attempts, gathered into batches. An outcome stays in memory until
 * the database has taken it, so an outage costs no finished work.
 */
export type Settler = {
  add(settlement: Settlement): void
  /** What is not written yet. These attempts still need their heartbeat. */
  unsettled(): Attempt[]
  size(): number
  /** Resolves when everything added so far is written, or `giveUp` has aborted. */
  drained(): Promise<void>
}

const MOST_PER_STATEMENT = 500

export function createSettler(options: {
  queue: QueueCore
  job: string
  outage: Outage
  log: Log
  gatherMs: number
  giveUp: AbortSignal
  onWritten: (outcome: Outcome) => void
}): Settler {
  const { queue, job, outage, log, giveUp } = options
  const waiting: Settlement[] = []
  let writing: Settlement[] = []
  let timer: NodeJS.Timeout | undefined
  let current: Promise<void> | undefined

  function schedule(): void {
    if (current) return
    if (waiting.length >= MOST_PER_STATEMENT) begin()
    else timer ??= setTimeout(begin, options.gatherMs)
  }

  function begin(): void {
    clearTimeout(timer)
    timer = undefined
    if (current || waiting.length === 0) return
    writing = waiting.splice(0, MOST_PER_STATEMENT)
    current = write(writing)
      .catch(() =>
        log.warn({ job, jobs: writing.length }, 'outcomes could not be written before the worker stopped'),
      )
      .finally(() => {
        current = undefined
        writing = []
        if (waiting.length > 0) schedule()
      })
  }

  async function write(batch: Settlement[]): Promise<void> {
    const groups = groupByStatement(batch)
    await Promise.all(
      groups.map(async ({ outcome, settlements }) => {
        const attempts = settlements.filter((one) => !one.written).map((one) => one.attempt)
        const settled = new Set(
          attempts.length > 0
            ? await outage.persist(`settle ${job}`, () => writeOutcome(outcome, attempts), giveUp)
            : [],
        )
        for (const one of settlements) logAttempt(one, one.written || settled.has(one.attempt.id))
        options.onWritten(outcome)
      }),
    )
  }

  async function writeOutcome(outcome: Outcome, attempts: Attempt[]): Promise<string[]> {
    switch (outcome.kind) {
      case 'completed':
        return finishJobs(queue, job, attempts)
      case 'failed':
        return settledIds(await queue.boss.fail(job, attempts, { message: storable(outcome.error.message) }))
      case 'handed-back':
        return handBack(queue, job, attempts)
      case 'lost':
        return []
    }
  }

  function logAttempt({ attempt, outcome, startedAt, endedAt }: Settlement, settled: boolean): void {
    const kind = settled ? outcome.kind : 'lost'
    const fields = {
      job,
      job_id: attempt.id,
      attempt: attempt.retryCount + 1,
      outcome: kind,
      duration_ms: Math.round(endedAt - startedAt),
      ...(outcome.kind === 'failed' && { error: outcome.error.message }),
    }
    if (kind === 'completed') log.debug(fields, 'job attempt')
    else if (kind === 'handed-back') log.info(fields, 'job attempt')
    else log.warn(fields, 'job attempt')
  }

  return {
    add(settlement) {
      waiting.push(settlement)
      schedule()
    },
    unsettled: () => [...writing, ...waiting].map((one) => one.attempt),
    size: () => writing.length + waiting.length,
    async drained() {
      while (current || waiting.length > 0) {
        begin()
        await current
      }
    },
  }
}

/** pg-boss takes one error text per statement, so failures with the same text share one. */
function groupByStatement(batch: Settlement[]): { outcome: Outcome; settlements: Settlement[] }[] {
  const groups = Map.groupBy(batch, ({ outcome }) =>
    outcome.kind === 'failed' ? `failed ${outcome.error.message}` : outcome.kind,
  )
  return [...groups.values()].map((settlements) => ({ outcome: settlements[0]!.outcome, settlements }))
}

/** jsonb takes neither NUL nor half a surrogate pair: such a text would never be written. */
function storable(message: string): string {
  return message.replaceAll('\u0000', '').slice(0, 2_000).toWellFormed()
}
