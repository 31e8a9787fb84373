import { FormDialog } from '#web/base/form/form-dialog.tsx'
import { useRecordForm } from '#web/base/form/use-record-form.ts'
import { useStored } from '#web/base/form/versioned.ts'
import { notify } from '#web/base/ui/notify.ts'
import { ServerFields } from '#web/resources/servers/server-fields.tsx'
import {
  SERVER_LABELS,
  type ServerRecord,
  type ServerValues,
  serverChange,
  serverValues,
} from '#web/resources/servers/server-input.ts'
import { useInventoryChanged } from '#web/resources/servers/servers.ts'

type EditServerDialogProps = {
  server: ServerRecord
  version: string | null
  organizationId: number
  close(): void
}

export function EditServerDialog({ server, version, organizationId, close }: EditServerDialogProps) {
  const changed = useInventoryChanged()
  const { id } = server
  const form = useRecordForm<ServerValues, ServerRecord>({
    id: `server-${id}`,
    initial: serverValues(server),
    version,
    ...useStored('/servers/{id}', { path: { id } }, serverValues, (values, base) =>
      serverChange(base, values),
    ),
    onSaved({ name }) {
      close()
      notify.done(`Server ${name} saved.`)
      void changed()
    },
  })
  const { project_id: project, environment_id: environment } = server
  const scope = { organization: organizationId, project, environment }
  return (
    <FormDialog
      title={`Edit ${server.name}`}
      form={form}
      submit="Save changes"
      labels={SERVER_LABELS}
      needs={{ permission: 'server:edit', scope }}
      close={close}
    >
      <ServerFields form={form} organizationId={organizationId} />
    </FormDialog>
  )
}
