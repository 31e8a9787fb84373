import { useApi } from '../api/services.ts'
import { RemoveDialog } from '../ui/remove-dialog.tsx'
import { type Credential, useCredentialsChanged } from './credentials.ts'
import { UsedBy, usesOf } from './used-by.tsx'

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
