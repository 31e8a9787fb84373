import { Text } from '@mantine/core'
import { useState } from 'react'
import { queryKeys, useApi } from '#web/base/api/queries.ts'
import { FormDialog } from '#web/base/form/form-dialog.tsx'
import { useRecordForm } from '#web/base/form/use-record-form.ts'
import { useStored, useVersioned } from '#web/base/form/versioned.ts'
import { CopyField } from '#web/base/ui/copy-field.tsx'
import { DoneDialog, EditDialog } from '#web/base/ui/dialog.tsx'
import { notify } from '#web/base/ui/notify.ts'
import { RemoveDialog } from '#web/base/ui/remove-dialog.tsx'
import { CredentialFields } from '#web/resources/credentials/credential-fields.tsx'
import { useCredentialForm } from '#web/resources/credentials/credential-form.ts'
import {
  CREDENTIAL_LABELS,
  type CredentialValues,
  credentialChange,
  credentialValues,
  newCredential,
  SECRET_FIELDS,
} from '#web/resources/credentials/credential-input.ts'
import { type Credential, useCredentialsChanged } from '#web/resources/credentials/credentials.ts'
import { UsedBy, usesOf } from './used-by.tsx'

type EditCredentialDialogProps = { credentialId: number; name: string; close(): void }

export function EditCredentialDialog({ credentialId: id, name, close }: EditCredentialDialogProps) {
  const query = useVersioned(queryKeys.credential(id), '/credentials/{id}', { params: { path: { id } } })
  return (
    <EditDialog title={`Edit ${name}`} what="credential" query={query} close={close}>
      {({ record, version }) => <EditForm credential={record} version={version} close={close} />}
    </EditDialog>
  )
}

type EditFormProps = { credential: Credential; version: string | null; close(): void }

function EditForm({ credential, version, close }: EditFormProps) {
  const changed = useCredentialsChanged()
  const { id } = credential
  const form = useRecordForm<CredentialValues, Credential>({
    id: `credential-${id}`,
    initial: credentialValues(credential),
    version,
    secrets: SECRET_FIELDS,
    ...useStored(
      '/credentials/{id}',
      { path: { id } },
      credentialValues,
      (values, base) => credentialChange(base, values),
      ({ stop_hooks }) => ({ stop_hooks }),
    ),
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

type AddCredentialDialogProps = { organizationId: number; close(): void }

/** A new key is followed by its public half: without it, the key is of no use. */
export function AddCredentialDialog({ organizationId, close }: AddCredentialDialogProps) {
  const [added, setAdded] = useState<Credential>()
  const form = useCredentialForm({
    id: `credential-new-${organizationId}`,
    organizationId,
    initial: newCredential('github'),
    onSaved(saved) {
      notify.done(`Credential ${saved.name} added.`)
      if (saved.public_key) setAdded(saved)
      else close()
    },
  })
  if (added) return <ShowKeyDialog credential={added} close={close} />
  return (
    <FormDialog
      title="Add credential"
      form={form}
      submit="Add credential"
      labels={CREDENTIAL_LABELS}
      needs={{ permission: 'credential:add', scope: { organization: organizationId } }}
      close={close}
    >
      <CredentialFields form={form} />
    </FormDialog>
  )
}

export function RemoveCredentialDialog({ credential, close }: { credential: Credential; close(): void }) {
  const api = useApi()
  const changed = useCredentialsChanged()
  return (
    <RemoveDialog
      what="credential"
      name={credential.name}
      remove={() => api.delete('/credentials/{id}', { params: { path: { id: credential.id } } })}
      onRemoved={changed}
      close={close}
    >
      {usesOf(credential).length > 0 ? (
        <>
          It is used by <UsedBy credential={credential} />. Give them another credential first.
        </>
      ) : (
        'Its secret is erased. This cannot be undone.'
      )}
    </RemoveDialog>
  )
}

export function ShowKeyDialog({ credential, close }: { credential: Credential; close(): void }) {
  return (
    <DoneDialog title={`Public key of ${credential.name}`} close={close}>
      <CopyField label="Public key" value={credential.public_key ?? ''} />
      <Text size="sm">
        For a server, add it to <code>~/.ssh/authorized_keys</code> of the account that Gantry logs in as. For
        a repository, add it as a deploy key.
      </Text>
      <Text size="sm" className="dimmed wrap">
        Fingerprint <code>{credential.public_key_fingerprint}</code>
      </Text>
    </DoneDialog>
  )
}
