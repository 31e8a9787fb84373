// The credential whose token a hook with a preset sends.
import { NativeSelect, TextInput } from '@mantine/core'
import { CredentialField } from '../../credentials/credential-field.tsx'
import { PROVIDERS, type Provider } from '../../credentials/credential-input.ts'

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
