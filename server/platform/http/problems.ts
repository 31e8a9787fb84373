import { ApiError, invalid, notFound } from './errors.ts'
import type { ErrorsByField } from './validation.ts'

/** Why a change did not happen. Nothing was stored. */
export type HttpProblem =
  | { kind: 'gone' }
  /** Ids in the wish that name nothing, or nothing that the caller may see and use here. */
  | { kind: 'unknown'; errors: ErrorsByField }
  | { kind: 'forbidden'; reason: string }
  | { kind: 'invalid'; errors: ErrorsByField }
  | { kind: 'conflict'; reason: string; errors?: ErrorsByField }
  | { kind: 'changed-meanwhile' }

/** The answer to a refused change. */
export function toApiError(refusal: HttpProblem): ApiError {
  switch (refusal.kind) {
    case 'gone':
      return notFound()
    case 'unknown':
      return new ApiError('not_found', 'The body names something that is not here, or not for you to see.', {
        errors: refusal.errors,
      })
    case 'forbidden':
      return new ApiError('forbidden', refusal.reason)
    case 'invalid':
      return invalid(refusal.errors)
    case 'conflict':
      return new ApiError('conflict', refusal.reason, { errors: refusal.errors })
    case 'changed-meanwhile':
      return new ApiError('precondition_failed', 'It has changed since you read it: read it again.')
  }
}

/** Faults of a wish, by field, as they are found. */
export class FieldErrors {
  readonly found: ErrorsByField = {}

  add(field: string, message: string): void {
    this.found[field] = [...(this.found[field] ?? []), message]
  }

  get any(): boolean {
    return Object.keys(this.found).length > 0
  }
}

export function conflict(reason: string, errors?: ErrorsByField): HttpProblem {
  return { kind: 'conflict', reason, errors }
}

/** `2 hooks: Push to main, Nightly`, at most a few of them by name. */
export function listNames(word: string, names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMES).join(', ')
  const more = names.length > MOST_NAMES ? ', …' : ''
  return `${names.length} ${word}${names.length === 1 ? '' : 's'}: ${shown}${more}`
}

const MOST_NAMES = 5
