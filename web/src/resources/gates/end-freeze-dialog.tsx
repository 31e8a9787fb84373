import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { Freeze } from '#web/base/api/types.ts'
import { ConfirmDialog } from '#web/base/ui/confirm-dialog.tsx'

type EndFreezeDialogProps = { freeze: Freeze; close(): void }

/** One that happens once and is in force ends; any other is removed. */
export default function EndFreezeDialog({ freeze, close }: EndFreezeDialogProps) {
  const api = useApi()
  const refetch = useRefetch()
  const { id, name, in_force, weekly } = freeze
  const texts =
    in_force && !weekly
      ? { title: `End ${name}?`, button: 'End freeze', dismiss: 'Keep frozen', done: `${name} is over` }
      : { title: `Remove ${name}?`, button: 'Remove', dismiss: 'Keep it', done: `${name} removed` }
  return (
    <ConfirmDialog
      {...texts}
      act={() => api.delete('/freezes/{id}', { params: { path: { id } } })}
      onDone={() => refetch(queryKeys.freezes())}
      close={close}
    >
      {in_force ? 'The runs that it held start by themselves, within seconds.' : 'It holds no runs now.'}
    </ConfirmDialog>
  )
}
