import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Pause, Play } from 'lucide-react'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { Hook } from '../api/types.ts'
import type { PermissionScope } from '../session/permissions.ts'
import { GuardedButton } from '../ui/guarded-button.tsx'
import { ICON } from '../ui/icon.ts'
import { notify } from '../ui/notify.ts'

type ActivateButtonProps = { hook: Hook; scope: PermissionScope | undefined }

/** Pauses a hook, or enables one that a person or Gantry switched off. */
export function ActivateButton({ hook: { id, type, active }, scope }: ActivateButtonProps) {
  const api = useApi()
  const queries = useQueryClient()
  const { mutate, isPending } = useMutation({
    mutationFn() {
      const change = { params: { path: { hook_id: id } }, body: { active: !active } }
      return type === 'incoming'
        ? api.put('/hooks/incoming/{hook_id}', change)
        : api.put('/hooks/outgoing/{hook_id}', change)
    },
    onSuccess: (hook) => notify.done(`Hook ${hook.name} ${hook.active ? 'enabled' : 'paused'}.`),
    onError: notify.problem,
    onSettled: () => queries.invalidateQueries({ queryKey: queryKeys.hook(type, id) }),
  })
  return (
    <GuardedButton
      variant="default"
      permission="hook:edit"
      scope={scope}
      loading={isPending}
      leftSection={active ? <Pause {...ICON} /> : <Play {...ICON} />}
      onClick={mutate}
    >
      {active ? 'Pause' : 'Enable'}
    </GuardedButton>
  )
}
