// A credential of the organization, or a new one that is entered right here.
import { Button, Fieldset, Group, NativeSelect, Stack } from '@mantine/core'
import { useState } from 'react'
import { usePermission } from '#web/base/session/permissions.ts'
import { ErrorAlert } from '#web/base/ui/page.tsx'
import { CredentialFields } from './credential-fields.tsx'
import { useCredentialForm } from './credential-form.ts'
import { newCredential, PROVIDERS, type Provider } from './credential-input.ts'
import { useCredentials } from './credentials.ts'

type Suggestion = { provider: Provider; base_url: string }

type CredentialFieldProps = {
  organizationId: number
  /** The providers that fit. */
  providers: readonly Provider[]
  /** What a new credential starts with; by default the first provider. */
  suggested?: Suggestion
  /** What it means to choose none. */
  none: string
  description?: string
  /** The id as text; empty without one. */
  value: string
  onChange(id: string): void
  error?: string | undefined
  autoFocus?: boolean | undefined
}

const NEW = 'new'

export function CredentialField(props: CredentialFieldProps) {
  const { organizationId, providers, none, description, value, onChange, error, autoFocus } = props
  const suggested = props.suggested ?? { provider: providers[0]!, base_url: '' }
  const { data } = useCredentials(organizationId)
  const { allowed: mayAdd } = usePermission('credential:add', { organization: organizationId })
  const [isAdding, setAdding] = useState(false)
  const fitting = (data ?? []).filter(
    ({ id, provider }) => providers.includes(provider.code as Provider) || String(id) === value,
  )
  // Not everybody who sees what uses a credential sees the credential.
  const isUnknown = value !== '' && !fitting.some(({ id }) => String(id) === value)
  return (
    <Stack gap="xs">
      <NativeSelect
        label="Credential"
        name="credential_id"
        description={description}
        autoFocus={autoFocus}
        value={isAdding ? NEW : value}
        error={error}
        onChange={({ currentTarget }) => {
          setAdding(currentTarget.value === NEW)
          if (currentTarget.value !== NEW) onChange(currentTarget.value)
        }}
        data={[
          { value: '', label: none },
          ...fitting.map(({ id, name, provider, active }) => ({
            value: String(id),
            label: `${name} (${PROVIDERS[provider.code as Provider]?.label ?? provider.code}${active ? '' : ', inactive'})`,
          })),
          ...(isUnknown ? [{ value, label: `Credential ${value}` }] : []),
          ...(mayAdd ? [{ value: NEW, label: 'Add a credential…' }] : []),
        ]}
      />
      {isAdding && (
        <NewCredential
          organizationId={organizationId}
          providers={providers}
          suggested={suggested}
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
  providers: readonly Provider[]
  suggested: Suggestion
  onAdded(id: string): void
  cancel(): void
}

/** Not a form of its own: it stands inside of one. */
function NewCredential({ organizationId, providers, suggested, onAdded, cancel }: NewCredentialProps) {
  const form = useCredentialForm({
    id: `credential-inline-${organizationId}`,
    organizationId,
    initial: { ...newCredential(suggested.provider), base_url: suggested.base_url },
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
      <CredentialFields form={form} providers={providers} />
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
