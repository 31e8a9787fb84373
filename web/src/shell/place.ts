// The organization, project and environment that a person looks at. It stands in the address, so that an address can
// be passed on, and goes along from page to page.
export type Place = { organization?: number; project?: number; environment?: number }

export const LEVELS = ['organization', 'project', 'environment'] as const

export function readPlace(search: URLSearchParams): Place {
  const place: Place = {}
  for (const level of LEVELS) {
    const id = Number(search.get(level))
    if (Number.isSafeInteger(id) && id > 0) place[level] = id
  }
  return place
}

export function placeFilters({ organization, project, environment }: Place) {
  return {
    'filter[organization_id]': organization?.toString(),
    'filter[project_id]': project?.toString(),
    'filter[environment_id]': environment?.toString(),
  }
}
