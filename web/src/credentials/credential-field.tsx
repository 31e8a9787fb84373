// The credential of a repository: one of the organization's, or a new one that is entered right here.
import { Button, Fieldset, Group, NativeSelect, Stack } from '@mantine/core'
import { useState } from 'react'
import { usePermission } from '../session/permissions.ts'
import { ErrorAlert } from '../ui/page.tsx'
import { CredentialFields } from './credential-fields.tsx'
import { useCredentialForm } from './credential-form.ts'
import { newCredential, PROVIDERS, type Provider, providerOf } from './credential-input.ts'
import { useCredentials } from './credentials.ts'

type CredentialFieldProps = {
  organizationId: number
  /** Suggests the provider of a new credential. */
  repository: string
  /** The id as text; empty without one. */
  value: string
  onChange(id: string): void
  error?: string | undefined
}

const NEW = 'new'

export function CredentialField(props: CredentialFieldProps) {
  const { organizationId, repository, value, onChange, error } = props
  const { data } = useCredentials(organizationId)
  const { allowed: mayAdd } = usePermission('credential:add', { organization: organizationId })
  const [isAdding, setAdding] = useState(false)
  return (
    <Stack gap="xs">
      <NativeSelect
        label="Credential"
        name="credential_id"
        value={isAdding ? NEW : value}
        error={error}
        onChange={({ currentTarget }) => {
          setAdding(currentTarget.value === NEW)
          if (currentTarget.value !== NEW) onChange(currentTarget.value)
        }}
        data={[
          { value: '', label: 'None: the repository is public' },
          ...(data ?? []).map(({ id, name, provider, active }) => ({
            value: String(id),
            label: `${name} (${PROVIDERS[provider.code as Provider]?.label ?? provider.code}${active ? '' : ', inactive'})`,
          })),
          ...(mayAdd ? [{ value: NEW, label: 'Add a credential…' }] : []),
        ]}
      />
      {isAdding && (
        <NewCredential
          organizationId={organizationId}
          repository={repository}
          onAdded={(id) => {
            setAdding(false)
            onChange(id)
          }}
          cancel={() => setAdding(false)}
        />
      )}
    </Stack>
  )
}

type NewCredentialProps = {
  organizationId: number
  repository: string
  onAdded(id: string): void
  cancel(): void
}

/** Not a form of its own: it stands inside of one. */
function NewCredential({ organizationId, repository, onAdded, cancel }: NewCredentialProps) {
  const guess = providerOf(repository)
  const form = useCredentialForm({
    id: `credential-inline-${organizationId}`,
    organizationId,
    initial: { ...newCredential(guess.provider), base_url: guess.base_url },
    onSaved: ({ id }) => onAdded(String(id)),
  })
  return (
    <Fieldset
      legend="New credential"
      onKeyDown={(event) => {
        // The form around it would be sent without the credential.
        if (event.key !== 'Enter' || !(event.target instanceof HTMLInputElement)) return
        event.preventDefault()
        form.submit()
      }}
    >
      <CredentialFields form={form} />
      {form.error && <ErrorAlert error={form.error} />}
      <Group justify="flex-end" gap="sm" mt="md">
        <Button
          variant="default"
          onClick={() => {
            form.discard()
            cancel()
          }}
        >
          Cancel
        </Button>
        <Button loading={form.isSaving} onClick={form.submit}>
          Save credential
        </Button>
      </Group>
    </Fieldset>
  )
}
