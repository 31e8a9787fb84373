// Who approves the runs of an environment, as its form holds and sends it. Pure.
import { OPERATIONS } from '#client/index.ts'
import type { EnvironmentRecord } from '#web/base/api/types.ts'
import { plural } from '#web/base/ui/status.ts'

export type Approval = NonNullable<EnvironmentRecord['approval']>
type BuiltInRole = NonNullable<NonNullable<Approval['from']>['roles']>[number]

export type ApprovalValues = {
  needed: 'no' | 'yes'
  required: string
  from: 'everyone' | 'listed'
  /** `user 12`, `role 3`, and built-in roles by their names. */
  approvers: string[]
  not_the_starter: boolean
  expires_after_minutes: string
  /** None: all of them. */
  operations: string[]
  rollbacks: boolean
}

export function approvalValues(approval: EnvironmentRecord['approval']): ApprovalValues {
  const { user_ids = [], role_ids = [], roles = [] } = approval?.from ?? {}
  return {
    needed: approval ? 'yes' : 'no',
    required: String(approval?.required ?? 1),
    from: approval?.from ? 'listed' : 'everyone',
    approvers: [
      ...roles,
      ...role_ids.map((id) => approverOf('role', id)),
      ...user_ids.map((id) => approverOf('user', id)),
    ],
    not_the_starter: approval?.not_the_starter ?? true,
    expires_after_minutes: String(approval?.expires_after_minutes ?? 10_080),
    operations: approval?.operations ?? [],
    rollbacks: approval?.rollbacks ?? false,
  }
}

export const approverOf = (kind: 'user' | 'role', id: number) => `${kind} ${id}`

/** What is no number is sent as it is: the API says at the input what is wrong with it. */
const numberOf = (text: string) => (/^\d+$/.test(text.trim()) ? Number(text) : text.trim()) as number

export function approvalBody(values: ApprovalValues): { approval: Approval | null } {
  if (values.needed === 'no') return { approval: null }
  const { required, from, approvers, not_the_starter, expires_after_minutes, operations, rollbacks } = values
  const idsOf = (kind: string) =>
    approvers.flatMap((one) => (one.startsWith(`${kind} `) ? Number(one.slice(kind.length + 1)) : []))
  const listed = {
    user_ids: idsOf('user'),
    role_ids: idsOf('role'),
    roles: approvers.filter((one): one is BuiltInRole => !one.includes(' ')),
  }
  return {
    approval: {
      required: numberOf(required),
      from: from === 'listed' ? listed : null,
      not_the_starter,
      expires_after_minutes: numberOf(expires_after_minutes),
      operations: operations.length > 0 ? (operations as Approval['operations']) : null,
      rollbacks,
    },
  }
}

/** The input of a field that the API names: `approval.from.user_ids.0` is in `approvers`. */
export function approvalField(field: string): string | undefined {
  const [first, second = ''] = field.split('.')
  if (first !== 'approval') return undefined
  return second === 'from' ? 'approvers' : second
}

/** "2 approvals by listed people and roles before a run starts (deploy). Expires after 7 days." */
export function describeApproval(approval: EnvironmentRecord['approval']): string {
  if (!approval) return 'Runs start without approval.'
  const { required, from, operations, expires_after_minutes } = approval
  const by = from ? 'listed people and roles' : 'people who may approve'
  const only = operations ? ` (${operations.map((one) => OPERATIONS[one].toLowerCase()).join(', ')})` : ''
  const expiry = `Expires after ${describeMinutes(expires_after_minutes)}.`
  return `${plural(required, 'approval')} by ${by} before a run starts${only}. ${expiry}`
}

export function describeMinutes(minutes: number): string {
  if (minutes % 1_440 === 0) return plural(minutes / 1_440, 'day')
  return minutes % 60 === 0 ? plural(minutes / 60, 'hour') : plural(minutes, 'minute')
}
