// The organization, project and environment that a person is looking at. It is part of the URL, so that links can be
// shared, and is carried from page to page.
import { useCallback, useMemo, useState } from 'react'
import { useLocation, useSearchParams } from 'wouter'

export type Scope = { organization?: number; project?: number; environment?: number }

const LEVELS = ['organization', 'project', 'environment'] as const

export function readScope(search: URLSearchParams): Scope {
  const scope: Scope = {}
  for (const level of LEVELS) {
    const id = Number(search.get(level))
    if (Number.isSafeInteger(id) && id > 0) scope[level] = id
  }
  return scope
}

type PartialScope = Partial<Record<(typeof LEVELS)[number], number | null | undefined>>

/** The scope as a query string: `?organization=1`, or nothing. */
export function scopeSearch(scope: PartialScope = {}, extra: Record<string, string> = {}): string {
  const search = new URLSearchParams(extra)
  for (const level of LEVELS) if (scope[level]) search.set(level, String(scope[level]))
  return search.size === 0 ? '' : `?${search}`
}

const SCOPED = /^\/(overview|actions|applications|servers|pipelines|hooks|new)$/
const OF_ORGANIZATION = /^\/(credentials|members|settings|audit)$/

/** Pages about the selected organization as a whole. */
function isOrganizationPage(location: string): boolean {
  return OF_ORGANIZATION.test(location)
}

/** Pages that show what is in a scope; the others show one object, which has its own. */
function isScopedPage(location: string): boolean {
  return SCOPED.test(location) || isOrganizationPage(location)
}

export function scopeFilters({ organization, project, environment }: Scope) {
  return {
    'filter[organization_id]': organization?.toString(),
    'filter[project_id]': project?.toString(),
    'filter[environment_id]': environment?.toString(),
  }
}

export type UpdateSearch = (values: Record<string, string | number | undefined>, isReplace?: boolean) => void

/** The URL's parameters, and a function that sets some of them; an empty value removes one. */
export function useSearch(): [URLSearchParams, UpdateSearch] {
  const [search, setSearch] = useSearchParams()
  const update: UpdateSearch = useCallback(
    (values, isReplace = false) =>
      setSearch(
        (before) => {
          const after = new URLSearchParams(before)
          for (const [name, value] of Object.entries(values))
            if (value === undefined || value === '') after.delete(name)
            else after.set(name, String(value))
          return after
        },
        { replace: isReplace },
      ),
    [setSearch],
  )
  return [search, update]
}

export function useScope(): [Scope, (scope: Scope) => void] {
  const [search, update] = useSearch()
  // Page 7 of one scope is not page 7 of another, nor is a dialog that adds something to it.
  const none = { organization: undefined, project: undefined, environment: undefined }
  return [readScope(search), (scope) => update({ page: undefined, add: undefined, ...none, ...scope })]
}

/** What links to other pages carry: the scope in the URL or, on the page of one object, the last one. */
export function useCarriedScope(): Scope {
  const [location] = useLocation()
  const [search] = useSearchParams()
  const here = scopeSearch(readScope(search))
  const [last, setLast] = useState(here)
  const isScoped = isScopedPage(location)
  if (isScoped && here !== last) setLast(here)
  const carried = isScoped ? here : last
  return useMemo(() => readScope(new URLSearchParams(carried)), [carried])
}

/** Where another scope is shown: on this page, on the list that this object is in, or on the overview. */
export function pageForScope(location: string, scope: Scope): string {
  const section = `/${location.split('/')[1]}`
  if (isOrganizationPage(section) && scope.project === undefined) return section
  return SCOPED.test(section) ? section : '/overview'
}
