import { Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { queryKeys } from '../../api/queries.ts'
import { useApi } from '../../api/services.ts'
import type { Hook } from '../../api/types.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { notify } from '../../ui/notify.ts'
import classes from './outgoing.module.css'
import { ejectChanges } from './preset-kind.ts'

type EjectDialogProps = { hook: Hook; kind: string; service: string; close(): void }

export function EjectDialog({ hook, kind, service, close }: EjectDialogProps) {
  const api = useApi()
  const queries = useQueryClient()
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => api.post('/hooks/outgoing/{hook_id}/eject', { params: { path: { hook_id: hook.id } } }),
    async onSuccess({ name }) {
      close()
      notify.done(`${name} is an ordinary hook now.`)
      await queries.invalidateQueries({ queryKey: queryKeys.hook('outgoing', hook.id) })
    },
  })
  return (
    <ConfirmDialog
      title="Make it an ordinary hook?"
      button="Make it ordinary"
      isPending={isPending}
      error={error}
      confirm={mutate}
      close={close}
    >
      <ul className={classes.steps}>
        {ejectChanges(kind, service).map((change) => (
          <li key={change}>{change}</li>
        ))}
      </ul>
      <Text size="sm" mt="sm">
        Unsaved changes on this page are lost. To use the preset again, add another hook.
      </Text>
    </ConfirmDialog>
  )
}
