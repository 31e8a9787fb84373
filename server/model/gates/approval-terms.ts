// Which approvals a run needs, and whose count. Pure.
import type { ApprovalTerms, Approvers } from '#platform/database/tables.ts'

/** As the API takes it. */
export type ApprovalInput = Partial<Omit<ApprovalTerms, 'from'>> & { from?: Partial<Approvers> | null }

const DEFAULTS: ApprovalTerms = {
  required: 1,
  from: null,
  not_the_starter: true,
  expires_after_minutes: 10_080,
  operations: null,
  rollbacks: false,
}

export function wholeApproval(input: ApprovalInput | null): ApprovalTerms | null {
  if (input === null) return null
  const from = input.from ? { user_ids: [], role_ids: [], roles: [], ...input.from } : null
  return { ...DEFAULTS, ...input, from }
}

/** What several settings demand together. */
export type Demand = {
  required: number
  /** A person has to be among each of these. */
  from: Approvers[]
  notTheStarter: boolean
  expiresAfterMinutes: number
}

/**
 * A run needs what the strictest of the settings since its creation demands: what was tightened applies to it, what was
 * loosened does not. Null: none of them is about it.
 */
export function strictest(terms: readonly ApprovalTerms[]): Demand | null {
  if (terms.length === 0) return null
  return {
    required: Math.max(...terms.map(({ required }) => required)),
    from: terms.flatMap(({ from }) => from ?? []),
    notTheStarter: terms.some(({ not_the_starter }) => not_the_starter),
    expiresAfterMinutes: Math.min(...terms.map(({ expires_after_minutes }) => expires_after_minutes)),
  }
}

/**
 * What a run needs of these people, under its settings, oldest first. When fewer people than required are in the lists of all of
 * them, the newest one says who: approvers who were replaced would leave runs behind that no one could approve. Everything
 * else stays as strict. Starters are not left out of that count, as they are not when the setting is stored.
 */
export function demandOf(terms: readonly ApprovalTerms[], people: readonly Person[]): Demand | null {
  const demand = strictest(terms)
  if (!demand || terms.length === 1) return demand
  const eligible = people.filter((person) => eligibilityOf(person, demand, NO_STARTERS) === 'eligible')
  if (eligible.length >= demand.required) return demand
  const { from } = terms.at(-1)!
  return { ...demand, from: from ? [from] : [] }
}

/** A person with their roles where the run is. */
export type Person = {
  id: number
  email: string
  isActive: boolean
  /** Has `action:approve` there. */
  mayApprove: boolean
  builtInRoles: readonly string[]
  roleIds: readonly number[]
}

export type Starters = { userIds: readonly number[]; emails: readonly string[] }

export type Eligibility = 'eligible' | 'no_permission' | 'not_listed' | 'starter'

/** Whether a person's approval counts now. */
export function eligibilityOf(person: Person, demand: Demand, starters: Starters): Eligibility {
  if (!person.isActive || !person.mayApprove) return 'no_permission'
  if (!demand.from.every((from) => isListed(person, from))) return 'not_listed'
  if (!demand.notTheStarter) return 'eligible'
  const isStarter =
    starters.userIds.includes(person.id) || starters.emails.includes(person.email.toLowerCase())
  return isStarter ? 'starter' : 'eligible'
}

export function isListed({ id, builtInRoles, roleIds }: Person, from: Approvers): boolean {
  return (
    from.user_ids.includes(id) ||
    from.role_ids.some((role) => roleIds.includes(role)) ||
    from.roles.some((role) => builtInRoles.includes(role))
  )
}

export const NO_STARTERS: Starters = { userIds: [], emails: [] }
