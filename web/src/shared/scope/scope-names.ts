// Where something is, in names as people wrote them: the paths that `GET /names` returns are made for the command line.
import type { Api } from '#web/base/api/api.ts'
import type { NameEntry } from '#web/base/api/types.ts'

type Scoped = Pick<NameEntry, 'path' | 'project_id' | 'environment_id' | 'resource_type' | 'resource_id'>
type Around = 'project' | 'environment' | 'application' | 'server'
/** By type and id: `project:7`. */
export type ScopeNames = ReadonlyMap<string, string>

/** What the API takes at once. */
const MAX_IDS = 100

/** The names around these: a request for each type. */
export async function readScopeNames(api: Api, entries: Scoped[], signal: AbortSignal): Promise<ScopeNames> {
  const keys = new Set(entries.flatMap((entry) => aroundOf(entry).map(([type, id]) => `${type}:${id}`)))
  const byType = Map.groupBy(keys, (key) => key.split(':')[0] as Around)
  const lists = await Promise.all(
    [...byType].map(([type, ofType]) => {
      const ids = ofType.map((key) => key.split(':')[1]).slice(0, MAX_IDS)
      const query = { type, 'filter[id]': ids.join(','), per_page: MAX_IDS }
      return api.get('/names', { params: { query }, signal })
    }),
  )
  return new Map(lists.flat().map(({ type, id, name }) => [`${type}:${id}`, name]))
}

/** `shop · Web shop / Production`; without what the person may not see, and its path if that is everything. */
export function scopeLabel(entry: Scoped, names: ScopeNames): string {
  const nameOf = (wanted: Around) =>
    aroundOf(entry).flatMap(([type, id]) => (type === wanted ? [names.get(`${type}:${id}`)] : []))
  const scope = [...nameOf('project'), ...nameOf('environment')].filter(Boolean).join(' / ')
  const label = [...nameOf('application'), ...nameOf('server'), scope].filter(Boolean).join(' · ')
  return label || entry.path.split('/').slice(0, -1).join('/')
}

/** The same for anything that has a name: without the name itself, and the organization where nothing is nearer. */
export function scopeOf(entry: NameEntry, names: ScopeNames): string {
  if (entry.type === 'organization') return ''
  if (entry.project_id === null || entry.type === 'project') return entry.organization.name
  return scopeLabel(entry.type === 'environment' ? { ...entry, environment_id: null } : entry, names)
}

function aroundOf({ project_id, environment_id, resource_type, resource_id }: Scoped): [Around, number][] {
  const around: [Around | null, number | null][] = [
    ['project', project_id],
    ['environment', environment_id],
    [resource_type, resource_id],
  ]
  return around.filter((one): one is [Around, number] => one[0] !== null && one[1] !== null)
}
