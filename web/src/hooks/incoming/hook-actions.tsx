import { useQueryClient } from '@tanstack/react-query'
import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { queryKeys } from '../../api/queries.ts'
import { useApi } from '../../api/services.ts'
import type { Hook } from '../../api/types.ts'
import { scopeSearch } from '../../scope/scope.ts'
import type { PermissionScope } from '../../session/permissions.ts'
import { GuardedMenuItem, RemoveMenuItem } from '../../ui/guarded-button.tsx'
import { ICON } from '../../ui/icon.ts'
import { MoreMenu } from '../../ui/more-menu.tsx'
import { RemoveDialog } from '../../ui/remove-dialog.tsx'
import { ActivateButton } from '../activate-button.tsx'
import { RotateDialog } from './rotate-dialog.tsx'

type HookActionsProps = {
  hook: Hook
  scope: PermissionScope | undefined
  showSecret(secret: string): void
}

export function HookActions({ hook, scope, showSecret }: HookActionsProps) {
  const api = useApi()
  const queries = useQueryClient()
  const [, navigate] = useLocation()
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
        <RemoveDialog
          what="hook"
          name={hook.name}
          remove={() => api.delete('/hooks/incoming/{hook_id}', { params })}
          onRemoved={() => {
            void queries.invalidateQueries({ queryKey: queryKeys.environmentHooks(hook.environment_id) })
            void queries.invalidateQueries({ queryKey: queryKeys.hooks(hook.pipeline_id) })
            navigate(`/hooks${scopeSearch(scope)}`)
          }}
          close={() => setOpen(undefined)}
        >
          Calls to its URL get 404. Past calls and runs remain.
        </RemoveDialog>
      )}
    </>
  )
}
