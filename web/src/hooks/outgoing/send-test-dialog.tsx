import { Button, Group, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { queryKeys } from '../../api/queries.ts'
import { useApi } from '../../api/services.ts'
import { ErrorAlert, Loading } from '../../ui/page.tsx'
import { Dialog, StatusBadge } from '../../ui/parts.tsx'
import { isSuccess } from '../../ui/status.ts'
import { AttemptDetails } from './attempt-details.tsx'

/** Sends what is saved, once. */
export function useSendTest(hookId: string) {
  const api = useApi()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: () =>
      api.post('/hooks/outgoing/{hook_id}/test', { params: { path: { hook_id: hookId } }, body: {} }),
    onSuccess: () => queries.invalidateQueries({ queryKey: queryKeys.hookRequests(hookId) }),
  })
}

type SendTestDialogProps = { test: ReturnType<typeof useSendTest>; close(): void }

/** What the receiver answered. */
export function SendTestDialog({ test: { mutate, data, isPending, error }, close }: SendTestDialogProps) {
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
          {data.sample_action && (
            <Text size="sm" className="dimmed" mb="xs">
              About a sample run: the pipeline has not run yet.
            </Text>
          )}
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
