// What each receiver knows about a run: one line per hook.
import { Group } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { Action, ActionNotification } from '../api/types.ts'
import { DeliveryBadge } from '../hooks/outgoing/delivery-badge.tsx'
import { NextAttempt } from '../ui/time.tsx'
import { refetchInterval, remoteText, waitingText } from './notifications.ts'

export function useNotifications({ id, completed_at }: Pick<Action, 'id' | 'completed_at'>) {
  const api = useApi()
  return useQuery({
    queryKey: queryKeys.actionNotifications(id),
    queryFn: ({ signal }) => api.get('/actions/{id}/notifications', { params: { path: { id } }, signal }),
    refetchInterval: ({ state }) => refetchInterval(state.data, completed_at, Date.now()),
  })
}

export function NotifiedHooks({ notifications }: { notifications: readonly ActionNotification[] }) {
  return (
    <ul className="plain-list" aria-label="Receivers">
      {notifications.map((notification) => (
        <NotifiedHook key={notification.hook_id} notification={notification} />
      ))}
    </ul>
  )
}

function NotifiedHook({ notification }: { notification: ActionNotification }) {
  const { hook_id, hook_name, receiver, state, last_error, next_attempt_at } = notification
  const remote = remoteText(notification)
  const waiting = waitingText(notification)
  return (
    <li>
      <Group gap="xs">
        <DeliveryBadge state={state} />
        <Link href={`/hooks/outgoing/${hook_id}`}>{hook_name}</Link>
        {receiver && <span className="dimmed">{receiver}</span>}
      </Group>
      {remote && <div className="wrap">{remote}</div>}
      {waiting && <div className="wrap">{waiting}</div>}
      {last_error && <div className="dimmed wrap">{last_error}</div>}
      {!waiting && next_attempt_at && <NextAttempt at={next_attempt_at} />}
    </li>
  )
}
