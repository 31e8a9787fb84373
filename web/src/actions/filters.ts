// What the list shows, as it stands in the address bar. Pure.
import { type Place, placeFilters, readPlace } from '../shell/place.ts'

export type Filters = {
  place: Place
  status: string
  type: string
  trigger: string
  pipeline: string
  hook: string
  page: number
  perPage: number
}

export const PAGE_SIZES = [25, 50, 100]

/** Whatever stands in the address: what makes no sense is left out rather than refused. */
export function readFilters(search: URLSearchParams): Filters {
  const perPage = Number(search.get('per_page'))
  const page = Number(search.get('page'))
  return {
    place: readPlace(search),
    status: search.get('status') ?? '',
    type: search.get('type') ?? '',
    trigger: search.get('trigger') ?? '',
    pipeline: /^\d+$/.test(search.get('pipeline') ?? '') ? search.get('pipeline')! : '',
    hook: /^[0-9a-f-]{36}$/i.test(search.get('hook') ?? '') ? search.get('hook')! : '',
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
    perPage: PAGE_SIZES.includes(perPage) ? perPage : 25,
  }
}

export function toQuery(filters: Filters) {
  return {
    ...placeFilters(filters.place),
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

/** What a filter looks at; an action that has just begun is held against them here, without reading the list again. */
export type Filtered = {
  status: string
  type: string
  trigger: string
  pipelineId: number
  hookId: string | null
  organizationId: number
  projectId: number
  environmentId: number
}

export function matches({ place, ...filters }: Filters, action: Filtered): boolean {
  return (
    isAnyOf(filters.status, action.status) &&
    isAnyOf(filters.type, action.type) &&
    isAnyOf(filters.trigger, action.trigger) &&
    isAnyOf(filters.pipeline, String(action.pipelineId)) &&
    isAnyOf(filters.hook, action.hookId ?? '') &&
    (place.organization ?? action.organizationId) === action.organizationId &&
    (place.project ?? action.projectId) === action.projectId &&
    (place.environment ?? action.environmentId) === action.environmentId
  )
}

/** Several values with commas between them mean any of them; none means every one. */
function isAnyOf(filter: string, value: string): boolean {
  return filter === '' || filter.split(',').includes(value)
}
