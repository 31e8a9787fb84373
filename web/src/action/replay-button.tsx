// Sends a delivery again, or repeats the call that triggered a run.
import { Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { HookRequestRecord } from '../api/types.ts'
import type { PermissionScope } from '../session/permissions.ts'
import { ConfirmDialog } from '../ui/confirm-dialog.tsx'
import { GuardedButton } from '../ui/guarded-button.tsx'
import { notify } from '../ui/notify.ts'

type ReplayProps = { request: HookRequestRecord; hookName: string; scope: PermissionScope }

function useReplay({ id, action_id }: HookRequestRecord) {
  const api = useApi()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: () => api.post('/hook-requests/{id}/replay', { params: { path: { id } } }),
    onSuccess: () =>
      action_id === null
        ? undefined
        : queries.invalidateQueries({ queryKey: queryKeys.actionHookRequests(action_id) }),
  })
}

export function RedeliverButton({ request, hookName, scope }: ReplayProps) {
  const replay = useReplay(request)
  return (
    <GuardedButton
      permission="hook:edit"
      scope={scope}
      size="compact-xs"
      variant="default"
      loading={replay.isPending}
      onClick={() =>
        replay.mutate(undefined, {
          onSuccess: () => notify.done(`Sending the notification to ${hookName} again.`),
          onError: notify.problem,
        })
      }
    >
      Redeliver
    </GuardedButton>
  )
}

/** Asks first: a call that is replayed starts a run. */
export function ReplayButton({ request, hookName, scope }: ReplayProps) {
  const [isOpen, setOpen] = useState(false)
  const [, navigate] = useLocation()
  const { mutate, isPending, error } = useReplay(request)

  function confirm(): void {
    mutate(undefined, {
      onSuccess({ action_id }) {
        setOpen(false)
        if (!action_id) return notify.done(`The call to ${hookName} was replayed. It started no run.`)
        notify.done(`The call to ${hookName} was replayed as #${action_id}.`)
        navigate(`/actions/${action_id}`)
      },
    })
  }

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
          isPending={isPending}
          error={error}
          confirm={confirm}
          close={() => setOpen(false)}
        >
          <Text size="sm">
            Starts a new run with the variables of this call, read by the hook as it is now, in your name.
          </Text>
        </ConfirmDialog>
      )}
    </>
  )
}
