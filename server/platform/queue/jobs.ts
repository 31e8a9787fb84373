// The queue room: work that outlives the request that asked for it. Jobs enter in the caller's
// transaction, any worker process of the cluster runs them, and a job that was promised is either
// done or visible among the dead letters. This file is the catalogue: who enqueues a job and who
// handles it meet here by name, and never import each other.
import { type Static, type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'

export type JobDefinition<Payload extends TSchema = TSchema> = {
  payload: Payload
  /** How often a failed attempt is followed by another; then the job becomes a dead letter. */
  retryLimit: number
  retryDelaySeconds: number
  /** Doubles the delay (with jitter) after each failure, up to this many seconds. */
  retryDelayMaxSeconds?: number
  /** The handler's signal aborts after this long, and the attempt counts as failed. */
  timeoutSeconds: number
  /** How many run at once in one process. */
  concurrency: number
  /** How many are fetched with one statement, at most. */
  batchSize: number
  /** Refuses a second job with the same key (or, without keys, a second job at all) in that state. */
  unique?: 'waiting' | 'waiting-or-running'
  /** Enqueued by the queue itself, once per period for all processes together. Its payload is {}. */
  everySeconds?: number
  /** How long the row of a finished job stays. Absent: it goes with the job, which keeps the table small. */
  keepFinishedSeconds?: number
}

export type JobCatalogue = Record<string, JobDefinition>

const Nothing = Type.Object({}, { additionalProperties: false })

export const jobs = {
  // Carries nothing and does nothing: that it went through is all readyz wants to know (probe.ts).
  'queue.probe': {
    payload: Nothing,
    retryLimit: 0,
    retryDelaySeconds: 0,
    timeoutSeconds: 5,
    concurrency: 1,
    batchSize: 1,
    unique: 'waiting',
    keepFinishedSeconds: 60,
  },
  'accounts.prune-tokens': {
    payload: Nothing,
    retryLimit: 2,
    retryDelaySeconds: 30,
    timeoutSeconds: 120,
    concurrency: 1,
    batchSize: 1,
    unique: 'waiting-or-running',
    everySeconds: 3_600,
    keepFinishedSeconds: 7_200,
  },
  'actions.count-blocks': {
    payload: Nothing,
    retryLimit: 1,
    retryDelaySeconds: 5,
    timeoutSeconds: 50,
    concurrency: 1,
    batchSize: 1,
    unique: 'waiting-or-running',
    everySeconds: 60,
    keepFinishedSeconds: 180,
  },
  // Actions that were started together and now want to run.
  'actions.run': {
    payload: Type.Object({ action_ids: Type.Array(Type.Integer()) }, { additionalProperties: false }),
    retryLimit: 10,
    retryDelaySeconds: 1,
    retryDelayMaxSeconds: 60,
    timeoutSeconds: 60,
    concurrency: 4,
    batchSize: 20,
  },
  // One target of an action, from its first step to its end. Steps have time limits of their own.
  'targets.run': {
    payload: Type.Object({ target_id: Type.Integer() }, { additionalProperties: false }),
    retryLimit: 100,
    retryDelaySeconds: 1,
    timeoutSeconds: 86_000,
    concurrency: 32,
    batchSize: 32,
  },
  // What nobody was told of: places that are free although somebody waits for them.
  'scheduling.sweep': {
    payload: Nothing,
    retryLimit: 0,
    retryDelaySeconds: 0,
    timeoutSeconds: 25,
    concurrency: 1,
    batchSize: 1,
    unique: 'waiting-or-running',
    everySeconds: 30,
    keepFinishedSeconds: 90,
  },
  'incoming.prune': {
    payload: Nothing,
    retryLimit: 2,
    retryDelaySeconds: 60,
    timeoutSeconds: 600,
    concurrency: 1,
    batchSize: 1,
    unique: 'waiting-or-running',
    everySeconds: 3_600,
    keepFinishedSeconds: 7_200,
  },
} satisfies JobCatalogue

export type Jobs = typeof jobs
export type JobName<Catalogue = Jobs> = keyof Catalogue & string
export type JobPayload<Name extends keyof Catalogue, Catalogue extends JobCatalogue = Jobs> = Static<
  Catalogue[Name]['payload']
>

export class InvalidPayloadError extends Error {
  override name = 'InvalidPayloadError'
}

/** Compiles every payload schema once. The returned check throws, and names fields but no values. */
export function compilePayloadChecks(catalogue: JobCatalogue): (job: string, payload: unknown) => void {
  const validators = new Map(Object.entries(catalogue).map(([name, { payload }]) => [name, Compile(payload)]))
  return (job, payload) => {
    const validator = validators.get(job)
    if (!validator) throw new InvalidPayloadError(`There is no job named ${job} in the catalogue.`)
    if (validator.Check(payload)) return
    const [error] = validator.Errors(payload)
    throw new InvalidPayloadError(
      `The payload of ${job} does not fit: ${error?.instancePath} ${error?.message}`,
    )
  }
}
