import { useState } from 'react'
import { FormDialog } from '../ui/form/form-dialog.tsx'
import { notify } from '../ui/notify.ts'
import { CredentialFields } from './credential-fields.tsx'
import { useCredentialForm } from './credential-form.ts'
import { CREDENTIAL_LABELS, newCredential } from './credential-input.ts'
import type { Credential } from './credentials.ts'
import { ShowKeyDialog } from './show-key-dialog.tsx'

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
