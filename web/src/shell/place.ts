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

/** The place as the end of an address: `?organization=1`, or nothing. */
export function placeSearch(place: Place, more: Record<string, string> = {}): string {
  const search = new URLSearchParams(more)
  for (const level of LEVELS) if (place[level] !== undefined) search.set(level, String(place[level]))
  return search.size === 0 ? '' : `?${search}`
}

/** Pages that show what there is in a place; the others are about one thing, which stands where it stands. */
export function isPageOfPlace(location: string): boolean {
  return /^\/(overview|actions|pipelines|hooks|members)$/.test(location)
}

export function placeFilters({ organization, project, environment }: Place) {
  return {
    'filter[organization_id]': organization?.toString(),
    'filter[project_id]': project?.toString(),
    'filter[environment_id]': environment?.toString(),
  }
}
