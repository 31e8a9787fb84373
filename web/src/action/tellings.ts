// From single attempts to the one question people have: was the receiver told? Pure.
import type { HookRequestRecord } from '../api-types.ts'

export type Telling = {
  /** The first attempt's id. */
  id: string
  hookId: string
  url: string
  state: 'told' | 'trying' | 'not-told' | 'superseded'
  attempts: HookRequestRecord[]
  last: HookRequestRecord
}

/** Attempts of one delivery name the first of them; newest delivery first. */
export function gatherTellings(requests: HookRequestRecord[]): Telling[] {
  const deliveries = new Map<string, HookRequestRecord[]>()
  for (const request of requests) {
    if (request.type !== 'outgoing') continue
    const first = request.retry_of ?? request.id
    deliveries.set(first, [...(deliveries.get(first) ?? []), request])
  }
  return [...deliveries]
    .map(([id, attempts]) => {
      const inOrder = attempts.toSorted((one, other) => (one.created_at < other.created_at ? -1 : 1))
      const last = inOrder.at(-1)!
      return { id, hookId: last.hook_id, url: last.url, state: stateOf(inOrder), attempts: inOrder, last }
    })
    .sort((one, other) => (one.attempts[0]!.created_at < other.attempts[0]!.created_at ? 1 : -1))
}

function stateOf(attempts: HookRequestRecord[]): Telling['state'] {
  const last = attempts.at(-1)!
  if (attempts.some((attempt) => attempt.outcome === 'delivered')) return 'told'
  if (last.outcome === 'superseded') return 'superseded'
  return last.next_attempt_at === null ? 'not-told' : 'trying'
}

export function summarize(tellings: Telling[]): string {
  const count = (state: Telling['state']) => tellings.filter((telling) => telling.state === state).length
  const parts = [
    [count('told'), 'told'],
    [count('trying'), 'still being tried'],
    [count('not-told'), 'not told'],
    [count('superseded'), 'dropped for a newer one'],
  ] as const
  const said = parts.filter(([number]) => number > 0).map(([number, words]) => `${number} ${words}`)
  return said.length === 0 ? 'Nothing was to be told so far.' : `${said.join(', ')}.`
}
