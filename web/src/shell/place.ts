// The organization, project and environment that a person looks at. It stands in the address, so that an address can
// be passed on, and goes along from page to page.
import { useSearchParams } from 'wouter'

export type Place = { organization?: number; project?: number; environment?: number }

const LEVELS = ['organization', 'project', 'environment'] as const

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

export function usePlace(): [Place, (place: Place) => void] {
  const [search, setSearch] = useSearchParams()
  const choose = (place: Place) =>
    setSearch((before) => {
      const after = new URLSearchParams(before)
      for (const level of LEVELS) {
        if (place[level] === undefined) after.delete(level)
        else after.set(level, String(place[level]))
      }
      // Page 7 of one place is not page 7 of another.
      after.delete('page')
      return after
    })
  return [readPlace(search), choose]
}

/** The place as the end of a link's address: `?organization=1`, or nothing. */
export function useCarriedPlace(): string {
  const [search] = useSearchParams()
  const carried = new URLSearchParams()
  for (const [level, id] of Object.entries(readPlace(search))) carried.set(level, String(id))
  return carried.size === 0 ? '' : `?${carried}`
}
