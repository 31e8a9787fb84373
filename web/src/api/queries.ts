// TanStack Query: its client, every query key, and how several queries become one.
import { QueryClient, type UseQueryResult } from '@tanstack/react-query'
import { GantryError, UnreachableError } from '#client/index.ts'
import type { Scope } from '../scope/scope.ts'

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
  overview: (scope?: Scope) => (scope ? ['overview', scope] : ['overview']),
  runningCount: ['running-count'],
  actions: (query?: string) => (query ? ['actions', query] : ['actions']),
  action: (id: Id) => ['action', String(id)],
  actionChanges: (id: Id) => ['action-changes', String(id)],
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
  variables: (applicationId: Id) => ['variables', String(applicationId)],
  grants: (organizationId: Id | undefined, userId: Id) => ['grants', organizationId, userId],
  pipelines: (resourceType: string, resourceId: Id) => ['pipelines', resourceType, resourceId],
  environmentPipelines: (...parts: unknown[]) => ['environment-pipelines', ...parts],
  offeredResources: (...parts: unknown[]) => ['offered-resources', ...parts],
  pipeline: (id: Id) => ['pipeline', String(id)],
  step: (pipelineId: Id, id: Id) => ['pipeline', String(pipelineId), 'step', id],
  builtInCommands: (applicationId: Id) => ['application', String(applicationId), 'commands'],
  pipelineNames: (ids: string) => ['pipeline-names', ids],
  recentRuns: (pipelineId: Id) => ['recent-runs', pipelineId],
  people: (organizationId: Id | undefined, search: string) => ['people', organizationId, search],
  blockers: (waiting: unknown) => ['blockers', waiting],
  liveRelease: (applicationId: Id) => ['live-release', applicationId],
  releases: (applicationId: Id, page: number) => ['releases', applicationId, page],
  serverReleases: (applicationId?: Id) =>
    applicationId === undefined ? ['server-releases'] : ['server-releases', applicationId],
  liveCommit: (applicationId: Id, commit: string | undefined) => ['live-commit', applicationId, commit],
  plan: (pipelineId: Id, ...body: unknown[]) => ['plan', pipelineId, ...body],
  hooks: (pipelineId: Id) => ['hooks', pipelineId],
  hook: (type: string, id: Id) => ['hook', type, id],
  hookRequests: (hookId: Id, page?: number) =>
    page ? ['hook-requests', hookId, page] : ['hook-requests', hookId],
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

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        refetchOnReconnect: 'always',
        // An outage is retried for as long as it lasts; an error response is final.
        retry: (failures, error) =>
          error instanceof UnreachableError || (failures < 1 && !(error instanceof GantryError)),
        retryDelay: 300,
      },
      // A run must not start later than its person believes: no mutation waits for the connection.
      mutations: { networkMode: 'always', retry: false },
    },
  })
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
