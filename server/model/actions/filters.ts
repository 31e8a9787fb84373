import { Type } from 'typebox'
import type { Status } from '#platform/database/tables.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import { OPERATIONS, RESOURCE_TYPES, STATUSES, TRIGGER_TYPES } from '#platform/vocabulary.ts'

/** Which actions a list shows; a list of values means "any of", an absent field means all. */
export type ActionFilters = {
  organization_id?: number[]
  project_id?: number[]
  environment_id?: number[]
  pipeline_id?: number[]
  resource_type?: string[]
  resource_id?: number[]
  status?: Status[]
  type?: string[]
  trigger_type?: string[]
  hook_id?: string[]
  created_after?: string
  created_before?: string
}

type Reader = { about: string; read(text: string): unknown }

class Fault extends Error {}

const FILTERS: Record<string, Reader> = {
  organization_id: { about: 'Ids, comma-separated', read: ids },
  project_id: { about: 'Ids, comma-separated', read: ids },
  environment_id: { about: 'Ids, comma-separated', read: ids },
  pipeline_id: { about: 'Ids, comma-separated', read: ids },
  resource_type: words(Object.keys(RESOURCE_TYPES)),
  resource_id: { about: 'Ids, comma-separated', read: ids },
  status: words(Object.keys(STATUSES)),
  type: words(Object.keys(OPERATIONS)),
  operation: words(Object.keys(OPERATIONS)),
  trigger_type: words(TRIGGER_TYPES),
  hook_id: { about: 'UUIDs, comma-separated', read: uuids },
  created_after: { about: 'ISO 8601 time; this moment included', read: time },
  created_before: { about: 'ISO 8601 time; this moment excluded', read: time },
}

/** The query parameters `filter[…]`, for validation (unknown ones are refused) and for the reference. */
export const filterQuery = Object.fromEntries(
  Object.entries(FILTERS).map(([name, { about }]) => [
    `filter[${name}]`,
    Type.Optional(Type.String({ description: about })),
  ]),
)

export type FiltersRead = { kind: 'read'; filters: ActionFilters } | { kind: 'wrong'; errors: ErrorsByField }

/** `filter[type]` and its other name `filter[operation]` given together mean both must hold. */
export function readFilters(query: Record<string, unknown>): FiltersRead {
  const filters: Record<string, unknown> = {}
  const errors: ErrorsByField = {}
  for (const [name, { read }] of Object.entries(FILTERS)) {
    const text = query[`filter[${name}]`]
    if (typeof text !== 'string') continue
    try {
      filters[name] = read(text)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      errors[`filter[${name}]`] = [error.message]
    }
  }
  if (Object.keys(errors).length > 0) return { kind: 'wrong', errors }
  const { operation, ...known } = filters as ActionFilters & { operation?: string[] }
  if (operation) known.type = known.type ? known.type.filter((type) => operation.includes(type)) : operation
  return { kind: 'read', filters: known }
}

const MOST_VALUES = 100

function split(text: string): string[] {
  const parts = text.split(',').map((part) => part.trim())
  if (parts.length > MOST_VALUES) throw new Fault(`must list at most ${MOST_VALUES} values`)
  return [...new Set(parts)]
}

function ids(text: string): number[] {
  const numbers = split(text).map((part) => (/^[1-9]\d{0,15}$/.test(part) ? Number(part) : Number.NaN))
  if (!numbers.every(Number.isSafeInteger))
    throw new Fault('must list whole numbers from 1 to 9007199254740991')
  return numbers
}

function uuids(text: string): string[] {
  const parts = split(text)
  const form = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
  if (!parts.every((part) => form.test(part))) throw new Fault('must list UUIDs')
  return [...new Set(parts.map((part) => part.toLowerCase()))]
}

function words(known: readonly string[]): Reader {
  return {
    about: `Any of ${known.join(', ')}; comma-separated`,
    read(text) {
      const parts = split(text)
      const wrong = parts.filter((part) => !known.includes(part))
      if (wrong.length > 0) throw new Fault(`must be any of: ${known.join(', ')}`)
      return parts
    },
  }
}

function time(text: string): string {
  const form = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/
  // A plus sign that was not percent-encoded arrives as a space.
  const written = text.replace(' ', '+')
  const moment = new Date(form.test(written) ? written : Number.NaN)
  if (Number.isNaN(moment.getTime()) || moment.getUTCFullYear() < 1 || !isDay(written.slice(0, 10))) {
    throw new Fault('must be an ISO 8601 time such as 2026-11-15T08:00:00Z')
  }
  return moment.toISOString()
}

/** Date takes the 30th of February for the 2nd of March. */
function isDay(text: string): boolean {
  return new Date(text).toISOString().startsWith(text)
}
