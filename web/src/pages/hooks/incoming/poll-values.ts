// Polling as the form of a hook shows it, and back. Pure.
import type { components } from '#client/index.ts'

type Settings = NonNullable<components['schemas']['CreateIncomingHookRequest']['settings']>
export type PollSettings = NonNullable<Settings['poll']>

export const DEFAULT_POLL_SECONDS = 60

export type PollValues = {
  polls: boolean
  /** Empty: the application's branch. */
  poll_refs: string[]
  poll_seconds: number | string
}

export const POLL_LABELS = {
  polls: 'Poll the repository',
  poll_refs: 'Branches to poll',
  poll_seconds: 'Seconds between polls',
}

export function readPoll(poll: PollSettings | undefined): PollValues {
  return {
    polls: poll !== undefined,
    poll_refs: poll?.refs ?? [],
    poll_seconds: poll?.every_seconds ?? DEFAULT_POLL_SECONDS,
  }
}

/** Undefined: no polling. */
export function pollOf({ polls, poll_refs, poll_seconds }: PollValues): PollSettings | undefined {
  if (!polls) return undefined
  return {
    ...(poll_refs.length > 0 && { refs: poll_refs }),
    // What is no number, the API rejects.
    every_seconds: poll_seconds as number,
  }
}

/** `settings.poll.refs.1` → `poll_refs`. */
export function pollInput(field: string): string | undefined {
  const name = /^settings\.poll(?:\.(refs|every_seconds)(?:\.\d+)?)?$/.exec(field)
  if (!name) return undefined
  return name[1] === 'refs' ? 'poll_refs' : name[1] ? 'poll_seconds' : 'polls'
}
