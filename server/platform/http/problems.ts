import { ApiError, type ConflictCode, invalid, notFound } from './errors.ts'
import type { ErrorsByField } from './validation.ts'

/** Why a request was not carried out; nothing was stored. The message is written where the rule is. */
export type HttpProblem =
  | { kind: 'gone' }
  /** Ids in the request that name nothing, or nothing that the caller may see and use here. */
  | { kind: 'unknown'; errors: ErrorsByField }
  | { kind: 'forbidden'; reason: string }
  | { kind: 'invalid'; errors: ErrorsByField }
  | { kind: 'conflict'; reason: string; errors?: ErrorsByField; code?: ConflictCode }
  /** `If-Match` names another version than the stored one. */
  | { kind: 'changed-meanwhile' }

const UNKNOWN_OBJECT = 'The request references an object that does not exist or that you cannot access.'

export const GONE: HttpProblem = { kind: 'gone' }
export const CHANGED_MEANWHILE: HttpProblem = { kind: 'changed-meanwhile' }
export const REMOVED = { kind: 'removed' } as const

const RESPONSES: {
  [Kind in HttpProblem['kind']]: (problem: Extract<HttpProblem, { kind: Kind }>) => ApiError
} = {
  gone: notFound,
  unknown: ({ errors }) => new ApiError('not_found', UNKNOWN_OBJECT, { errors }),
  forbidden: ({ reason }) => new ApiError('forbidden', reason),
  invalid: ({ errors }) => invalid(errors),
  conflict: ({ reason, errors, code = 'conflict' }) => new ApiError(code, reason, { errors }),
  'changed-meanwhile': () =>
    new ApiError('precondition_failed', 'It has changed since you read it. Read it again and retry.'),
}

export function toApiError(problem: HttpProblem): ApiError {
  const respond = RESPONSES[problem.kind] as (problem: HttpProblem) => ApiError
  return respond(problem)
}

/** What a function of a room returned; a problem is thrown as the error response that it leads to. */
export function unwrap<Result extends { kind: string }>(outcome: Result | HttpProblem): Result {
  if (outcome.kind in RESPONSES) throw toApiError(outcome as HttpProblem)
  return outcome as Result
}

/** Errors of a request, by field, collected as they are found. */
export class FieldErrors {
  readonly found: ErrorsByField = {}

  add(field: string, message: string): void {
    this.found[field] = [...(this.found[field] ?? []), message]
  }

  get any(): boolean {
    return Object.keys(this.found).length > 0
  }

  get problem(): HttpProblem | undefined {
    return this.any ? { kind: 'invalid', errors: this.found } : undefined
  }
}

/** One field is wrong; `unknownAt`: it names nothing that the caller can see and use here. */
export function invalidAt(field: string, message: string): HttpProblem {
  return { kind: 'invalid', errors: { [field]: [message] } }
}
export function unknownAt(field: string, message: string): HttpProblem {
  return { kind: 'unknown', errors: { [field]: [message] } }
}

export function conflict(reason: string, errors?: ErrorsByField): HttpProblem {
  return { kind: 'conflict', reason, errors }
}

/** `2 hooks: Push to main, Nightly`, at most a few of them by name. */
export function listNames(word: string, names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(', ')
  const more = names.length > MAX_NAMES ? ', …' : ''
  return `${names.length} ${word}${names.length === 1 ? '' : 's'}: ${shown}${more}`
}

const MAX_NAMES = 5
