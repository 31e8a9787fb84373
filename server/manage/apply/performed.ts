import type { HttpProblem } from '#platform/http/problems.ts'
import type { Stored } from './state.ts'

// What became of a task, by the outcome of its room. Pure.

export type Performed = { kind: 'done'; id: number | string } | HttpProblem

export function stored(outcome: { kind: 'done'; row: { id: number } } | HttpProblem): Performed {
  return outcome.kind === 'done' ? { kind: 'done', id: outcome.row.id } : outcome
}

export function removed({ id }: Stored, outcome: { kind: 'removed' } | HttpProblem): Performed {
  return outcome.kind === 'removed' ? { kind: 'done', id } : outcome
}
