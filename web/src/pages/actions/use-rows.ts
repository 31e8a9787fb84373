// The list, kept current by events. A page of 100 is two megabytes, so an event changes its row here, and a new action
// is read on its own. The whole page is read again when events may have been missed, and when so much starts at once,
// or leaves the filter, that reading one by one would cost more.
import { keepPreviousData, type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { Api } from '#web/base/api/api.ts'
import { queryKeys } from '#web/base/api/queries.ts'
import { useServices } from '#web/base/api/services.ts'
import { throttle } from '#web/base/api/signals.ts'
import type { ActionMove } from '#web/base/api/types.ts'
import { type Filters, gateOf, matches, matchesAny, toQuery } from './filters.ts'
import { applyEvents, insert, type Row, type Rows, reuseRows, toRow, withoutCommit } from './rows.ts'

const MAX_SINGLE_READS = 5
/** The list renders at most this often: changes within this time render together. */
const RENDER_INTERVAL_MS = 150
const REFETCH_DELAY_MS = 3_000

export function useRows(filters: Filters) {
  const { api, actionEvents } = useServices()
  const queries = useQueryClient()
  const key = JSON.stringify(filters)

  const query = useQuery({
    queryKey: queryKeys.actions(key),
    placeholderData: keepPreviousData,
    structuralSharing: false,
    queryFn: async ({ signal }): Promise<Rows> => {
      const query = { ...toQuery(filters, Date.now()), include: 'pipeline_id' as const }
      const { items, ...page } = await api.page('/actions', { params: { query }, signal })
      const before = queries.getQueryData<Rows>(queryKeys.actions(key))?.rows
      return { ...page, rows: reuseRows(before, items.map(toRow)) }
    },
  })

  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` says what `filters` say
  useEffect(() => {
    const list = createLiveList({ api, queries, queryKey: queryKeys.actions(key), filters })
    const unsubscribe = actionEvents.subscribe(list)
    return () => {
      unsubscribe()
      list.close()
    }
  }, [api, actionEvents, queries, key])

  return query
}

type LiveListDeps = { api: Api; queries: QueryClient; queryKey: string[]; filters: Filters }

function createLiveList({ api, queries, queryKey, filters }: LiveListDeps) {
  const edits: ((rows: Row[]) => Row[])[] = []
  let rendering: ReturnType<typeof setTimeout> | undefined
  let renderedAt = 0
  /** Actions being read on their own, and their events meanwhile: the response may be older than those. */
  const reading = new Map<number, ActionMove[]>()
  const refetchSoon = throttle(() => void queries.invalidateQueries({ queryKey }), REFETCH_DELAY_MS)

  function change(edit: (rows: Row[]) => Row[]): void {
    edits.push(edit)
    rendering ??= setTimeout(render, Math.max(0, renderedAt + RENDER_INTERVAL_MS - performance.now()))
  }

  function render(): void {
    rendering = undefined
    renderedAt = performance.now()
    queries.setQueryData<Rows>(queryKey, (now) => {
      if (!now) return now
      const rows = edited(now.rows)
      return rows.every((row, index) => row === now.rows[index]) && rows.length === now.rows.length
        ? now
        : { ...now, rows }
    })
    edits.length = 0
  }

  const edited = (rows: Row[]) => edits.reduce((now, edit) => edit(now), rows)

  async function readSingly(ids: number[]): Promise<void> {
    for (const id of ids) reading.set(id, [])
    const results = await Promise.allSettled(
      ids.map((id) => api.get('/actions/{action_id}', { params: { path: { action_id: id } } })),
    )
    const found = results.flatMap((result) => {
      if (result.status === 'rejected') return []
      const { value } = result
      const [row] = applyEvents([toRow(value)], reading.get(value.id) ?? []).rows
      const action = {
        status: row!.status,
        gate: row!.gate,
        type: value.type,
        trigger: value.triggered_from.trigger_type,
        pipelineId: value.pipeline_id,
        resource: `${value.resource.type}:${value.resource.id}`,
        userId: value.triggered_from.user_id,
        hookId: value.triggered_from.hook_id,
        organizationId: value.organization.id,
        projectId: value.project.id,
        environmentId: value.environment.id,
      }
      return { row: row!, action }
    })
    for (const id of ids) reading.delete(id)
    change((rows) => insert(rows, found, filters))
  }

  function staysListed(row: Row): boolean {
    const stays = matchesAny(filters.status, row.status) && matchesAny(filters.gate, row.gate)
    if (!stays) refetchSoon()
    return stays
  }

  /** Events alone decide some filters; and without a status filter an old action that changes is not new. */
  function couldMatch(events: ActionMove[]): boolean {
    const event = events.at(-1)!
    const isNew = events.some(({ previous_status }) => previous_status === null)
    if (filters.status === '' && filters.gate === '' && !isNew) return false
    const { status, status_reason_code, pipeline_id: pipelineId, environment_id: environmentId } = event
    return matches(filters, { status, gate: gateOf(status_reason_code), pipelineId, environmentId })
  }

  return {
    onEvents(events: ActionMove[]): void {
      for (const event of events) reading.get(event.action_id)?.push(event)
      const listed = edited(queries.getQueryData<Rows>(queryKey)?.rows ?? [])
      const { unlisted } = applyEvents(listed, events)
      change((rows) => applyEvents(rows, events).rows.filter(staysListed))
      const matching = unlisted.filter((id) => couldMatch(events.filter((event) => event.action_id === id)))
      const candidates = [...matching, ...withoutCommit(listed, events)].filter((id) => !reading.has(id))
      if (candidates.length === 0 || filters.page !== 1) return
      if (candidates.length > MAX_SINGLE_READS) refetchSoon()
      else void readSingly(candidates)
    },
    onGap: () => void queries.invalidateQueries({ queryKey }),
    close() {
      refetchSoon.cancel()
      clearTimeout(rendering)
    },
  }
}
