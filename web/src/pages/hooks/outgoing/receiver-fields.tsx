import { NativeSelect, PasswordInput, TextInput } from '@mantine/core'
import type { Receiver } from '#web/base/api/types.ts'
import { CredentialField } from '#web/resources/credentials/credential-field.tsx'
import { PROVIDERS, type Provider } from '#web/resources/credentials/credential-input.ts'

type ReceiverFieldProps = {
  field: Receiver['fields'][number]
  /** Of the form. */
  input: object
  autoFocus?: boolean
}

/** One field of a receiver, as the catalog describes it. */
export function ReceiverField({
  field: { label, description, required, example, hidden },
  input,
  autoFocus = false,
}: ReceiverFieldProps) {
  const props = {
    label: required ? label : `${label}, optional`,
    description,
    autoComplete: hidden ? 'new-password' : 'off',
    spellCheck: false,
    autoFocus,
    ...input,
  }
  if (!hidden) return <TextInput {...props} placeholder={example ?? undefined} />
  return <PasswordInput {...props} visibilityToggleButtonProps={{ 'aria-label': `Show ${label}` }} />
}

// The credential whose token a hook with a preset sends.
type HookCredentialFieldProps = {
  /** The provider that fits. */
  provider: string
  /** Undefined for people who may not see where the pipeline is. */
  organizationId: number | undefined
  /** No pipeline is chosen yet. */
  isEarly?: boolean
  /** Whether the application's own credential may do. */
  takesOwn: boolean
  autoFocus?: boolean
  value: string
  onChange(id: string): void
  error: string | null | undefined
}

const OWN = 'The application’s own'

export function HookCredentialField(props: HookCredentialFieldProps) {
  const { provider, organizationId, isEarly = false, takesOwn, value, onChange, ...more } = props
  const { label } = PROVIDERS[provider as Provider]
  const error = more.error ?? undefined
  const description = `The hook sends its token to ${label}, on your behalf. This requires the permission credential:run.`
  if (isEarly) return <NativeSelect label="Credential" data={['Choose a pipeline first']} disabled />
  if (organizationId === undefined)
    return (
      <TextInput
        label="Credential ID"
        description={`You cannot see the credentials here. Enter the ID of one of ${label}${takesOwn ? ', or nothing for the application’s own' : ''}.`}
        name="credential_id"
        inputMode="numeric"
        autoFocus={more.autoFocus}
        value={value}
        error={error}
        onChange={(event) => onChange(event.currentTarget.value.replaceAll(/\D/g, ''))}
      />
    )
  return (
    <CredentialField
      organizationId={organizationId}
      providers={[provider as Provider]}
      none={takesOwn ? OWN : 'Select a credential'}
      description={description}
      autoFocus={more.autoFocus}
      value={value}
      error={error}
      onChange={onChange}
    />
  )
}
