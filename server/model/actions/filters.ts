import { Type } from 'typebox'
import type { EnvironmentScope } from '#model/inventory/environment-scopes.ts'
import type { Status } from '#platform/database/tables.ts'
import { invalid } from '#platform/http/errors.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import {
  GATES,
  type Gate,
  OPERATIONS,
  RESOURCE_TYPES,
  STATUSES,
  TRIGGER_TYPES,
} from '#platform/vocabulary.ts'

type Parser<Value> = { description: string; parse(text: string): Value }

class FilterError extends Error {}

const idsOf = (what: string) => ({ description: `Ids of ${what}, comma-separated.`, parse: parseIds })

const FILTERS = {
  organization_id: idsOf('organizations'),
  project_id: idsOf('projects'),
  environment_id: idsOf('environments'),
  pipeline_id: idsOf('pipelines'),
  resource_type: anyOf(Object.keys(RESOURCE_TYPES)),
  resource_id: idsOf('applications or servers'),
  status: anyOf(Object.keys(STATUSES) as Status[]),
  type: anyOf(Object.keys(OPERATIONS)),
  operation: { ...anyOf(Object.keys(OPERATIONS)), description: 'The same as `filter[type]`.' },
  gate: anyOf(Object.keys(GATES) as Gate[]),
  approvable: {
    description: '`true`: only runs that you may approve now, and have not; the newest 1,000.',
    parse: parseTrue,
  },
  branch: {
    description: 'A branch, without `refs/heads/`: runs that were started for it.',
    parse: parseBranch,
  },
  trigger_type: anyOf<string>(TRIGGER_TYPES),
  hook_id: { description: 'UUIDs of hooks, comma-separated.', parse: parseUuids },
  /** Who started it. */
  user_id: {
    description:
      'Ids of users, comma-separated: runs that they started, retried, rolled back, or replayed a call for.',
    parse: parseIds,
  },
  created_after: { description: 'Created at this ISO 8601 time or later.', parse: parseTime },
  created_before: { description: 'Created before this ISO 8601 time.', parse: parseTime },
}

type Filters = { [Name in keyof typeof FILTERS]?: ReturnType<(typeof FILTERS)[Name]['parse']> }

/** Which actions a list shows; an array means "any of", an absent field means all. */
export type ActionFilters = Omit<Filters, 'operation' | 'approvable'> & {
  approvable?: true
  /** Only these: what `approvable` means for the caller. */
  ids?: readonly number[]
}

/** The query parameters `filter[…]`, for validation (unknown ones are rejected) and for the reference. */
export const filterQuery = Object.fromEntries(
  Object.entries(FILTERS).map(([name, { description }]) => [
    `filter[${name}]`,
    Type.Optional(Type.String({ description })),
  ]),
)

/** `filter[type]` and its alias `filter[operation]` given together mean that both must match. */
export function filtersOf(query: Record<string, unknown>): ActionFilters {
  const filters: Record<string, unknown> = {}
  const errors: ErrorsByField = {}
  for (const [name, { parse }] of Object.entries(FILTERS)) {
    const text = query[`filter[${name}]`]
    if (typeof text !== 'string') continue
    try {
      filters[name] = parse(text)
    } catch (error) {
      if (!(error instanceof FilterError)) throw error
      errors[`filter[${name}]`] = [error.message]
    }
  }
  if (Object.keys(errors).length > 0) throw invalid(errors)
  const { operation, ...known } = filters as Filters
  if (operation) known.type = known.type ? known.type.filter((type) => operation.includes(type)) : operation
  return known
}

/** The ids of the environments in the organizations, projects and environments that the filters name. */
export function environmentsMatching(filters: ActionFilters, scopes: readonly EnvironmentScope[]): number[] {
  const names = ['organization_id', 'project_id', 'environment_id'] as const
  return scopes
    .filter((scope) => names.every((name) => filters[name]?.includes(scope[name]) ?? true))
    .map((scope) => scope.environment_id)
}

const MAX_VALUES = 100

function split(text: string): string[] {
  const parts = text.split(',').map((part) => part.trim())
  if (parts.length > MAX_VALUES) throw new FilterError(`must list at most ${MAX_VALUES} values`)
  return [...new Set(parts)]
}

function parseIds(text: string): number[] {
  const numbers = split(text).map((part) => (/^[1-9]\d{0,15}$/.test(part) ? Number(part) : Number.NaN))
  if (!numbers.every(Number.isSafeInteger))
    throw new FilterError('must list integers from 1 to 9007199254740991')
  return numbers
}

function parseUuids(text: string): string[] {
  const parts = split(text.toLowerCase())
  const format = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
  if (!parts.every((part) => format.test(part))) throw new FilterError('must list UUIDs')
  return parts
}

function anyOf<Word extends string>(known: readonly Word[]): Parser<Word[]> {
  return {
    description: `Any of ${known.join(', ')}; comma-separated.`,
    parse(text) {
      const parts = split(text) as Word[]
      if (!parts.every((part) => known.includes(part)))
        throw new FilterError(`must be any of: ${known.join(', ')}`)
      return parts
    },
  }
}

function parseTrue(text: string): true {
  if (text !== 'true') throw new FilterError('must be true')
  return true
}

/** Names of branches may contain commas. */
function parseBranch(text: string): string {
  const branch = text.replace(/^refs\/heads\//, '')
  if (branch === '' || branch.length > 500 || branch.includes('\0'))
    throw new FilterError('must be the name of a branch')
  return branch
}

function parseTime(text: string): string {
  const format = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/
  // A plus sign that was not percent-encoded arrives as a space.
  const written = text.replace(' ', '+')
  const time = new Date(format.test(written) ? written : Number.NaN)
  if (Number.isNaN(time.getTime()) || time.getUTCFullYear() < 1 || !isDate(written.slice(0, 10)))
    throw new FilterError('must be an ISO 8601 time such as 2026-11-15T08:00:00Z')
  return time.toISOString()
}

/** Date reads February 30 as March 2. */
function isDate(text: string): boolean {
  return new Date(text).toISOString().startsWith(text)
}
