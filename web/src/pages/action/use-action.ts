// One action, kept current: by its own stream while the page is visible, by the stream of all actions otherwise.
import { useDocumentVisibility } from '@mantine/hooks'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { hasEnded } from '#client/index.ts'
import { queryKeys, useGet } from '#web/base/api/queries.ts'
import { useServices } from '#web/base/api/services.ts'
import { createEmitter, throttle } from '#web/base/api/signals.ts'
import { openStream } from '#web/base/api/streams.ts'
import type { LogText } from '#web/base/api/types.ts'

const REFETCH_INTERVAL_MS = 300

export function useAction(id: string) {
  const { actionEvents } = useServices()
  const queries = useQueryClient()
  const [logs] = useState(createEmitter<[LogText]>)
  const isVisible = useDocumentVisibility() === 'visible'
  const query = useGet(queryKeys.action(id), '/actions/{action_id}', {
    params: { path: { action_id: id as unknown as number } },
  })
  const isActive = query.data !== undefined && !hasEnded(query.data.status)

  useEffect(() => {
    const refetch = throttle(() => {
      void queries.invalidateQueries({ queryKey: queryKeys.action(id) })
      void queries.invalidateQueries({ queryKey: queryKeys.actionHookRequests(id) })
    }, REFETCH_INTERVAL_MS)
    const unsubscribe = actionEvents.subscribe({
      onEvents: (events) => events.some((event) => String(event.action_id) === id) && refetch(),
      onGap: refetch,
    })
    let stream: { close(): void } | undefined
    if (isVisible && isActive) {
      // What changed while the page was hidden.
      refetch()
      stream = openStream(`/actions/${encodeURIComponent(id)}/stream`, {
        action: refetch,
        target: refetch,
        step: refetch,
        end() {
          refetch()
          stream?.close()
        },
        log: logs.emit,
      })
    }
    return () => {
      refetch.cancel()
      unsubscribe()
      stream?.close()
    }
  }, [actionEvents, queries, logs, id, isActive, isVisible])

  return { query, subscribeToLogs: logs.subscribe }
}
