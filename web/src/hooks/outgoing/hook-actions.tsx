import { KeyRound, RotateCw, Send } from 'lucide-react'
import { useState } from 'react'
import { useApi } from '../../api/services.ts'
import type { Hook } from '../../api/types.ts'
import type { PermissionScope } from '../../session/permissions.ts'
import { GuardedButton, GuardedMenuItem, RemoveMenuItem } from '../../ui/guarded-button.tsx'
import { ICON } from '../../ui/icon.ts'
import { MoreMenu } from '../../ui/more-menu.tsx'
import { ActivateButton } from '../activate-button.tsx'
import { RemoveHookDialog } from '../remove-hook-dialog.tsx'
import { RedeliverDialog } from './redeliver-dialog.tsx'
import { RotateDialog } from './rotate-dialog.tsx'
import { SendTestDialog, useSendTest } from './send-test-dialog.tsx'

type HookActionsProps = { hook: Hook; scope: PermissionScope | undefined }

export function HookActions({ hook, scope }: HookActionsProps) {
  const api = useApi()
  const [open, setOpen] = useState<'redeliver' | 'rotate' | 'remove'>()
  const test = useSendTest(hook.id)
  const close = () => setOpen(undefined)
  return (
    <>
      <ActivateButton hook={hook} scope={scope} />
      <GuardedButton
        permission="hook:edit"
        scope={scope}
        loading={test.isPending}
        leftSection={<Send {...ICON} />}
        onClick={() => test.mutate()}
      >
        Send test
      </GuardedButton>
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
        <RemoveMenuItem permission="hook:remove" scope={scope} onClick={() => setOpen('remove')}>
          Remove hook
        </RemoveMenuItem>
      </MoreMenu>
      {!test.isIdle && <SendTestDialog test={test} close={test.reset} />}
      {open === 'redeliver' && <RedeliverDialog hook={hook} close={close} />}
      {open === 'rotate' && <RotateDialog hook={hook} close={close} />}
      {open === 'remove' && (
        <RemoveHookDialog
          hook={hook}
          scope={scope}
          remove={() => api.delete('/hooks/outgoing/{hook_id}', { params: { path: { hook_id: hook.id } } })}
          close={close}
        >
          Nothing is sent anymore. Past deliveries remain.
        </RemoveHookDialog>
      )}
    </>
  )
}
