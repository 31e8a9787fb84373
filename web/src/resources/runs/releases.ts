// The releases of an application that a rollback may return to: those of its completed deploys.
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { queryKeys, useApi, useGet } from '#web/base/api/queries.ts'
import type { ActionListItem } from '#web/base/api/types.ts'

export type Release = {
  name: string
  actionId: number
  commit: { hash: string; message: string; author: string | null }
  deployedAt: string
  deployedBy: string | null
}

type Deploy = Pick<ActionListItem, 'id' | 'action_data' | 'completed_at' | 'created_at' | 'triggered_from'>

/**
 * Pure. Deploys come newest first. A release that was rolled back to appears in several of them: it counts where it was
 * made, which is the oldest.
 */
export function toReleases(deploys: readonly Deploy[]): Release[] {
  const releases = new Map<string, Release>()
  for (const { id, action_data, completed_at, created_at, triggered_from } of deploys) {
    const { release_name: name, commit } = action_data
    if (!name || !commit?.hash) continue
    releases.set(name, {
      name,
      actionId: id,
      commit: {
        hash: commit.hash,
        message: commit.message?.split('\n')[0] ?? '',
        author: commit.author_name ?? null,
      },
      deployedAt: completed_at ?? created_at,
      deployedBy: triggered_from.name ?? triggered_from.email,
    })
  }
  // By when they were made.
  return [...releases.values()].toSorted((one, other) => other.actionId - one.actionId)
}

const PER_PAGE = 20

/** `pages`: of deploys, newest first. */
export function useReleases(applicationId: number, pages: number) {
  const api = useApi()
  return useQuery({
    queryKey: queryKeys.releases(applicationId, pages),
    // A deploy may have completed since the dialog was open last.
    staleTime: 0,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const query = {
        'filter[resource_type]': 'application',
        'filter[resource_id]': String(applicationId),
        'filter[type]': 'deploy',
        'filter[status]': 'completed',
        per_page: PER_PAGE,
      }
      const read = (page: number) => api.page('/actions', { params: { query: { ...query, page } }, signal })
      const all = await Promise.all(Array.from({ length: pages }, (_, index) => read(index + 1)))
      return { releases: toReleases(all.flatMap(({ items }) => items)), hasMore: all.at(-1)!.hasNext }
    },
  })
}

/** The release that is live, as the application says; null without one. */
export function useLiveRelease(applicationId: number) {
  return useGet(queryKeys.liveRelease(applicationId), '/applications/{id}', {
    params: { path: { id: applicationId } },
    staleTime: 0,
    select: ({ last_deployments }) => last_deployments.live?.action_data.release_name ?? null,
  })
}
