import { RotateCcw, Square, Undo2 } from 'lucide-react'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { hasEnded } from '#client/index.ts'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { Action } from '#web/base/api/types.ts'
import { runScope } from '#web/base/session/permissions.ts'
import { ConfirmDialog } from '#web/base/ui/confirm-dialog.tsx'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { notify } from '#web/base/ui/notify.ts'
import { usePipeline } from '#web/resources/pipelines/pipelines.ts'
import { RollbackDialog } from '#web/resources/runs/rollback-dialog.tsx'
import { useAnnounceRun } from '#web/resources/runs/use-announce-run.ts'

type Command = 'retry' | 'cancel' | 'rollback'

const BUTTONS = {
  retry: { text: 'Retry', Icon: RotateCcw },
  cancel: { text: 'Cancel', Icon: Square },
  rollback: { text: 'Roll back', Icon: Undo2 },
}

const CONFIRMATIONS = {
  retry: {
    title: 'Retry this run?',
    text: 'Starts a new run on the same servers with the same commit and variables, and with the current steps.',
  },
  cancel: {
    title: 'Cancel this run?',
    text: 'Stops running steps immediately and starts no more. Completed steps are not undone.',
    dismiss: 'Keep running',
    color: 'red',
  },
}

/** What can be done with a run in its state. */
export function RunControls({ action }: { action: Action }) {
  const [command, setCommand] = useState<Command>()
  const { data: pipeline } = usePipeline(action.pipeline_id)
  const close = () => setCommand(undefined)
  const commands: Command[] = !hasEnded(action.status)
    ? ['cancel']
    : action.type === 'deploy' && pipeline
      ? ['retry', 'rollback']
      : ['retry']
  const scope = runScope(action)
  return (
    <>
      {commands.map((one) => {
        const { text, Icon } = BUTTONS[one]
        return (
          <GuardedButton
            key={one}
            permission="pipeline:run"
            scope={scope}
            variant={one === 'cancel' ? 'outline' : 'default'}
            {...(one === 'cancel' && { color: 'red' })}
            icon={Icon}
            onClick={() => setCommand(one)}
          >
            {text}
          </GuardedButton>
        )
      })}
      {command === 'rollback' && pipeline && (
        <RollbackDialog
          pipeline={pipeline}
          from={action.id}
          comment={`Roll back after #${action.id}`}
          close={close}
        />
      )}
      {(command === 'retry' || command === 'cancel') && (
        <Confirmation
          command={command}
          action={action}
          name={pipeline?.name ?? action.type_human_readable}
          close={close}
        />
      )}
    </>
  )
}

type ConfirmationProps = {
  command: keyof typeof CONFIRMATIONS
  action: Action
  /** Of the pipeline. */
  name: string
  close(): void
}

function Confirmation({ command, action, name, close }: ConfirmationProps) {
  const api = useApi()
  const refetch = useRefetch()
  const [, navigate] = useLocation()
  const announce = useAnnounceRun()
  const { text, ...texts } = CONFIRMATIONS[command]
  function onDone(answer: Action | undefined): void {
    if (!answer) return
    void refetch(queryKeys.actions(), queryKeys.action(action.id))
    if (command === 'cancel') {
      notify.done(`${hasEnded(answer.status) ? 'Canceled' : 'Canceling'} ${name} #${action.id}`)
      return
    }
    announce(answer, name)
    navigate(`/actions/${answer.id}`)
  }
  return (
    <ConfirmDialog
      {...texts}
      button={BUTTONS[command].text}
      act={() => api.post(`/actions/{id}/${command}`, { params: { path: { id: action.id } }, body: {} })}
      onDone={onDone}
      close={close}
    >
      {text}
    </ConfirmDialog>
  )
}
