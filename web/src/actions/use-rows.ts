// The list, kept current by moves. Reading a page of 100 is two megabytes, so a move changes its row here, and an action
// that begins is read alone. The page as a whole is read again when moves may have been missed, and when so much
// begins at once, or so much leaves the filter, that reading one by one would cost more.
import { keepPreviousData, type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { Api } from '../api/api.ts'
import { useServices } from '../api/services.ts'
import type { ActionMove } from '../api-types.ts'
import { type Filters, matches, toQuery } from './filters.ts'
import { applyMoves, insert, keepSame, type Row, type Rows, toRow } from './rows.ts'

const READ_ALONE_AT_MOST = 5
/** The list is drawn at most this often: what changes within a moment is one drawing, not several in one frame. */
const DRAW_EVERY_MS = 150
const READ_AGAIN_AFTER_MS = 3_000

export function useRows(filters: Filters) {
  const { api, moves } = useServices()
  const queries = useQueryClient()
  const key = JSON.stringify(toQuery(filters))

  const query = useQuery({
    queryKey: ['actions', key],
    placeholderData: keepPreviousData,
    structuralSharing: false,
    queryFn: async ({ signal }): Promise<Rows> => {
      const { items, total } = await api.askPage('GET /actions', { query: toQuery(filters), signal })
      const before = queries.getQueryData<Rows>(['actions', key])?.rows
      return { rows: keepSame(before, items.map(toRow)), total }
    },
  })

  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` is what `filters` say
  useEffect(() => {
    const list = createLiveList({ api, queries, key, filters })
    const leave = moves.listen(list)
    return () => {
      leave()
      list.close()
    }
  }, [api, moves, queries, key])

  return query
}

type LiveListDeps = { api: Api; queries: QueryClient; key: string; filters: Filters }

function createLiveList({ api, queries, key, filters }: LiveListDeps) {
  const queryKey = ['actions', key]
  let timer: ReturnType<typeof setTimeout> | undefined
  const edits: ((rows: Row[]) => Row[])[] = []
  let drawing: ReturnType<typeof setTimeout> | undefined
  let drawnAt = 0
  /** Actions that are being read alone, and how they move meanwhile: the answer may be older than that. */
  const awaited = new Map<number, ActionMove[]>()

  function readAgainSoon(): void {
    timer ??= setTimeout(() => {
      timer = undefined
      void queries.invalidateQueries({ queryKey })
    }, READ_AGAIN_AFTER_MS)
  }

  function change(edit: (rows: Row[]) => Row[]): void {
    edits.push(edit)
    drawing ??= setTimeout(draw, Math.max(0, drawnAt + DRAW_EVERY_MS - performance.now()))
  }

  function draw(): void {
    drawing = undefined
    drawnAt = performance.now()
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

  async function readAlone(ids: number[]): Promise<void> {
    for (const id of ids) awaited.set(id, [])
    const read = await Promise.allSettled(
      ids.map((id) => api.ask('GET /actions/{action_id}', { path: { action_id: id } })),
    )
    const found = read.flatMap((result) => {
      if (result.status === 'rejected') return []
      const action = result.value
      const filtered = {
        status: action.status,
        type: action.type,
        trigger: action.triggered_from.trigger_type,
        pipelineId: action.pipeline_id,
        hookId: action.triggered_from.hook_id,
        organizationId: action.organization.id,
        projectId: action.project.id,
        environmentId: action.environment.id,
      }
      const [row] = applyMoves([toRow(action)], awaited.get(action.id) ?? []).rows
      return { row: row!, filtered: { ...filtered, status: row!.status } }
    })
    for (const id of ids) awaited.delete(id)
    change((rows) => insert(rows, found, filters))
  }

  return {
    onMoves(moves: ActionMove[]): void {
      for (const move of moves) awaited.get(move.action_id)?.push(move)
      const { strangers } = applyMoves(edited(queries.getQueryData<Rows>(queryKey)?.rows ?? []), moves)
      change((rows) => applyMoves(rows, moves).rows.filter(staysListed))
      const wanted = strangers.filter(
        (id) => !awaited.has(id) && couldMatch(moves.filter((move) => move.action_id === id)),
      )
      if (wanted.length === 0 || filters.page !== 1) return
      if (wanted.length > READ_ALONE_AT_MOST) readAgainSoon()
      else void readAlone(wanted)
    },
    onGap: () => void queries.invalidateQueries({ queryKey }),
    close() {
      clearTimeout(timer)
      clearTimeout(drawing)
    },
  }

  function staysListed(row: Row): boolean {
    const stays = filters.status === '' || filters.status.split(',').includes(row.status)
    if (!stays) readAgainSoon()
    return stays
  }

  /** From moves alone some filters can be judged, and an old action that moves on is not news without one. */
  function couldMatch(moves: ActionMove[]): boolean {
    const { place, pipeline, status } = filters
    const move = moves.at(-1)!
    const hasBegun = moves.some((one) => one.previous_status === null)
    if (status === '' && !hasBegun) return false
    return matches(
      { ...filters, place: { environment: place.environment }, type: '', trigger: '', hook: '', pipeline },
      {
        status: move.status,
        pipelineId: move.pipeline_id,
        environmentId: move.environment_id,
        type: '',
        trigger: '',
        hookId: null,
        organizationId: 0,
        projectId: 0,
      },
    )
  }
}
