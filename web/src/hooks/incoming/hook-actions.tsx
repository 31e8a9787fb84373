import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import { useApi } from '../../api/services.ts'
import type { Hook } from '../../api/types.ts'
import type { PermissionScope } from '../../session/permissions.ts'
import { GuardedMenuItem, RemoveMenuItem } from '../../ui/guarded-button.tsx'
import { ICON } from '../../ui/icon.ts'
import { MoreMenu } from '../../ui/more-menu.tsx'
import { ActivateButton } from '../activate-button.tsx'
import { RemoveHookDialog } from '../remove-hook-dialog.tsx'
import { RotateDialog } from './rotate-dialog.tsx'

type HookActionsProps = {
  hook: Hook
  scope: PermissionScope | undefined
  showSecret(secret: string): void
}

export function HookActions({ hook, scope, showSecret }: HookActionsProps) {
  const api = useApi()
  const [open, setOpen] = useState<'rotate' | 'remove'>()
  const params = { path: { hook_id: hook.id } }
  return (
    <>
      <ActivateButton hook={hook} scope={scope} />
      <MoreMenu>
        {hook.requires_secret && (
          <GuardedMenuItem
            permission="hook:edit"
            scope={scope}
            leftSection={<KeyRound {...ICON} />}
            onClick={() => setOpen('rotate')}
          >
            Rotate secret
          </GuardedMenuItem>
        )}
        <RemoveMenuItem permission="hook:remove" scope={scope} onClick={() => setOpen('remove')}>
          Remove hook
        </RemoveMenuItem>
      </MoreMenu>
      {open === 'rotate' && (
        <RotateDialog hook={hook} showSecret={showSecret} close={() => setOpen(undefined)} />
      )}
      {open === 'remove' && (
        <RemoveHookDialog
          hook={hook}
          scope={scope}
          remove={() => api.delete('/hooks/incoming/{hook_id}', { params })}
          close={() => setOpen(undefined)}
        >
          Calls to its URL get 404. Past calls and runs remain.
        </RemoveHookDialog>
      )}
    </>
  )
}
