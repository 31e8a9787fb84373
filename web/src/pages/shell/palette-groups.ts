import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { queryKeys, useApi, useGet } from '#web/base/api/queries.ts'
import { useSession } from '#web/base/session/session.ts'
import { deployKind } from '#web/base/ui/status.ts'
import { runTitle, usePipelineNames } from '#web/resources/pipelines/pipeline-names.ts'
import { type Scope, scopeSearch } from '#web/shared/scope/scope.ts'
import { readScopeNames, scopeOf } from '#web/shared/scope/scope-names.ts'
import {
  commandsFor,
  type Group,
  type Item,
  itemFor,
  type Request,
  readRequest,
  recentFirst,
  runItem,
  typesFor,
} from './palette-items.ts'

const MAX_FOUND = 20
/** Pipelines that are found can be run at once: this many of them. */
const MAX_RUNS = 3

/** What matches, and whether there is more of it or still to come. */
export function useGroups(
  input: string,
  scope: Scope,
  recent: Item[],
): { groups: Group[]; isFetching: boolean; hasMore: boolean } {
  const { isInstanceAdmin } = useSession()
  const request = readRequest(input)
  const names = useNames(request)
  const action = useActionItem(request)
  const text = request.kind === 'action' ? request.id : request.text
  const commands = request.kind === 'find' ? commandsFor(text, scopeSearch(scope), isInstanceAdmin) : []
  if (text === '' && request.kind === 'find')
    return {
      groups: present([
        { title: 'Recent', items: recent },
        { title: 'Commands', items: without(commands, recent) },
      ]),
      isFetching: false,
      hasMore: false,
    }
  const entries = names.data?.items ?? []
  const found = recentFirst(
    entries.map((entry) => itemFor(entry, request)),
    recent,
  )
  const runs = request.kind === 'find' ? entries.filter(({ type }) => type === 'pipeline') : []
  return {
    groups: present([
      { title: 'Actions', items: action.item ? [action.item] : [] },
      { title: request.kind === 'find' || request.kind === 'action' ? 'Found' : 'Commands', items: found },
      { title: 'Commands', items: [...commands, ...runs.slice(0, MAX_RUNS).map(runItem)] },
    ]),
    isFetching: names.isFetching || action.isFetching,
    hasMore: names.data?.hasNext === true,
  }
}

function useNames(request: Request) {
  const api = useApi()
  const text = request.kind === 'action' ? request.id : request.text
  const type = typesFor(request)?.join(',')
  const query = { q: text.slice(0, 200), per_page: MAX_FOUND, ...(type && { type }) }
  return useQuery({
    queryKey: queryKeys.names(query),
    enabled: text !== '' || request.kind !== 'find',
    placeholderData: keepPreviousData,
    async queryFn({ signal }) {
      const { items, hasNext } = await api.page('/names', { params: { query }, signal })
      const names = await readScopeNames(api, items, signal)
      return { hasNext, items: items.map((entry) => ({ ...entry, where: scopeOf(entry, names) })) }
    },
  })
}

function useActionItem(request: Request): { item: Item | undefined; isFetching: boolean } {
  const id = request.kind === 'action' ? request.id : ''
  const { data, isFetching } = useGet(queryKeys.action(id), '/actions/{action_id}', {
    params: { path: { action_id: Number(id) } },
    enabled: id !== '',
    retry: false,
  })
  const names = usePipelineNames(data ? [data.pipeline_id] : [])
  if (!data || id === '') return { item: undefined, isFetching }
  const item: Item = {
    key: `action ${id}`,
    icon: 'action',
    label: runTitle(names.get(data.pipeline_id), data.id, deployKind(data)),
    detail: `${data.project.name} / ${data.environment.name}`,
    choice: { kind: 'go', to: `/actions/${data.id}` },
  }
  return { item, isFetching }
}

function present(groups: Group[]): Group[] {
  return groups.filter(({ items }) => items.length > 0)
}

function without(items: Item[], others: Item[]): Item[] {
  return items.filter(({ key }) => !others.some((other) => other.key === key))
}
