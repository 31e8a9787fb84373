import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { Api } from '#web/base/api/api.ts'
import { queryKeys, useApi, useGet } from '#web/base/api/queries.ts'
import type { NameEntry } from '#web/base/api/types.ts'
import { useSession } from '#web/base/session/session.ts'
import { deployKind } from '#web/base/ui/status.ts'
import { runTitle, usePipelineNames } from '#web/resources/pipelines/pipeline-names.ts'
import { type Scope, scopeSearch } from '#web/shared/scope/scope.ts'
import { readScopeNames, scopeOf } from '#web/shared/scope/scope-names.ts'
import {
  commandsFor,
  correctRequest,
  type FoundName,
  type Group,
  type Item,
  itemFor,
  type Request,
  readRequest,
  recentFirst,
  runItem,
  similarNames,
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
  const commits = useCommitItems(request)
  const text = textOf(request)
  const commands = request.kind === 'find' ? commandsFor(text, scopeSearch(scope), isInstanceAdmin) : []
  const entries = names.data?.items ?? []
  const isNothing = names.data?.items.length === 0 && !names.isFetching && request.kind !== 'action'
  const corrected = correctRequest(request)
  const similar = useSimilar(corrected, isNothing)
  if (text === '' && request.kind === 'find')
    return {
      groups: present([
        { title: 'Recent', items: recent },
        { title: 'Commands', items: without(commands, recent) },
      ]),
      isFetching: false,
      hasMore: false,
    }
  const found = recentFirst(
    entries.map((entry) => itemFor(entry, request)),
    recent,
  )
  const runs = request.kind === 'find' ? entries.filter(({ type }) => type === 'pipeline') : []
  const isCommand = request.kind === 'run' || request.kind === 'deploy' || request.kind === 'roll-back'
  return {
    groups: present([
      { title: 'Actions', items: [...(action.item ? [action.item] : []), ...commits.items] },
      { title: isCommand ? 'Commands' : 'Found', items: found },
      { title: 'Commands', items: [...commands, ...runs.slice(0, MAX_RUNS).map(runItem)] },
      {
        title: 'Did you mean',
        items: isNothing ? (similar.data ?? []).map((entry) => itemFor(entry, corrected)) : [],
      },
    ]),
    isFetching: names.isFetching || action.isFetching || commits.isFetching || similar.isFetching,
    hasMore: names.data?.hasNext === true,
  }
}

function textOf(request: Request): string {
  return request.kind === 'action' ? request.id : request.text
}

async function readNames(
  api: Api,
  query: { q?: string; type?: string; per_page: number },
  signal: AbortSignal,
) {
  const { items, hasNext } = await api.page('/names', { params: { query }, signal })
  return { items, hasNext }
}

async function withWhere(api: Api, items: NameEntry[], signal: AbortSignal): Promise<FoundName[]> {
  const names = await readScopeNames(api, items, signal)
  return items.map((entry) => ({ ...entry, where: scopeOf(entry, names) }))
}

function useNames(request: Request) {
  const api = useApi()
  const text = textOf(request)
  const type = typesFor(request)?.join(',')
  const query = { q: text.slice(0, 200), per_page: MAX_FOUND, ...(type && { type }) }
  return useQuery({
    queryKey: queryKeys.names(query),
    enabled: text !== '' || request.kind !== 'find',
    placeholderData: keepPreviousData,
    async queryFn({ signal }) {
      const { items, hasNext } = await readNames(api, query, signal)
      return { hasNext, items: await withWhere(api, items, signal) }
    },
  })
}

const MAX_COMPARED = 1_000
const MIN_LETTERS = 3
const SIMILAR_FOR_MS = 60_000

/** Names that are a typo away, once nothing else was found. */
function useSimilar(request: Request, isNothing: boolean) {
  const api = useApi()
  const text = textOf(request)
  const type = typesFor(request)?.join(',')
  return useQuery({
    queryKey: queryKeys.names({ similar: text, type }),
    enabled: isNothing && (text.length >= MIN_LETTERS || (text === '' && request.kind !== 'find')),
    staleTime: SIMILAR_FOR_MS,
    async queryFn({ signal }) {
      const { items } = await readNames(api, { per_page: MAX_COMPARED, ...(type && { type }) }, signal)
      return withWhere(api, similarNames(items, text).slice(0, MAX_FOUND), signal)
    },
  })
}

/** Deploys that are searched for a commit: the newest ones. */
const MAX_DEPLOYS = 100

/** The runs that deployed a commit, newest first. */
function useCommitItems(request: Request): { items: Item[]; isFetching: boolean } {
  const hash = request.kind === 'commit' ? request.text.toLowerCase() : ''
  const query = { 'filter[type]': 'deploy', include: 'pipeline_id' as const, per_page: MAX_DEPLOYS }
  const { data = [], isFetching } = useGet(queryKeys.actions('commits'), '/actions', {
    params: { query },
    enabled: hash !== '',
    staleTime: SIMILAR_FOR_MS / 4,
  })
  const found =
    hash === '' ? [] : data.filter(({ action_data }) => action_data.commit?.hash?.startsWith(hash))
  const names = usePipelineNames(found.map(({ pipeline_id }) => pipeline_id!))
  return {
    isFetching,
    items: found.slice(0, MAX_FOUND).map((action) => ({
      key: `action ${action.id}`,
      icon: 'action' as const,
      label: runTitle(names.get(action.pipeline_id!), action.id, deployKind(action)),
      detail: `${action.action_data.commit?.hash?.slice(0, 8)} ${action.action_data.commit?.message?.split('\n')[0] ?? ''}`,
      choice: { kind: 'go' as const, to: `/actions/${action.id}` },
    })),
  }
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
