import { useState } from 'react'
import { useLocation } from 'wouter'
import type { HookRequestRecord } from '#web/base/api/types.ts'
import type { PermissionScope } from '#web/base/session/permissions.ts'
import { ConfirmDialog } from '#web/base/ui/confirm-dialog.tsx'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { notify } from '#web/base/ui/notify.ts'
import { useReplay } from '#web/resources/hooks/use-replay.ts'

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
