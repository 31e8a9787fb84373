import { Group, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { GantryError } from '#client/index.ts'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { Action, HookRequestRecord } from '../api/types.ts'
import { HookRequestButton } from '../hooks/hook-request-dialog.tsx'
import { hooksQuery } from '../pipelines/pipelines.ts'
import { DataTable, Section, StatusBadge } from '../ui/parts.tsx'
import { outcomeLabel } from '../ui/status.ts'
import { Age, NextAttempt } from '../ui/time.tsx'
import classes from './action.module.css'
import { deliveriesSummary, groupDeliveries } from './deliveries.ts'
import { RedeliverButton, ReplayButton } from './replay-button.tsx'

const REFETCH_INTERVAL_MS = 4_000
/** Deliveries about the last status follow it. */
const REFETCH_AFTER_END_MS = 30_000

const BADGES = {
  delivered: <StatusBadge status="completed" label="Delivered" />,
  retrying: <StatusBadge status="in-progress" label="Retrying" icon="↻" />,
  failed: <StatusBadge status="failed" label="Failed" />,
  superseded: <StatusBadge status="skipped" label="Superseded" />,
  received: <StatusBadge status="queued" label="Received" icon="→" />,
}

/** The call that triggered the action, and every delivery about it. */
export function NotificationsSection({ action }: { action: Action }) {
  const api = useApi()
  const { id, completed_at, pipeline_id } = action
  const { data, error } = useQuery({
    queryKey: queryKeys.actionHookRequests(id),
    queryFn: ({ signal }) => api.all('/actions/{id}/hook-requests', { params: { path: { id } }, signal }),
    refetchInterval: ({ state }) => {
      const isRetrying = state.data?.some((request) => request.next_attempt_at !== null)
      const isRecent = completed_at === null || Date.now() - Date.parse(completed_at) < REFETCH_AFTER_END_MS
      return isRetrying || isRecent ? REFETCH_INTERVAL_MS : false
    },
  })
  const hooks = useQuery({ ...hooksQuery(api, pipeline_id), enabled: data !== undefined }).data
  const nameOf = ({ hook_id, type }: HookRequestRecord) =>
    hooks?.find((hook) => hook.id === hook_id)?.name ??
    (type === 'incoming' ? 'Incoming hook' : 'Outgoing hook')
  const scope = {
    organization: action.organization.id,
    project: action.project.id,
    environment: action.environment.id,
  }
  const call = data?.find((request) => request.type === 'incoming')
  const deliveries = groupDeliveries(data ?? [])
  const summary =
    error instanceof GantryError && error.status === 403
      ? 'You do not have permission to see the hooks of this environment.'
      : data
        ? deliveriesSummary(deliveries)
        : 'Loading notifications…'
  return (
    <Section id="notifications" title="Notifications">
      <Text mb="xs">{summary}</Text>
      {(call || deliveries.length > 0) && (
        <DataTable columns={['State', 'Hook', 'Outcome', 'Time', 'Request']} className={classes.requests}>
          {deliveries.map(({ id, state, attempts, last }) => (
            <RequestRow
              key={id}
              request={last}
              state={state}
              attempts={attempts}
              name={nameOf(last)}
              place={<code>{last.url}</code>}
            >
              <RedeliverButton request={last} hookName={nameOf(last)} scope={scope} />
            </RequestRow>
          ))}
          {call && (
            <RequestRow
              request={call}
              state="received"
              name={nameOf(call)}
              place={<span className="dimmed">from {call.ip_address ?? 'an unknown address'}</span>}
            >
              <ReplayButton request={call} hookName={nameOf(call)} scope={scope} />
            </RequestRow>
          )}
        </DataTable>
      )}
    </Section>
  )
}

type RequestRowProps = {
  request: HookRequestRecord
  state: keyof typeof BADGES
  attempts?: number
  name: string
  /** Where it went, or came from. */
  place: ReactNode
  /** What can be done about it. */
  children: ReactNode
}

function RequestRow({ request, state, attempts = 1, name, place, children }: RequestRowProps) {
  const { type, hook_id, error, next_attempt_at } = request
  return (
    <Table.Tr>
      <Table.Td>{BADGES[state]}</Table.Td>
      <Table.Td className="wrap">
        <Link href={`/hooks/${type}/${hook_id}`}>{name}</Link>
        <br />
        {place}
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
          <HookRequestButton id={request.id} />
          {children}
        </Group>
      </Table.Td>
    </Table.Tr>
  )
}
