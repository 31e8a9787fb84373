import { useApi } from '#web/base/api/queries.ts'
import { useRecordForm } from '#web/base/form/use-record-form.ts'
import { type CredentialValues, credentialBody, SECRET_FIELDS } from './credential-input.ts'
import { type Credential, useCredentialsChanged } from './credentials.ts'

type CredentialFormOptions = {
  id: string
  organizationId: number
  initial: CredentialValues
  onSaved(credential: Credential): void
}

/** The form of a new credential. */
export function useCredentialForm({ id, organizationId, initial, onSaved }: CredentialFormOptions) {
  const api = useApi()
  const changed = useCredentialsChanged()
  return useRecordForm<CredentialValues, Credential>({
    id,
    initial,
    secrets: SECRET_FIELDS,
    save: (values) =>
      api.post('/organizations/{id}/credentials', {
        params: { path: { id: organizationId } },
        body: credentialBody(values),
      }),
    async onSaved(saved) {
      await changed()
      onSaved(saved)
    },
  })
}
