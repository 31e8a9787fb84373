import { Group, SegmentedControl, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { RotateCw } from 'lucide-react'
import { useState } from 'react'
import type { Delivery } from '../../action/deliveries.ts'
import { queryKeys } from '../../api/queries.ts'
import { useApi } from '../../api/services.ts'
import type { Hook } from '../../api/types.ts'
import { type PermissionScope, usePermission } from '../../session/permissions.ts'
import { ReasonedButton } from '../../ui/guarded-button.tsx'
import { notify } from '../../ui/notify.ts'
import { ErrorAlert, Loaded } from '../../ui/page.tsx'
import { plural } from '../../ui/status.ts'
import { NextAttempt } from '../../ui/time.tsx'
import { RequestDrawer } from '../request-drawer.tsx'
import { AttemptDetails } from './attempt-details.tsx'
import { RunLink } from './deliveries-section.tsx'
import { DeliveryBadge } from './delivery-badge.tsx'
import { eventLabel } from './events.ts'

type DeliveryDrawerProps = {
  delivery: Delivery
  hook: Hook
  scope: PermissionScope | undefined
  close(): void
}

export function DeliveryDrawer({ delivery, hook, scope, close }: DeliveryDrawerProps) {
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
            <RunLink hook={hook} actionId={last.action_id} />
          </Group>
          <Text size="sm" className="dimmed" component="div">
            {plural(requests.length, 'attempt')}
            {last.next_attempt_at && state === 'retrying' && <NextAttempt at={last.next_attempt_at} />}
          </Text>
        </Stack>
        <RedeliverButton delivery={delivery} hook={hook} scope={scope} />
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

type RedeliverButtonProps = Omit<DeliveryDrawerProps, 'close'>

function RedeliverButton({ delivery, hook, scope }: RedeliverButtonProps) {
  const api = useApi()
  const queries = useQueryClient()
  const { allowed, reason } = usePermission('hook:edit', scope)
  // The first attempt stands for the delivery: the next ones belong to it.
  const params = { path: { id: delivery.id } }
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => api.post('/hook-requests/{id}/replay', { params }),
    onSuccess() {
      notify.done('Delivery is sent again.')
      return queries.invalidateQueries({ queryKey: queryKeys.hookRequests(hook.id) })
    },
  })
  if (delivery.requests[0]!.event === 'test') return null
  const why = !allowed ? reason : hook.active ? undefined : 'Enable the hook first.'
  return (
    <Stack gap="xs" align="end">
      <ReasonedButton
        size="sm"
        loading={isPending}
        reason={why}
        leftSection={<RotateCw size={16} strokeWidth={1.75} aria-hidden="true" />}
        onClick={() => mutate()}
      >
        Redeliver
      </ReasonedButton>
      {error && <ErrorAlert error={error} />}
    </Stack>
  )
}
