import { useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useLocation } from 'wouter'
import { queryKeys } from '../api/queries.ts'
import type { Hook } from '../api/types.ts'
import { scopeSearch } from '../scope/scope.ts'
import type { PermissionScope } from '../session/permissions.ts'
import { RemoveDialog } from '../ui/remove-dialog.tsx'

type RemoveHookDialogProps = {
  hook: Hook
  scope: PermissionScope | undefined
  remove(): Promise<unknown>
  close(): void
  /** What happens then. */
  children: ReactNode
}

/** For both kinds of hooks. Leads to the list. */
export function RemoveHookDialog({ hook, scope, ...rest }: RemoveHookDialogProps) {
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  return (
    <RemoveDialog
      what="hook"
      name={hook.name}
      onRemoved={() => {
        void queries.invalidateQueries({ queryKey: queryKeys.environmentHooks(hook.environment_id) })
        void queries.invalidateQueries({ queryKey: queryKeys.hooks(hook.pipeline_id) })
        navigate(`/hooks${scopeSearch(scope)}`)
      }}
      {...rest}
    />
  )
}
