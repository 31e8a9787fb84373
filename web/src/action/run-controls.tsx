import { Button, Group, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { Action } from '../api/types.ts'
import { usePlan } from '../pipelines/pipelines.ts'
import { ConfirmDialog } from '../ui/confirm-dialog.tsx'
import { hasEnded } from '../ui/status.ts'

type Command = 'retry' | 'cancel' | 'rollback'

const TEXTS: Record<
  Command,
  { button: string; title: string; text: string; dismiss?: string; color?: string }
> = {
  retry: {
    button: 'Retry',
    title: 'Retry this run?',
    text: 'Starts a new run on the same servers with the same commit and variables, and with the current steps.',
  },
  cancel: {
    button: 'Cancel',
    title: 'Cancel this run?',
    text: 'Stops running steps immediately and starts no more. Completed steps are not undone.',
    dismiss: 'Keep running',
    color: 'red',
  },
  rollback: {
    button: 'Roll back',
    title: 'Roll back to the previous release?',
    text: 'Starts a new run that makes the previous release live again on every server of the pipeline.',
  },
}

const ROLLBACK = { type: 'rollback' } as const

export function RunControls({ action }: { action: Action }) {
  const [command, setCommand] = useState<Command>()
  const commands: Command[] = !hasEnded(action.status)
    ? ['cancel']
    : action.type === 'deploy'
      ? ['retry', 'rollback']
      : ['retry']
  return (
    <Group gap="xs">
      {commands.map((one) => (
        <Button
          key={one}
          variant={TEXTS[one].color ? 'outline' : 'default'}
          color={TEXTS[one].color}
          onClick={() => setCommand(one)}
        >
          {TEXTS[one].button}
        </Button>
      ))}
      {command && <Confirmation command={command} action={action} close={() => setCommand(undefined)} />}
    </Group>
  )
}

type ConfirmationProps = { command: Command; action: Action; close(): void }

function Confirmation({ command, action, close }: ConfirmationProps) {
  const api = useApi()
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const { button, title, text, dismiss, color } = TEXTS[command]
  const plan = usePlan(action.pipeline_id, ROLLBACK, command === 'rollback')
  const { mutate, isPending, error } = useMutation({
    mutationFn: () =>
      command === 'rollback'
        ? api.post('/pipelines/{id}/actions', {
            params: { path: { id: action.pipeline_id } },
            body: { ...ROLLBACK, trigger_comment: `Roll back after #${action.id}` },
          })
        : api.post(`/actions/{id}/${command}`, { params: { path: { id: action.id } }, body: {} }),
    onSuccess({ id }) {
      close()
      void queries.invalidateQueries({ queryKey: queryKeys.actions() })
      void queries.invalidateQueries({ queryKey: queryKeys.action(action.id) })
      notifications.show({ message: command === 'cancel' ? `Canceling #${id}` : `Started #${id}` })
      if (command !== 'cancel') navigate(`/actions/${id}`)
    },
  })
  const source = plan.data?.source
  return (
    <ConfirmDialog
      title={title}
      button={button}
      dismiss={dismiss}
      color={color}
      isPending={isPending}
      error={error ?? plan.error}
      confirm={mutate}
      close={close}
    >
      <Text size="sm">{text}</Text>
      {source && (
        <Text size="sm" my="xs">
          Release <code>{source.release_name}</code>, commit <code>{source.commit_hash?.slice(0, 8)}</code>
        </Text>
      )}
    </ConfirmDialog>
  )
}
