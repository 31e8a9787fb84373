// One action, kept current: by its own stream while somebody looks at it, by the stream of all moves otherwise.
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState } from 'react'
import { useServices } from '../api/services.ts'
import type { LogText } from '../api-types.ts'
import { openStream } from '../live/event-source.ts'
import type { ListenToLogs } from '../log/use-step-log.ts'
import { hasEnded } from '../words/statuses.ts'

const READ_AT_MOST_EVERY_MS = 300

export function useAction(id: string) {
  const { api, moves } = useServices()
  const queries = useQueryClient()
  const logListeners = useRef(new Set<(text: LogText) => void>())
  const isVisible = useIsVisible()
  const query = useQuery({
    queryKey: ['action', id],
    queryFn: ({ signal }) =>
      api.ask('GET /actions/{action_id}', { path: { action_id: id as unknown as number }, signal }),
  })
  const isOver = query.data === undefined || hasEnded(query.data.status)

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const readAgain = () => {
      timer ??= setTimeout(() => {
        timer = undefined
        void queries.invalidateQueries({ queryKey: ['action', id] })
        void queries.invalidateQueries({ queryKey: ['hook-requests-of', id] })
      }, READ_AT_MOST_EVERY_MS)
    }
    // What moved while nobody looked.
    if (isVisible && !isOver) readAgain()
    const leave = moves.listen({
      onMoves: (batch) => batch.some((move) => String(move.action_id) === id) && readAgain(),
      onGap: readAgain,
    })
    const stream =
      isOver || !isVisible
        ? undefined
        : openStream(`/actions/${encodeURIComponent(id)}/stream`, {
            on: {
              action: readAgain,
              target: readAgain,
              step: readAgain,
              end() {
                readAgain()
                stream?.close()
              },
              log(text: LogText) {
                for (const listener of logListeners.current) listener(text)
              },
            },
          })
    return () => {
      clearTimeout(timer)
      leave()
      stream?.close()
    }
  }, [moves, queries, id, isOver, isVisible])

  const listenToLogs: ListenToLogs = useCallback((listener) => {
    logListeners.current.add(listener)
    return () => logListeners.current.delete(listener)
  }, [])

  return { query, listenToLogs }
}

function useIsVisible(): boolean {
  const [isVisible, setVisible] = useState(document.visibilityState === 'visible')
  useEffect(() => {
    const look = () => setVisible(document.visibilityState === 'visible')
    document.addEventListener('visibilitychange', look)
    return () => document.removeEventListener('visibilitychange', look)
  }, [])
  return isVisible
}
