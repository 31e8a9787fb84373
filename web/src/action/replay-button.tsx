import { useState } from 'react'
import { useLocation } from 'wouter'
import type { HookRequestRecord } from '../api/types.ts'
import { useReplay } from '../hooks/use-replay.ts'
import type { PermissionScope } from '../session/permissions.ts'
import { ConfirmDialog } from '../ui/confirm-dialog.tsx'
import { GuardedButton } from '../ui/guarded-button.tsx'
import { notify } from '../ui/notify.ts'

type ReplayButtonProps = { request: HookRequestRecord; hookName: string; scope: PermissionScope }

/** Repeats the call that triggered a run. Asks first: it starts another one. */
export function ReplayButton({ request, hookName, scope }: ReplayButtonProps) {
  const [isOpen, setOpen] = useState(false)
  const [, navigate] = useLocation()
  const { mutateAsync } = useReplay(request)
  return (
    <>
      <GuardedButton
        permission="pipeline:run"
        scope={scope}
        size="compact-xs"
        variant="default"
        onClick={() => setOpen(true)}
      >
        Replay
      </GuardedButton>
      {isOpen && (
        <ConfirmDialog
          title="Replay this call?"
          button="Replay"
          act={mutateAsync}
          onDone={(replayed) => {
            const id = replayed?.action_id
            if (!id) return notify.done(`The call to ${hookName} was replayed. It started no run.`)
            notify.done(`The call to ${hookName} was replayed as #${id}.`)
            navigate(`/actions/${id}`)
          }}
          close={() => setOpen(false)}
        >
          Starts a new run with the variables of this call, read by the hook as it is now, in your name.
        </ConfirmDialog>
      )}
    </>
  )
}
