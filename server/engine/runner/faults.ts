import { createMaskers } from '#platform/masking/mask-stream.ts'
import type { JobContext } from '#platform/queue/handler.ts'
import { AttemptLostError } from '#platform/queue/handler.ts'

// Faults of our own: neither a command nor the network nor the database's absence is to blame.

/** What was to be written about a target is no longer ours to write. */
export class JobReassignedError extends Error {
  override name = 'TakenOverError'
  constructor(what: string) {
    super(`Another attempt has taken the target over: ${what}`)
  }
}

/** The attempt is over in an orderly way, and whoever goes on with the target knows. */
export function isTakenAway(error: unknown, { signal }: JobContext): boolean {
  return signal.aborted || error instanceof JobReassignedError || error instanceof AttemptLostError
}

/** For the log of the process, and for the queue, which keeps the text of an attempt that failed. */
export function withoutSecrets(thrown: unknown, secrets: readonly string[]): Error {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  const newMasker = createMaskers(secrets)
  const mask = (text: string) => {
    const masker = newMasker()
    return masker.push(text) + masker.flush()
  }
  const { name, code } = error as NodeJS.ErrnoException
  return Object.assign(new Error(mask(error.message)), { name, code, stack: mask(error.stack ?? '') })
}
