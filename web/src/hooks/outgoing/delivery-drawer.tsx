import { Group, SegmentedControl, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { RotateCw } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { queryKeys } from '../../api/queries.ts'
import { useApi } from '../../api/services.ts'
import { type PermissionScope, usePermission } from '../../session/permissions.ts'
import { ICON } from '../../ui/icon.ts'
import { Loaded } from '../../ui/page.tsx'
import { plural } from '../../ui/status.ts'
import { NextAttempt } from '../../ui/time.tsx'
import { RequestDrawer } from '../request-drawer.tsx'
import { AttemptDetails } from './attempt-details.tsx'
import { DeliveryBadge } from './delivery-badge.tsx'
import { eventLabel } from './events.ts'
import { RedeliverButton, type RedeliverButtonProps } from './redeliver-button.tsx'

type DeliveryDrawerProps = Pick<RedeliverButtonProps, 'delivery' | 'hook' | 'scope'> & {
  /** The run that it is about, where the page does not tell. */
  children?: ReactNode
  close(): void
}

export function DeliveryDrawer({ delivery, hook, scope, children, close }: DeliveryDrawerProps) {
  const { requests, last, state } = delivery
  const [chosen, choose] = useState<string>()
  const shown = requests.find(({ id }) => id === chosen) ?? last
  const event = requests[0]!.event
  return (
    <RequestDrawer title={eventLabel(event)} close={close} size="min(48rem, 100vw)">
      <Group justify="space-between" gap="sm" mb="md" align="start">
        <Stack gap={6}>
          <Group gap="xs">
            <DeliveryBadge state={state} />
            {children}
          </Group>
          <Text size="sm" className="dimmed" component="div">
            {plural(requests.length, 'attempt')}
            {last.next_attempt_at && state === 'retrying' && <NextAttempt at={last.next_attempt_at} />}
          </Text>
        </Stack>
        <RedeliverButton
          size="sm"
          leftSection={<RotateCw {...ICON} />}
          delivery={delivery}
          hook={hook}
          scope={scope}
        />
      </Group>
      {requests.length > 1 && (
        <div className="table-frame">
          <SegmentedControl
            size="xs"
            aria-label="Attempt"
            value={shown.id}
            onChange={choose}
            data={requests.map(({ id, response_status_code, outcome }, index) => ({
              value: id,
              label: `${index + 1}: ${response_status_code ?? outcome.replaceAll('_', ' ')}`,
            }))}
            mb="sm"
          />
        </div>
      )}
      <Attempt id={shown.id} scope={scope} />
    </RequestDrawer>
  )
}

function Attempt({ id, scope }: { id: string; scope: PermissionScope | undefined }) {
  const api = useApi()
  const { allowed } = usePermission('hook:edit', scope)
  const query = useQuery({
    queryKey: queryKeys.hookRequest(id),
    queryFn: ({ signal }) => api.get('/hook-requests/{id}', { params: { path: { id } }, signal }),
  })
  return (
    <Loaded query={query} what="attempt">
      {(request) => (
        <>
          <AttemptDetails request={request} />
          {!allowed && (
            <Text size="sm" className="dimmed" mt="sm">
              Headers, bodies and the full URL are shown to people whose role includes hook:edit.
            </Text>
          )}
        </>
      )}
    </Loaded>
  )
}
