// What the list shows, as the URL says. Pure.
import { readScope, type Scope, scopeFilters } from '../scope/scope.ts'

export type Filters = {
  scope: Scope
  status: string
  type: string
  trigger: string
  pipeline: string
  hook: string
  page: number
  perPage: number
}

export const PAGE_SIZES = [25, 50, 100]
/** Empty values, which clear every filter but the scope. */
export const NO_FILTERS = { status: '', type: '', trigger: '', pipeline: '', hook: '' }

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
    type: text('type'),
    trigger: text('trigger'),
    pipeline: text('pipeline', /^\d+$/),
    hook: text('hook', /^[0-9a-f-]{36}$/i),
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
    perPage: PAGE_SIZES.includes(perPage) ? perPage : 25,
  }
}

export function toQuery(filters: Filters) {
  return {
    ...scopeFilters(filters.scope),
    'filter[status]': filters.status || undefined,
    'filter[type]': filters.type || undefined,
    'filter[trigger_type]': filters.trigger || undefined,
    'filter[pipeline_id]': filters.pipeline || undefined,
    'filter[hook_id]': filters.hook || undefined,
    page: filters.page,
    per_page: filters.perPage,
  }
}

export function isFiltered({ status, type, trigger, pipeline, hook }: Filters): boolean {
  return [status, type, trigger, pipeline, hook].some((filter) => filter !== '')
}

/** What filters look at, as far as it is known. A new action is matched here, without reading the list again. */
export type Filterable = {
  status: string
  pipelineId: number
  environmentId: number
  type?: string
  trigger?: string
  hookId?: string | null
  organizationId?: number
  projectId?: number
}

/** Unknown fields match. */
export function matches({ scope, ...filters }: Filters, action: Filterable): boolean {
  return (
    matchesAny(filters.status, action.status) &&
    matchesAny(filters.type, action.type) &&
    matchesAny(filters.trigger, action.trigger) &&
    matchesAny(filters.pipeline, action.pipelineId) &&
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
