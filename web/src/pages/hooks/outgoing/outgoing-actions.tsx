import { Button, Group } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { RotateCw, Send } from 'lucide-react'
import { useState } from 'react'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { Hook } from '#web/base/api/types.ts'
import type { PermissionScope } from '#web/base/session/permissions.ts'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { Dialog } from '#web/base/ui/dialog.tsx'
import { GuardedMenuItem } from '#web/base/ui/menus.tsx'
import { ErrorAlert, Loading } from '#web/base/ui/page.tsx'
import { Dimmed, StatusBadge } from '#web/base/ui/parts.tsx'
import { isSuccess } from '#web/base/ui/status.ts'
import { HookActions } from '#web/resources/hooks/hook-actions.tsx'
import { AttemptDetails } from './attempt-details.tsx'
import { RedeliverDialog } from './redeliver-dialog.tsx'

type OutgoingActionsProps = { hook: Hook; scope: PermissionScope | undefined }

export function OutgoingActions({ hook, scope }: OutgoingActionsProps) {
  const [isRedelivering, setRedelivering] = useState(false)
  const test = useSendTest(hook.id)
  const guard = { permission: 'hook:edit', scope }
  return (
    <>
      <HookActions
        hook={hook}
        scope={scope}
        buttons={
          <GuardedButton {...guard} icon={Send} loading={test.isPending} onClick={() => test.mutate()}>
            Send test
          </GuardedButton>
        }
        items={
          <GuardedMenuItem {...guard} icon={RotateCw} onClick={() => setRedelivering(true)}>
            Redeliver failed
          </GuardedMenuItem>
        }
      />
      {!test.isIdle && <SendTestDialog test={test} close={test.reset} />}
      {isRedelivering && <RedeliverDialog hook={hook} close={() => setRedelivering(false)} />}
    </>
  )
}

/** Sends what is saved, once. */
function useSendTest(hookId: string) {
  const api = useApi()
  const refetch = useRefetch()
  return useMutation({
    mutationFn: () =>
      api.post('/hooks/outgoing/{hook_id}/test', { params: { path: { hook_id: hookId } }, body: {} }),
    onSuccess: () => refetch(queryKeys.hookRequests(hookId)),
  })
}

type SendTestDialogProps = { test: ReturnType<typeof useSendTest>; close(): void }

/** What the receiver answered. */
function SendTestDialog({ test: { mutate, data, isPending, error }, close }: SendTestDialogProps) {
  return (
    <Dialog title="Test" size="xl" close={close}>
      {isPending && <Loading what="response" />}
      {error && <ErrorAlert error={error} />}
      {data && !isPending && (
        <>
          <Group gap="xs" mb="xs" role="status">
            <StatusBadge
              status={isSuccess(data.outcome) ? 'completed' : 'failed'}
              label={isSuccess(data.outcome) ? 'The receiver accepted it' : 'The receiver did not accept it'}
            />
          </Group>
          {data.sample_action && <Dimmed mb="xs">About a sample run: the pipeline has not run yet.</Dimmed>}
          <AttemptDetails request={data} />
        </>
      )}
      <Group justify="flex-end" mt="lg">
        <Button variant="default" disabled={isPending} onClick={() => mutate()}>
          Send again
        </Button>
        <Button onClick={close}>Done</Button>
      </Group>
    </Dialog>
  )
}
