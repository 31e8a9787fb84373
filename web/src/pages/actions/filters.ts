// What the list shows, as the URL says. Pure.
import { readScope, type Scope, scopeFilters } from '#web/shared/scope/scope.ts'

export type Filters = {
  scope: Scope
  status: string
  /** `checks`, `approval`, `freeze`, or several of them. */
  gate: string
  type: string
  trigger: string
  /** One of `SINCE`. */
  since: string
  pipeline: string
  /** `application:5`. */
  resource: string
  user: string
  hook: string
  page: number
  perPage: number
}

export const PAGE_SIZES = [25, 50, 100]

const HOUR_MS = 3_600_000
/** How far back, in milliseconds. */
const SINCE: Record<string, number> = {
  '1h': HOUR_MS,
  '24h': 24 * HOUR_MS,
  '7d': 7 * 24 * HOUR_MS,
  '30d': 30 * 24 * HOUR_MS,
}

/** Empty values, which clear every filter but the scope. */
export const NO_FILTERS = {
  status: '',
  gate: '',
  type: '',
  trigger: '',
  since: '',
  pipeline: '',
  resource: '',
  user: '',
  hook: '',
}
const NAMES = Object.keys(NO_FILTERS) as (keyof typeof NO_FILTERS)[]

const IDS = /^\d+(,\d+)*$/

/** Invalid parameters are ignored rather than rejected. */
export function readFilters(search: URLSearchParams): Filters {
  const text = (name: string, pattern = /^/) => {
    const value = search.get(name) ?? ''
    return pattern.test(value) ? value : ''
  }
  const perPage = Number(search.get('per_page'))
  const page = Number(search.get('page'))
  return {
    scope: readScope(search),
    status: text('status'),
    gate: text('gate', /^(checks|approval|freeze)(,(checks|approval|freeze))*$/),
    type: text('type'),
    trigger: text('trigger'),
    since: Object.hasOwn(SINCE, text('since')) ? text('since') : '',
    pipeline: text('pipeline', IDS),
    resource: text('resource', /^(application|server):\d+$/),
    user: text('user', IDS),
    hook: text('hook', /^[0-9a-f-]{36}$/i),
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
    perPage: PAGE_SIZES.includes(perPage) ? perPage : 25,
  }
}

/** `now` is when the list is read. */
export function toQuery(filters: Filters, now: number) {
  const [resourceType, resourceId] = filters.resource.split(':')
  const since = SINCE[filters.since]
  return {
    ...scopeFilters(filters.scope),
    'filter[status]': filters.status || undefined,
    'filter[gate]': filters.gate || undefined,
    'filter[type]': filters.type || undefined,
    'filter[trigger_type]': filters.trigger || undefined,
    'filter[created_after]': since === undefined ? undefined : new Date(now - since).toISOString(),
    'filter[pipeline_id]': filters.pipeline || undefined,
    'filter[resource_type]': resourceType || undefined,
    'filter[resource_id]': resourceId || undefined,
    'filter[user_id]': filters.user || undefined,
    'filter[hook_id]': filters.hook || undefined,
    page: filters.page,
    per_page: filters.perPage,
  }
}

export function isFiltered(filters: Filters): boolean {
  return NAMES.some((name) => filters[name] !== '')
}

/** What filters look at, as far as it is known. A new action is matched here, without reading the list again. */
export type Filterable = {
  status: string
  /** `none`: it waits at no gate. */
  gate?: string
  pipelineId: number
  environmentId: number
  type?: string
  trigger?: string
  resource?: string
  userId?: number | null
  hookId?: string | null
  organizationId?: number
  projectId?: number
}

/** Unknown fields match, and so does any time: what is new is recent. */
export function matches({ scope, ...filters }: Filters, action: Filterable): boolean {
  return (
    matchesAny(filters.status, action.status) &&
    matchesAny(filters.gate, action.gate) &&
    matchesAny(filters.type, action.type) &&
    matchesAny(filters.trigger, action.trigger) &&
    matchesAny(filters.pipeline, action.pipelineId) &&
    matchesAny(filters.resource, action.resource) &&
    matchesAny(filters.user, action.userId) &&
    matchesAny(filters.hook, action.hookId) &&
    matchesAny(scope.organization, action.organizationId) &&
    matchesAny(scope.project, action.projectId) &&
    matchesAny(scope.environment, action.environmentId)
  )
}

/** A filter may be several values, separated by commas; an empty one matches everything. */
export function matchesAny(filter: string | number = '', value: string | number | null | undefined): boolean {
  return filter === '' || value === undefined || String(filter).split(',').includes(String(value))
}

/** Of a reason, as `gate` of what is matched. */
export function gateOf(reasonCode: string): string {
  return /^WAITING_(CHECKS|APPROVAL|FREEZE)$/.exec(reasonCode)?.[1]?.toLowerCase() ?? 'none'
}
