import type { RemoveOutcome, SaveOutcome } from '#manage/organizations/outcomes.ts'
import { conflict, type HttpProblem } from '#platform/http/problems.ts'
import type { Stored } from './state.ts'

// What became of a task: the outcomes of the rooms, told in one way. Pure.

export type Performed = { kind: 'done'; id: number | string } | HttpProblem

export function stored(outcome: { kind: 'done'; row: { id: number } } | HttpProblem): Performed {
  return outcome.kind === 'done' ? { kind: 'done', id: outcome.row.id } : outcome
}

export function saved(what: string, outcome: SaveOutcome): Performed {
  switch (outcome.kind) {
    case 'done':
      return { kind: 'done', id: outcome.row.id }
    case 'name-taken':
      return { kind: 'invalid', errors: { name: [`is the name of another ${what} there`] } }
    case 'busy':
      return conflict(busy(outcome.unfinished))
    case 'gone':
    case 'changed-meanwhile':
      return outcome
  }
}

export function removed(what: string, { id }: Stored, outcome: RemoveOutcome | HttpProblem): Performed {
  switch (outcome.kind) {
    case 'removed':
      return { kind: 'done', id }
    case 'in-use':
      return conflict(`the ${what} is not empty: ${Object.values(outcome.by).flat().join('; ')}`)
    case 'busy':
      return conflict(busy(outcome.unfinished))
    case 'lacking':
      return { kind: 'forbidden', reason: `needs the permission ${outcome.permissions.join(' and ')}` }
    default:
      return outcome
  }
}

const busy = (unfinished: number) => `Runs have not ended yet (${unfinished}): wait for them, or cancel them.`
