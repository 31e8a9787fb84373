import { useMutation } from '@tanstack/react-query'
import { Archive, ArchiveRestore, Pencil } from 'lucide-react'
import { useState } from 'react'
import { useApi } from '#web/base/api/queries.ts'
import type { Environment } from '#web/base/api/types.ts'
import { ConfirmDialog } from '#web/base/ui/confirm-dialog.tsx'
import { GuardedMenuItem, MoreMenu, RemoveMenuItem } from '#web/base/ui/menus.tsx'
import { notify } from '#web/base/ui/notify.ts'
import { RemoveDialog } from '#web/base/ui/remove-dialog.tsx'
import { CopyAs } from '#web/shared/copy-as/copy-as.tsx'
import { EditEnvironmentDialog } from './environment-dialog.tsx'
import { useTreeChanged } from './tree-changed.ts'

type EnvironmentMenuProps = {
  environment: Environment
  scope: { organization: number; project: number }
}

export function EnvironmentMenu({ environment, scope: inProject }: EnvironmentMenuProps) {
  const api = useApi()
  const changed = useTreeChanged()
  const [open, setOpen] = useState<'edit' | 'archive' | 'remove'>()
  const close = () => setOpen(undefined)
  const { id, name, archived_at } = environment
  const scope = { ...inProject, environment: id }
  const unarchive = useMutation({
    mutationFn: () => api.post('/environments/{id}/unarchive', { params: { path: { id } } }),
    async onSuccess() {
      await changed()
      notify.done(`Environment ${name} unarchived.`)
    },
    onError: notify.problem,
  })
  return (
    <>
      <CopyAs isCompact resource={{ type: 'environment', id, name, organizationId: scope.organization }} />
      <MoreMenu label={`Actions for environment ${name}`} isSmall>
        <GuardedMenuItem
          permission="environment:edit"
          scope={scope}
          icon={Pencil}
          onClick={() => setOpen('edit')}
        >
          Edit
        </GuardedMenuItem>
        {archived_at ? (
          <GuardedMenuItem
            permission="environment:edit"
            scope={scope}
            icon={ArchiveRestore}
            onClick={() => unarchive.mutate()}
          >
            Unarchive
          </GuardedMenuItem>
        ) : (
          <GuardedMenuItem
            permission="environment:edit"
            scope={scope}
            icon={Archive}
            onClick={() => setOpen('archive')}
          >
            Archive
          </GuardedMenuItem>
        )}
        <RemoveMenuItem permission="environment:remove" scope={scope} onClick={() => setOpen('remove')} />
      </MoreMenu>
      {open === 'edit' && <EditEnvironmentDialog environment={environment} close={close} />}
      {open === 'archive' && <ArchiveDialog environment={environment} close={close} />}
      {open === 'remove' && (
        <RemoveDialog what="environment" name={name} id={id} onRemoved={() => void changed()} close={close}>
          Past runs remain. This cannot be undone.
        </RemoveDialog>
      )}
    </>
  )
}

function ArchiveDialog({ environment: { id, name }, close }: { environment: Environment; close(): void }) {
  const api = useApi()
  const changed = useTreeChanged()
  return (
    <ConfirmDialog
      title={`Archive ${name}?`}
      button="Archive"
      act={() => api.post('/environments/{id}/archive', { params: { path: { id } } })}
      done={`Environment ${name} archived.`}
      onDone={changed}
      close={close}
    >
      Nothing runs in it until you unarchive it. Everything in it is unchanged.
    </ConfirmDialog>
  )
}
