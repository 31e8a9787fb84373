import { useLocation } from 'wouter'
import { useApi } from '../api/queries.ts'
import { AddDialog, type ChosenEnvironment } from '../scope/add-dialog.tsx'
import { FormDialog } from '../ui/form/form-dialog.tsx'
import { useRecordForm } from '../ui/form/use-record-form.ts'
import { notify } from '../ui/notify.ts'
import { ServerFields } from './server-fields.tsx'
import {
  NEW_SERVER,
  SERVER_LABELS,
  type ServerRecord,
  type ServerValues,
  serverBody,
} from './server-input.ts'
import { useInventoryChanged } from './servers.ts'

type AddServerDialogProps = { environmentId?: number | undefined; close(): void }

export function AddServerDialog({ environmentId, close }: AddServerDialogProps) {
  return (
    <AddDialog type="server" environmentId={environmentId} close={close}>
      {(chosen) => <AddServerForm {...chosen} close={close} />}
    </AddDialog>
  )
}

type AddServerFormProps = ChosenEnvironment & { close(): void }

function AddServerForm({ choice, reason, environmentField, close }: AddServerFormProps) {
  const api = useApi()
  const changed = useInventoryChanged()
  const [, navigate] = useLocation()
  const form = useRecordForm<ServerValues, ServerRecord>({
    id: 'server-new',
    initial: NEW_SERVER,
    save: (values) =>
      api.post('/environments/{id}/servers', {
        params: { path: { id: choice.environment } },
        body: serverBody(values),
      }),
    onSaved({ id, name }) {
      close()
      notify.done(`Server ${name} added.`)
      void changed()
      // Its page tests the connection at once.
      navigate(`/servers/${id}`, { state: { isNew: true } })
    },
  })
  return (
    <FormDialog
      title="Add server"
      form={form}
      submit="Add server"
      labels={SERVER_LABELS}
      reason={reason}
      close={close}
    >
      {/* Credentials belong to one organization. */}
      {environmentField(() => form.set('credential_id', ''))}
      <ServerFields form={form} organizationId={choice.organization} isNew />
    </FormDialog>
  )
}
