import type { Permission } from '#access/authorization/permissions.ts'
import { ApiError, invalid, notFound } from '#platform/http/errors.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import type { Role } from './schemas.ts'

/** Why a wish about members or roles is not fulfilled. Nothing was stored. */
export type Refusal =
  | { kind: 'gone' }
  | { kind: 'invalid'; errors: ErrorsByField }
  | { kind: 'missing'; fields: string[] }
  | { kind: 'lacking'; permissions: Permission[] }
  | { kind: 'changed-meanwhile' }
  | { kind: 'already' }
  | { kind: 'has-joined' }
  | { kind: 'invited-elsewhere' }
  | { kind: 'last-owner' }
  | { kind: 'name-taken' }
  | { kind: 'in-use'; members: number }

/** `link` is a one-time link that was made by this very operation; it is shown now or never. */
export type MemberOutcome = { kind: 'done'; userId: number; link?: string } | Refusal
export type RemovalOutcome = { kind: 'removed' } | Refusal
export type RoleOutcome = { kind: 'done'; row: Role & { row_version: string } } | Refusal

export function refuse(refusal: Refusal): ApiError {
  switch (refusal.kind) {
    case 'gone':
      return notFound()
    case 'invalid':
      return invalid(refusal.errors)
    case 'missing':
      return new ApiError('not_found', 'Something that the body names is not here, or nothing you may see.', {
        errors: Object.fromEntries(refusal.fields.map((field) => [field, ['is not here']])),
      })
    case 'lacking':
      return new ApiError(
        'forbidden',
        `Nobody decides about what they do not have; you lack ${refusal.permissions.join(', ')} there.`,
      )
    case 'changed-meanwhile':
      return new ApiError('precondition_failed', 'It has changed since you read it: read it again.')
    case 'already':
      return conflict('This person has that role there already.')
    case 'has-joined':
      return conflict('This person has an account in use: there is nothing to invite them to.')
    case 'invited-elsewhere':
      return conflict(
        'This person has an invitation of another organization, and can be added once they have accepted it.',
      )
    case 'last-owner':
      return conflict('An organization needs an owner: make somebody else an owner first.')
    case 'name-taken':
      return invalid({ name: ['is the name of another role of this organization'] })
    case 'in-use': {
      const holders = refusal.members === 1 ? '1 member has it' : `${refusal.members} members have it`
      return conflict(`The role is in use: ${holders}.`, { members: [holders] })
    }
  }
}

function conflict(message: string, errors?: ErrorsByField): ApiError {
  return new ApiError('conflict', message, { errors })
}
