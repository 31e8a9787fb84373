import { Group } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { KeyRound, Pause, Play, RotateCw, Send, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { queryKeys } from '../../api/queries.ts'
import { useApi } from '../../api/services.ts'
import type { Hook } from '../../api/types.ts'
import { CopyAs } from '../../copy-as/copy-as.tsx'
import { scopeSearch } from '../../scope/scope.ts'
import type { PermissionScope } from '../../session/permissions.ts'
import { GuardedButton, GuardedMenuItem } from '../../ui/guarded-button.tsx'
import { MoreMenu } from '../../ui/more-menu.tsx'
import { notify } from '../../ui/notify.ts'
import { RemoveDialog } from '../../ui/remove-dialog.tsx'
import { RedeliverDialog } from './redeliver-dialog.tsx'
import { RotateDialog } from './rotate-dialog.tsx'
import { SendTestDialog, useSendTest } from './send-test-dialog.tsx'

const ICON = { size: 16, strokeWidth: 1.75, 'aria-hidden': true } as const

type HookActionsProps = { hook: Hook; scope: PermissionScope | undefined }

export function HookActions({ hook, scope }: HookActionsProps) {
  const api = useApi()
  const [, navigate] = useLocation()
  const [open, setOpen] = useState<'redeliver' | 'rotate' | 'remove'>()
  const test = useSendTest(hook.id)
  const close = () => setOpen(undefined)
  return (
    <Group gap="xs">
      <GuardedButton
        permission="hook:edit"
        scope={scope}
        loading={test.isPending}
        leftSection={<Send {...ICON} />}
        onClick={() => test.mutate()}
      >
        Send test
      </GuardedButton>
      <ActivateButton hook={hook} scope={scope} />
      {scope && (
        <CopyAs
          resource={{
            type: 'outgoing_hook',
            id: hook.id,
            name: hook.name,
            organizationId: scope.organization,
          }}
        />
      )}
      <MoreMenu>
        <GuardedMenuItem
          permission="hook:edit"
          scope={scope}
          leftSection={<RotateCw {...ICON} />}
          onClick={() => setOpen('redeliver')}
        >
          Redeliver failed
        </GuardedMenuItem>
        <GuardedMenuItem
          permission="hook:edit"
          scope={scope}
          leftSection={<KeyRound {...ICON} />}
          onClick={() => setOpen('rotate')}
        >
          Rotate secret
        </GuardedMenuItem>
        <GuardedMenuItem
          permission="hook:remove"
          scope={scope}
          color="red"
          leftSection={<Trash2 {...ICON} />}
          onClick={() => setOpen('remove')}
        >
          Remove hook
        </GuardedMenuItem>
      </MoreMenu>
      {!test.isIdle && <SendTestDialog test={test} close={test.reset} />}
      {open === 'redeliver' && <RedeliverDialog hook={hook} close={close} />}
      {open === 'rotate' && <RotateDialog hook={hook} close={close} />}
      {open === 'remove' && (
        <RemoveDialog
          what="hook"
          name={hook.name}
          remove={() => api.delete('/hooks/outgoing/{hook_id}', { params: { path: { hook_id: hook.id } } })}
          onRemoved={() => navigate(`/hooks${listSearch(scope)}`)}
          close={close}
        >
          Nothing is sent anymore. Past deliveries remain.
        </RemoveDialog>
      )}
    </Group>
  )
}

/** Pauses a hook, or enables one that a person or Gantry switched off. */
export function ActivateButton({ hook, scope }: HookActionsProps) {
  const api = useApi()
  const queries = useQueryClient()
  const { mutate, isPending } = useMutation({
    mutationFn: (active: boolean) =>
      api.put('/hooks/outgoing/{hook_id}', { params: { path: { hook_id: hook.id } }, body: { active } }),
    onSuccess: ({ name, active }) => notify.done(`Hook ${name} ${active ? 'enabled' : 'paused'}.`),
    onError: notify.problem,
    onSettled: () => queries.invalidateQueries({ queryKey: queryKeys.hook('outgoing', hook.id) }),
  })
  return (
    <GuardedButton
      variant="default"
      permission="hook:edit"
      scope={scope}
      loading={isPending}
      leftSection={hook.active ? <Pause {...ICON} /> : <Play {...ICON} />}
      onClick={() => mutate(!hook.active)}
    >
      {hook.active ? 'Pause' : 'Enable'}
    </GuardedButton>
  )
}

function listSearch(scope: PermissionScope | undefined): string {
  if (!scope) return ''
  const { organization, project, environment } = scope
  return scopeSearch({
    organization,
    ...(project && { project }),
    ...(environment && { environment }),
  })
}
