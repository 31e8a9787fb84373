import { type ButtonProps, Group, SegmentedControl, Stack } from '@mantine/core'
import { RotateCw } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { queryKeys, useGet } from '#web/base/api/queries.ts'
import type { ActionNotification } from '#web/base/api/types.ts'
import { type PermissionScope, usePermission } from '#web/base/session/permissions.ts'
import { ReasonedButton } from '#web/base/ui/controls.tsx'
import { ICON } from '#web/base/ui/icon.ts'
import { notify } from '#web/base/ui/notify.ts'
import { Loaded } from '#web/base/ui/page.tsx'
import { Dimmed, StatusBadge } from '#web/base/ui/parts.tsx'
import { plural } from '#web/base/ui/status.ts'
import { NextAttempt } from '#web/base/ui/time.tsx'
import { RequestDrawer } from '#web/resources/hooks/request-drawer.tsx'
import { useReplay } from '#web/resources/hooks/use-replay.ts'
import { AttemptDetails } from './attempt-details.tsx'
import type { Delivery } from './deliveries.ts'
import { eventLabel } from './events.ts'

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
          <Dimmed component="div">
            {plural(requests.length, 'attempt')}
            {last.next_attempt_at && state === 'retrying' && <NextAttempt at={last.next_attempt_at} />}
          </Dimmed>
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
  const { allowed } = usePermission('hook:edit', scope)
  const query = useGet(queryKeys.hookRequest(id), '/hook-requests/{id}', { params: { path: { id } } })
  return (
    <Loaded query={query} what="attempt">
      {(request) => (
        <>
          <AttemptDetails request={request} />
          {!allowed && (
            <Dimmed mt="sm">
              Headers, bodies and the full URL are shown to people whose role includes hook:edit.
            </Dimmed>
          )}
        </>
      )}
    </Loaded>
  )
}

export function DeliveryBadge({ state }: { state: ActionNotification['state'] }) {
  switch (state) {
    case 'delivered':
      return <StatusBadge status="completed" label="Delivered" />
    case 'retrying':
      return <StatusBadge status="in-progress" label="Retrying" icon="↻" />
    case 'paused':
      return <StatusBadge status="waiting" label="Paused" />
    case 'failed':
      return <StatusBadge status="failed" label="Failed" />
    case 'superseded':
      return <StatusBadge status="skipped" label="Superseded" />
  }
}

type RedeliverButtonProps = ButtonProps & {
  delivery: Delivery
  scope: PermissionScope | undefined
  /** Unknown for a hook of another pipeline. */
  hook: { active: boolean } | undefined
}

export function RedeliverButton({ delivery, scope, hook, ...rest }: RedeliverButtonProps) {
  const first = delivery.requests[0]!
  const { allowed, reason } = usePermission('hook:edit', scope)
  // The first attempt stands for the delivery: the next ones belong to it.
  const { mutate, isPending } = useReplay(first)
  if (first.event === 'test') return null
  const whyNot = hook?.active === false ? 'Enable the hook first.' : undefined
  return (
    <ReasonedButton
      {...rest}
      loading={isPending}
      reason={allowed ? whyNot : reason}
      onClick={() =>
        mutate(undefined, {
          onSuccess: () => notify.done('Sending the delivery again.'),
          onError: notify.problem,
        })
      }
    >
      Redeliver
    </ReasonedButton>
  )
}
