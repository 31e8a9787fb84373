import { keepPreviousData } from '@tanstack/react-query'
import { queryKeys, useGet } from '#web/base/api/queries.ts'
import type { NameEntry } from '#web/base/api/types.ts'
import { deployKind, runNumber } from '#web/base/ui/status.ts'

const NO_NAMES: ReadonlyMap<number, string> = new Map()
/** What the API takes at once. */
const MAX_IDS = 100

/** The names of these pipelines by id, in one request; without those that the person may not see. */
export function usePipelineNames(ids: number[]): ReadonlyMap<number, string> {
  return usePipelineNamesQuery(ids).data ?? NO_NAMES
}

export function usePipelineNamesQuery(ids: number[]) {
  const distinct = [...new Set(ids)]
    .sort((one, other) => one - other)
    .slice(0, MAX_IDS)
    .join(',')
  return useGet(queryKeys.pipelineNames(distinct), '/names', {
    params: { query: { type: 'pipeline', 'filter[id]': distinct, per_page: MAX_IDS } },
    staleTime: 60_000,
    enabled: distinct !== '',
    placeholderData: keepPreviousData,
    select: namesById,
  })
}

function namesById(entries: NameEntry[]): ReadonlyMap<number, string> {
  return new Map(entries.map(({ id, name }) => [Number(id), name]))
}

/** `Deploy shop #42 (rollback)`; `Run #42` where the name of its pipeline is not known. */
export function runTitle(pipelineName: string | undefined, id: number, kind?: string): string {
  return `${pipelineName ?? 'Run'} ${runNumber(id, kind)}`
}

/** For a run of which only the id is known. */
export function useRunTitle(id: number): string {
  const { data } = useGet(queryKeys.action(id), '/actions/{action_id}', {
    params: { path: { action_id: id } },
    staleTime: 60_000,
  })
  const names = usePipelineNames(data ? [data.pipeline_id] : [])
  return runTitle(data && names.get(data.pipeline_id), id, data && deployKind(data))
}
