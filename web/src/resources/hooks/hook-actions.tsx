import { useMutation } from '@tanstack/react-query'
import { KeyRound, Pause, Play } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useLocation } from 'wouter'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { Hook } from '#web/base/api/types.ts'
import type { PermissionScope } from '#web/base/session/permissions.ts'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { GuardedMenuItem, MoreMenu, RemoveMenuItem } from '#web/base/ui/menus.tsx'
import { notify } from '#web/base/ui/notify.ts'
import { RemoveDialog } from '#web/base/ui/remove-dialog.tsx'
import { scopeSearch } from '#web/shared/scope/scope.ts'
import { RotateDialog } from './rotate-dialog.tsx'

const REMOVED = {
  incoming: 'Calls to its URL get 404. Past calls and runs remain.',
  outgoing: 'Nothing is sent anymore. Past deliveries remain.',
}

type HookActionsProps = {
  hook: Hook
  scope: PermissionScope | undefined
  /** Buttons, and items of the menu, that only one kind of hooks has. */
  buttons?: ReactNode
  items?: ReactNode
}

/** What can be done with a hook of either kind. Removing it leads to the list. */
export function HookActions({ hook, scope, buttons, items }: HookActionsProps) {
  const api = useApi()
  const refetch = useRefetch()
  const [, navigate] = useLocation()
  const [open, setOpen] = useState<'rotate' | 'remove'>()
  const close = () => setOpen(undefined)
  const { id, type, name } = hook
  return (
    <>
      <ActivateButton hook={hook} scope={scope} />
      {buttons}
      <MoreMenu>
        {items}
        {(type === 'outgoing' || hook.requires_secret) && (
          <GuardedMenuItem
            permission="hook:edit"
            scope={scope}
            icon={KeyRound}
            onClick={() => setOpen('rotate')}
          >
            Rotate secret
          </GuardedMenuItem>
        )}
        <RemoveMenuItem permission="hook:remove" scope={scope} onClick={() => setOpen('remove')}>
          Remove hook
        </RemoveMenuItem>
      </MoreMenu>
      {open === 'rotate' && <RotateDialog hook={hook} close={close} />}
      {open === 'remove' && (
        <RemoveDialog
          what="hook"
          name={name}
          remove={() => api.delete(`/hooks/${type}/{hook_id}`, { params: { path: { hook_id: id } } })}
          onRemoved={() => {
            void refetch(queryKeys.environmentHooks(hook.environment_id), queryKeys.hooks(hook.pipeline_id))
            navigate(`/hooks${scopeSearch(scope)}`)
          }}
          close={close}
        >
          {REMOVED[type]}
        </RemoveDialog>
      )}
    </>
  )
}

type ActivateButtonProps = { hook: Hook; scope: PermissionScope | undefined }

/** Pauses a hook, or enables one that a person or Gantry switched off. */
function ActivateButton({ hook: { id, type, active }, scope }: ActivateButtonProps) {
  const api = useApi()
  const refetch = useRefetch()
  const { mutate, isPending } = useMutation({
    mutationFn() {
      const change = { params: { path: { hook_id: id } }, body: { active: !active } }
      return type === 'incoming'
        ? api.put('/hooks/incoming/{hook_id}', change)
        : api.put('/hooks/outgoing/{hook_id}', change)
    },
    onSuccess: (hook) => notify.done(`Hook ${hook.name} ${hook.active ? 'enabled' : 'paused'}.`),
    onError: notify.problem,
    onSettled: () => refetch(queryKeys.hook(type, id)),
  })
  return (
    <GuardedButton
      variant="default"
      permission="hook:edit"
      scope={scope}
      loading={isPending}
      icon={active ? Pause : Play}
      onClick={mutate}
    >
      {active ? 'Pause' : 'Enable'}
    </GuardedButton>
  )
}
