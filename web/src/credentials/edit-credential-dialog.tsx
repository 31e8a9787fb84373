import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import { FormDialog } from '../ui/form/form-dialog.tsx'
import { useRecordForm } from '../ui/form/use-record-form.ts'
import { useVersioned } from '../ui/form/versioned.ts'
import { notify } from '../ui/notify.ts'
import { Loaded } from '../ui/page.tsx'
import { Dialog } from '../ui/parts.tsx'
import { CredentialFields } from './credential-fields.tsx'
import {
  CREDENTIAL_LABELS,
  type CredentialValues,
  credentialChange,
  credentialValues,
  SECRET_FIELDS,
} from './credential-input.ts'
import { type Credential, useCredentialsChanged } from './credentials.ts'

type EditCredentialDialogProps = { credentialId: number; name: string; close(): void }

export function EditCredentialDialog({ credentialId: id, name, close }: EditCredentialDialogProps) {
  const query = useVersioned(queryKeys.credential(id), '/credentials/{id}', { params: { path: { id } } })
  if (!query.data)
    return (
      <Dialog title={`Edit ${name}`} size="lg" close={close}>
        <Loaded query={query} what="credential">
          {() => null}
        </Loaded>
      </Dialog>
    )
  return <EditForm credential={query.data.record} version={query.data.version} close={close} />
}

type EditFormProps = { credential: Credential; version: string | null; close(): void }

function EditForm({ credential, version, close }: EditFormProps) {
  const api = useApi()
  const changed = useCredentialsChanged()
  const { id } = credential
  const form = useRecordForm<CredentialValues, Credential>({
    id: `credential-${id}`,
    initial: credentialValues(credential),
    version,
    secrets: SECRET_FIELDS,
    save: (values, ifMatch, base) =>
      api.put('/credentials/{id}', {
        params: { path: { id }, query: { stop_hooks: values.stop_hooks }, header: { 'If-Match': ifMatch } },
        body: credentialChange(base, values),
      }),
    async reload() {
      const { data, etag } = await api.getVersioned('/credentials/{id}', { params: { path: { id } } })
      return { values: credentialValues(data), version: etag }
    },
    async onSaved({ name }) {
      close()
      notify.done(`Credential ${name} saved.`)
      await changed()
    },
  })
  return (
    <FormDialog
      title={`Edit ${credential.name}`}
      form={form}
      submit="Save changes"
      labels={CREDENTIAL_LABELS}
      needs={{ permission: 'credential:edit', scope: { organization: credential.organization.id } }}
      close={close}
    >
      <CredentialFields form={form} isStored />
    </FormDialog>
  )
}
