import { Button, Group, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { GantryError } from '#client/index.ts'
import { queryKeys, useAll, useApi, useGet } from '#web/base/api/queries.ts'
import type { Action, ActionNotification, HookRequestRecord } from '#web/base/api/types.ts'
import { runScope } from '#web/base/session/permissions.ts'
import { Section, StatusBadge } from '#web/base/ui/parts.tsx'
import { outcomeLabel } from '#web/base/ui/status.ts'
import { DataTable } from '#web/base/ui/table.tsx'
import { Age, NextAttempt } from '#web/base/ui/time.tsx'
import { groupDeliveries } from '#web/pages/hooks/outgoing/deliveries.ts'
import { DeliveryBadge, DeliveryDrawer, RedeliverButton } from '#web/pages/hooks/outgoing/delivery-drawer.tsx'
import { hooksQuery } from '#web/resources/pipelines/pipelines.ts'
import { refetchInterval, remoteText, requestsSummary, waitingText } from './notifications.ts'
import { ReplayButton } from './replay-button.tsx'

const REFETCH_INTERVAL_MS = 4_000
/** Deliveries about the last status follow it. */
const REFETCH_AFTER_END_MS = 30_000

/** What each receiver knows about the action, every delivery about it, and the call that triggered it. */
export function NotificationsSection({ action }: { action: Action }) {
  const api = useApi()
  const { id, completed_at, pipeline_id } = action
  const [opened, setOpened] = useState<string>()
  const { data, error } = useAll(queryKeys.actionHookRequests(id), '/actions/{id}/hook-requests', {
    params: { path: { id } },
    refetchInterval: ({ state }) => {
      const isRetrying = state.data?.some((request) => request.next_attempt_at !== null)
      const isRecent = completed_at === null || Date.now() - Date.parse(completed_at) < REFETCH_AFTER_END_MS
      return isRetrying || isRecent ? REFETCH_INTERVAL_MS : false
    },
  })
  const hooks = useQuery({ ...hooksQuery(api, pipeline_id), enabled: data !== undefined }).data
  const hookOf = ({ hook_id }: HookRequestRecord) => hooks?.find((hook) => hook.id === hook_id)
  const nameOf = (request: HookRequestRecord) =>
    hookOf(request)?.name ?? (request.type === 'incoming' ? 'Incoming hook' : 'Outgoing hook')
  const scope = runScope(action)
  const call = data?.find((request) => request.type === 'incoming')
  const deliveries = groupDeliveries(data ?? [])
  const shown = deliveries.find(({ id }) => id === opened)
  const notifications = useNotifications(action).data
  const summary =
    error instanceof GantryError && error.status === 403
      ? 'You do not have permission to see the hooks of this environment.'
      : data
        ? requestsSummary(deliveries, call !== undefined)
        : 'Loading notifications…'
  return (
    <Section id="notifications" title="Notifications">
      {notifications && notifications.length > 0 && <NotifiedHooks notifications={notifications} />}
      <Text my="xs">{summary}</Text>
      {(call || deliveries.length > 0) && (
        <DataTable columns={['State', 'Hook', 'Outcome', 'Time', 'Request']}>
          {deliveries.map((delivery) => (
            <RequestRow
              key={delivery.id}
              request={delivery.last}
              badge={<DeliveryBadge state={delivery.state} />}
              attempts={delivery.attempts}
              name={nameOf(delivery.last)}
              address={<code>{delivery.last.url}</code>}
            >
              <Button size="compact-xs" variant="default" onClick={() => setOpened(delivery.id)}>
                Details
              </Button>
              <RedeliverButton
                size="compact-xs"
                variant="default"
                delivery={delivery}
                hook={hookOf(delivery.last)}
                scope={scope}
              />
            </RequestRow>
          ))}
          {call && (
            <RequestRow
              request={call}
              badge={<StatusBadge status="queued" label="Received" icon="→" />}
              name={nameOf(call)}
              address={<span className="dimmed">from {call.ip_address ?? 'an unknown address'}</span>}
            >
              <Button
                component={Link}
                href={`/hooks/incoming/${call.hook_id}?call=${call.id}`}
                size="compact-xs"
                variant="default"
              >
                Details
              </Button>
              <ReplayButton request={call} hookName={nameOf(call)} scope={scope} />
            </RequestRow>
          )}
        </DataTable>
      )}
      {shown && (
        <DeliveryDrawer
          key={shown.id}
          delivery={shown}
          hook={hookOf(shown.last)}
          scope={scope}
          close={() => setOpened(undefined)}
        />
      )}
    </Section>
  )
}

type RequestRowProps = {
  request: HookRequestRecord
  badge: ReactNode
  attempts?: number
  name: string
  /** Where it went, or came from. */
  address: ReactNode
  /** What can be done about it. */
  children: ReactNode
}

function RequestRow({ request, badge, attempts = 1, name, address, children }: RequestRowProps) {
  const { type, hook_id, error, next_attempt_at } = request
  return (
    <Table.Tr>
      <Table.Td>{badge}</Table.Td>
      <Table.Td className="wrap">
        <Link href={`/hooks/${type}/${hook_id}`}>{name}</Link>
        <br />
        {address}
      </Table.Td>
      <Table.Td>
        {outcomeLabel(request)}
        {attempts > 1 && ` after ${attempts} attempts`}
        {error && <div className="dimmed wrap">{error}</div>}
        {next_attempt_at && <NextAttempt at={next_attempt_at} />}
      </Table.Td>
      <Table.Td className="numeric">
        <Age of={request.created_at} />
      </Table.Td>
      <Table.Td>
        <Group gap={6} wrap="nowrap">
          {children}
        </Group>
      </Table.Td>
    </Table.Tr>
  )
}

// What each receiver knows about a run: one line per hook.
function useNotifications({ id, completed_at }: Pick<Action, 'id' | 'completed_at'>) {
  return useGet(queryKeys.actionNotifications(id), '/actions/{id}/notifications', {
    params: { path: { id } },
    refetchInterval: ({ state }) => refetchInterval(state.data, completed_at, Date.now()),
  })
}

function NotifiedHooks({ notifications }: { notifications: readonly ActionNotification[] }) {
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
