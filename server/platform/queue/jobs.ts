// The queue: work that outlives its request. Jobs are enqueued in the caller's transaction and run by any worker
// process of the cluster; a job is either completed or becomes a dead letter. This file is the catalog: code
// that enqueues a job and code that handles it share only its name, and never import each other.
import { type Static, type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'

export type JobDefinition<Payload extends TSchema = TSchema> = {
  payload: Payload
  /** How often a failed attempt is retried; after that the job becomes a dead letter. */
  retryLimit: number
  retryDelaySeconds: number
  /** Doubles the delay (with jitter) after each failure, up to this many seconds. */
  retryDelayMaxSeconds?: number
  /** After this long the handler's signal aborts, and the attempt has failed. */
  timeoutSeconds: number
  /** How many run concurrently in one process. */
  concurrency: number
  /** The most that one statement fetches. */
  batchSize: number
  /** At least this long between two fetches: jobs that come in quick succession are fetched together. */
  restMs?: number
  /** Rejects a second job in that state. */
  unique?: 'waiting' | 'waiting-or-running'
  /** Enqueued by the queue itself, once per period across all processes. Its payload is {}. */
  everySeconds?: number
  /** How long the row of a finished job is retained. By default it is deleted at once, which keeps the table small. */
  keepFinishedSeconds?: number
}

export type JobCatalog = Record<string, JobDefinition>

const Empty = Type.Object({}, { additionalProperties: false })
const single = { payload: Empty, concurrency: 1, batchSize: 1 } as const
const periodic = <Periods extends { everySeconds: number; timeoutSeconds: number }>(periods: Periods) => ({
  ...single,
  unique: 'waiting-or-running' as const,
  retryLimit: 2,
  retryDelaySeconds: 30,
  /** Longer than a period, which takes one job. */
  keepFinishedSeconds: 3 * periods.everySeconds,
  ...periods,
})

export const jobs = {
  // Does nothing: readyz only needs to know that it went through (probe.ts).
  'queue.probe': {
    ...single,
    retryLimit: 0,
    retryDelaySeconds: 0,
    timeoutSeconds: 5,
    unique: 'waiting',
    keepFinishedSeconds: 60,
  },
  'accounts.prune-tokens': periodic({ everySeconds: 3_600, timeoutSeconds: 120 }),
  'actions.count-blocks': periodic({
    everySeconds: 60,
    timeoutSeconds: 50,
    retryLimit: 1,
    retryDelaySeconds: 5,
  }),
  // Actions that were created together and are ready to be scheduled.
  'actions.run': {
    payload: Type.Object({ action_ids: Type.Array(Type.Integer()) }, { additionalProperties: false }),
    retryLimit: 10,
    retryDelaySeconds: 1,
    retryDelayMaxSeconds: 60,
    timeoutSeconds: 60,
    // Most of them share a pass.
    concurrency: 200,
    batchSize: 100,
    restMs: 10,
  },
  // One target of an action, from its first step to its end. Steps have their own timeouts.
  'targets.run': {
    payload: Type.Object({ target_id: Type.Integer() }, { additionalProperties: false }),
    retryLimit: 100,
    retryDelaySeconds: 1,
    timeoutSeconds: 86_000,
    concurrency: 32,
    batchSize: 32,
  },
  // Finds missed notifications: free slots that an action or a target is waiting for.
  'scheduling.sweep': periodic({ everySeconds: 30, timeoutSeconds: 25, retryLimit: 0, retryDelaySeconds: 0 }),
  // Finds runs that have enough approvals again, because a person may approve again.
  'approvals.recount': periodic({
    everySeconds: 30,
    timeoutSeconds: 25,
    retryLimit: 0,
    retryDelaySeconds: 0,
  }),
  // Asks one server after the other, but only those on which steps have left something.
  'steps.sweep': periodic({ everySeconds: 300, timeoutSeconds: 290, retryLimit: 0, retryDelaySeconds: 0 }),
  // Ends by itself well before its timeout; the next pass continues.
  'retention.prune': periodic({ everySeconds: 900, timeoutSeconds: 800, retryDelaySeconds: 60 }),
  'incoming.prune': periodic({ everySeconds: 3_600, timeoutSeconds: 600, retryDelaySeconds: 60 }),
} satisfies JobCatalog

/** The job that scheduling places, moves and takes back by name. */
export const TARGETS_JOB = 'targets.run' satisfies keyof typeof jobs

export type Jobs = typeof jobs
export type JobName<Catalog = Jobs> = keyof Catalog & string
export type JobPayload<Name extends keyof Catalog, Catalog extends JobCatalog = Jobs> = Static<
  Catalog[Name]['payload']
>

export class InvalidPayloadError extends Error {
  override name = 'InvalidPayloadError'
}

/** Compiles every payload schema once. The returned function throws; the message has fields but no values. */
export function compilePayloadChecks(catalog: JobCatalog): (job: string, payload: unknown) => void {
  const validators = new Map(Object.entries(catalog).map(([name, { payload }]) => [name, Compile(payload)]))
  return (job, payload) => {
    const validator = validators.get(job)
    if (!validator) throw new InvalidPayloadError(`The catalog has no job ${job}.`)
    if (validator.Check(payload)) return
    const [error] = validator.Errors(payload)
    throw new InvalidPayloadError(
      `The payload of ${job} is invalid: ${error?.instancePath} ${error?.message}`,
    )
  }
}
