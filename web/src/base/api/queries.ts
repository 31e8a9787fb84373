// TanStack Query: every query key, how pages read the API, and how several queries become one.
import {
  type QueryKey,
  type UseQueryOptions,
  type UseQueryResult,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { useEffect } from 'react'
import type { Data, GetInit, GetPath, Item, Page } from '#client/index.ts'
import type { Api } from './api.ts'
import { useServices } from './services.ts'
import { throttle } from './signals.ts'

type Id = string | number

/** The one list of query keys. A shorter key invalidates every key that starts with it. */
export const queryKeys = {
  signInOptions: ['sign-in-options'],
  visitor: ['visitor'],
  link: (page: string, token: string | null) => ['link', page, token],
  permissions: ['permissions'],
  names: (query: object) => ['names', query],
  namesWithin: (within: string | undefined) => ['names-within', within],
  sessions: ['sessions'],
  personalTokens: ['personal-tokens'],
  identities: ['identities'],
  setup: (...parts: unknown[]) => ['setup', ...parts],
  overview: (scope?: object) => (scope ? ['overview', scope] : ['overview']),
  applicationCards: (query?: object) => (query ? ['application-cards', query] : ['application-cards']),
  activeRuns: (...of: unknown[]) => ['active-runs', ...of],
  runningCount: ['running-count'],
  actions: (query?: string) => (query ? ['actions', query] : ['actions']),
  action: (id: Id) => ['action', String(id)],
  actionChanges: (id: Id, ...of: unknown[]) => ['action-changes', String(id), ...of],
  actionGates: (id: Id, reason?: string) =>
    reason ? ['action-gates', String(id), reason] : ['action-gates', String(id)],
  freezes: (of?: string, id?: Id) => (of ? ['freezes', of, id] : ['freezes']),
  waitingForYou: ['waiting-for-you'],
  actionHookRequests: (id: Id) => ['action-hook-requests', String(id)],
  actionNotifications: (id: Id) => ['action-hook-requests', String(id), 'notifications'],
  organizations: ['organizations'],
  projects: (organizationId: Id | undefined) => ['projects', organizationId],
  project: (id: Id | undefined) => ['project', id],
  environments: (projectId: Id | undefined) => ['environments', projectId],
  environment: (id: Id | undefined) => ['environment', id],
  members: (organizationId: Id) => ['members', organizationId],
  organization: (id: Id) => ['organization', id],
  credentials: (organizationId: Id | undefined) => ['credentials', organizationId],
  credential: (id: Id) => ['credential', String(id)],
  server: (id: Id) => ['server', String(id)],
  servers: (environmentId: Id) => ['servers', environmentId],
  application: (id?: Id) => (id === undefined ? ['application'] : ['application', String(id)]),
  sourceProvider: (applicationId: Id) => ['application', String(applicationId), 'source-provider'],
  applications: (environmentId: Id) => ['applications', environmentId],
  resourceRuns: (pipelineIds?: readonly Id[]) =>
    pipelineIds ? ['resource-runs', pipelineIds] : ['resource-runs'],
  latestRuns: (environmentId?: Id, resourceType?: string) =>
    environmentId === undefined ? ['latest-runs'] : ['latest-runs', environmentId, resourceType],
  insights: (type: string, id: Id, from: string) => ['insights', type, String(id), from],
  variables: (applicationId: Id) => ['variables', String(applicationId)],
  grants: (organizationId: Id | undefined, userId: Id) => ['grants', organizationId, userId],
  pipelines: (resourceType: string, resourceId: Id) => ['pipelines', resourceType, resourceId],
  environmentPipelines: (...parts: unknown[]) => ['environment-pipelines', ...parts],
  offeredResources: (...parts: unknown[]) => ['offered-resources', ...parts],
  pipeline: (id: Id) => ['pipeline', String(id)],
  step: (pipelineId: Id, id: Id) => ['pipeline', String(pipelineId), 'step', id],
  builtInCommands: (applicationId: Id) => ['application', String(applicationId), 'commands'],
  pipelineNames: (ids: string) => ['pipeline-names', ids],
  stepDurations: (pipelineId: Id) => ['recent-runs', pipelineId, 'steps'],
  recentRuns: (pipelineId: Id) => ['recent-runs', pipelineId],
  people: (organizationId: Id | undefined, search: string) => ['people', organizationId, search],
  blockers: (waiting: unknown) => ['blockers', waiting],
  liveRelease: (applicationId: Id) => ['live-release', applicationId],
  releases: (applicationId: Id, page: number) => ['releases', applicationId, page],
  serverReleases: (applicationId?: Id) =>
    applicationId === undefined ? ['server-releases'] : ['server-releases', applicationId],
  commitLine: (applicationId?: Id) =>
    applicationId === undefined ? ['commit-line'] : ['commit-line', applicationId],
  serverLive: (applicationId: Id) => ['server-releases', applicationId, 'live'],
  liveCommit: (applicationId: Id, commit: string | undefined) => ['live-commit', applicationId, commit],
  plan: (pipelineId: Id, ...body: unknown[]) => ['plan', pipelineId, ...body],
  hooks: (pipelineId: Id) => ['hooks', pipelineId],
  hook: (type: string, id: Id) => ['hook', type, id],
  hookRequests: (hookId: Id, page?: number) =>
    page ? ['hook-requests', hookId, page] : ['hook-requests', hookId],
  catchUps: (hookId: Id, checkedAt: string | null | undefined) => ['catch-ups', hookId, checkedAt],
  dryRun: (hookId: Id, ...of: unknown[]) => ['dry-run', hookId, ...of],
  environmentHooks: (environmentId: Id, ...of: unknown[]) => ['environment-hooks', environmentId, ...of],
  senders: ['senders'],
  receivers: ['receivers'],
  createdHook: (id: Id) => ['created-hook', id],
  preview: (hookId: Id, body: unknown) => ['preview', hookId, body],
  redeliveryCount: (hookId: Id, from: string | undefined) => ['redelivery-count', hookId, from],
  hookRequest: (id: Id) => ['hook-request', id],
  scopeNames: (organizationId: Id) => ['scope-names', organizationId],
  member: (organizationId: Id, userId: Id) => ['member', organizationId, userId],
  role: (id: Id) => ['role', id],
  users: (query?: object) => (query ? ['users', query] : ['users']),
  audit: (organizationId: Id | null, query: object) => ['audit', organizationId, query],
  auditNames: (entryId: Id) => ['audit-names', entryId],
  auditPeople: (organizationId: Id | null) => ['audit-people', organizationId],
} as const

export const useApi = (): Api => useServices().api

type Options<Read, Shown> = Omit<UseQueryOptions<Read, Error, Shown>, 'queryKey' | 'queryFn'>
/** The parameters of the request, and options of the query. */
type ReadInit<Path extends GetPath, Read, Shown> = GetInit<Path> & Options<Read, Shown>

/** What `GET` returns at a path. */
export function useGet<Path extends GetPath, Shown = Data<'get', Path>>(
  queryKey: QueryKey,
  path: Path,
  init: ReadInit<Path, Data<'get', Path>, Shown>,
) {
  return useRead<Data<'get', Path>, Shown>(queryKey, init, (api, given) => api.get(path, given))
}

/** Every item of a list. */
export function useAll<Path extends GetPath, Shown = Item<Path>[]>(
  queryKey: QueryKey,
  path: Path,
  init: ReadInit<Path, Item<Path>[], Shown>,
) {
  return useRead<Item<Path>[], Shown>(queryKey, init, (api, given) => api.all(path, given))
}

/** One page of a list. */
export function usePage<Path extends GetPath, Shown = Page<Item<Path>>>(
  queryKey: QueryKey,
  path: Path,
  init: ReadInit<Path, Page<Item<Path>>, Shown>,
) {
  return useRead<Page<Item<Path>>, Shown>(queryKey, init, (api, given) => api.page(path, given))
}

function useRead<Read, Shown>(
  queryKey: QueryKey,
  init: Options<Read, Shown> & { params?: unknown },
  read: (api: Api, given: never) => Promise<Read>,
) {
  const api = useApi()
  const { params, ...options } = init
  const queryFn = ({ signal }: { signal: AbortSignal }) => read(api, { params, signal } as never)
  return useQuery<Read, Error, Shown>({ ...options, queryKey, queryFn })
}

/** Returns what loads these queries again, wherever they are shown. */
export function useRefetch(): (...queryKeys: QueryKey[]) => Promise<void> {
  const queries = useQueryClient()
  return async (...queryKeys) => {
    await Promise.all(queryKeys.map((queryKey) => queries.invalidateQueries({ queryKey })))
  }
}

/** Refetches these queries when actions change, at most once in `everyMs`; after a quiet time already after `firstMs`. */
export function useRefetchOnActionEvents(queryKey: QueryKey, everyMs: number, firstMs = everyMs): void {
  const { actionEvents } = useServices()
  const queries = useQueryClient()
  // biome-ignore lint/correctness/useExhaustiveDependencies: callers pass constant keys
  useEffect(() => {
    const refetch = throttle(() => void queries.invalidateQueries({ queryKey }), everyMs, firstMs)
    const unsubscribe = actionEvents.subscribe({ onEvents: refetch, onGap: refetch })
    return () => {
      refetch.cancel()
      unsubscribe()
    }
  }, [actionEvents, queries])
}

/** What pages need of a query, or of several. */
export type QueryState<Data> = {
  data: Data | undefined
  error: Error | null
  refetch(): unknown
}

/** Complete when all are; for `useQueries({ combine })`. */
export function combineQueries<Data>(results: UseQueryResult<Data>[]): QueryState<Data[]> {
  const failed = results.find((result) => result.error && result.data === undefined)
  const isComplete = results.every((result) => result.data !== undefined)
  return {
    data: isComplete ? results.map((result) => result.data!) : undefined,
    error: failed?.error ?? null,
    refetch: () => failed?.refetch(),
  }
}
