import type { Permission } from '#access/authorization/permissions.ts'
import { ApiError, invalid, notFound } from '#platform/http/errors.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'

/** What became of the wish to create or change an organization, a project or an environment. */
export type SaveOutcome =
  | { kind: 'done'; row: { id: number; row_version: string } }
  | { kind: 'gone' }
  | { kind: 'name-taken' }
  | { kind: 'changed-meanwhile' }
  | { kind: 'busy'; unfinished: number }

export type RemoveOutcome =
  | { kind: 'removed' }
  | { kind: 'gone' }
  | { kind: 'changed-meanwhile' }
  | { kind: 'in-use'; by: ErrorsByField }
  | { kind: 'busy'; unfinished: number }
  | { kind: 'lacking'; permissions: Permission[] }

/** The outcomes that are not what the caller wished for. */
export type Refused = Exclude<SaveOutcome | RemoveOutcome, { kind: 'done' | 'removed' }>

/** As answers; `thing` is 'project', for example. */
export function refuse(thing: string, outcome: Refused): ApiError {
  switch (outcome.kind) {
    case 'gone':
      return notFound()
    case 'name-taken':
      return invalid({ name: [`is the name of another ${thing} there`] })
    case 'changed-meanwhile':
      return new ApiError('precondition_failed', `The ${thing} has changed since you read it: read it again.`)
    case 'busy':
      return new ApiError(
        'conflict',
        `Runs have not ended yet (${outcome.unfinished}): wait for them, or cancel them.`,
      )
    case 'in-use':
      return new ApiError(
        'conflict',
        `The ${thing} is not empty: ${Object.values(outcome.by).flat().join('; ')}.`,
        { errors: outcome.by },
      )
    case 'lacking':
      return new ApiError(
        'forbidden',
        `You need the permission ${outcome.permissions.join(' and ')} for what would be removed too.`,
      )
  }
}
