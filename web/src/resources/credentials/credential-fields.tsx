// The inputs of a credential: only those that its provider has.
import '@mantine/core/styles/Switch.css'
import {
  Checkbox,
  NativeSelect,
  PasswordInput,
  SegmentedControl,
  Stack,
  Switch,
  TagsInput,
  Textarea,
  TextInput,
} from '@mantine/core'
import type { RecordForm } from '#web/base/form/use-record-form.ts'
import { MoreOptions } from '#web/base/ui/more-options.tsx'
import { type CredentialValues, isChat, PROVIDERS, type Provider, withProvider } from './credential-input.ts'

type CredentialFieldsProps = {
  form: RecordForm<CredentialValues>
  /** Its provider cannot be changed, and its secret is replaced only when one is typed. */
  isStored?: boolean
  /** Only these can be chosen. */
  providers?: readonly Provider[]
}

const ALL = Object.keys(PROVIDERS) as Provider[]

export function CredentialFields({ form, isStored = false, providers = ALL }: CredentialFieldsProps) {
  const { values } = form
  const { url, hasUsername, hasStatuses } = PROVIDERS[values.provider_code]
  const choose = (code: Provider) => {
    const after = withProvider(values, code)
    form.set('provider_code', after.provider_code)
    form.set('name', after.name)
  }
  return (
    <Stack gap="md">
      {!isStored && providers.length > 1 && (
        <NativeSelect
          label="Provider"
          data-autofocus
          data={providers.map((value) => ({ value, label: PROVIDERS[value].label }))}
          {...form.field('provider_code')}
          onChange={(event) => choose(event.currentTarget.value as Provider)}
        />
      )}
      <TextInput label="Name" {...form.field('name')} />
      {url === 'required' && <UrlField form={form} />}
      {hasUsername && <TextInput label="Username (optional)" {...form.field('username')} />}
      {values.provider_code === 'ssh' ? (
        <PrivateKeyField form={form} isStored={isStored} />
      ) : (
        <TokenField form={form} isStored={isStored} />
      )}
      {values.provider_code !== 'ssh' && (
        <MoreOptions isOpen={MORE.some((name) => Boolean(form.errors[name]))}>
          {url === 'optional' && <UrlField form={form} />}
          {hasStatuses && <HostsField form={form} />}
          <TargetsField form={form} isStored={isStored} />
        </MoreOptions>
      )}
      {isStored && (
        <Switch
          label="Active"
          description="An inactive credential cannot be used by runs and hooks."
          {...form.field('active', 'checkbox')}
        />
      )}
    </Stack>
  )
}

/** The fields below More options. */
const MORE = ['base_url', 'ssh_hosts', 'token_targets']

type FieldProps = { form: RecordForm<CredentialValues> }

function UrlField({ form }: FieldProps) {
  const { url, label } = PROVIDERS[form.values.provider_code]
  return (
    <TextInput
      label={url === 'required' ? 'URL' : 'URL (optional)'}
      description={
        url === 'required'
          ? 'Where it is: https://git.example.com. The token is sent only there.'
          : isChat(form.values.provider_code)
            ? `Only if you reach ${label} through a proxy. The token is sent only there.`
            : `If you host ${label} yourself: https://git.example.com. The token is sent only there.`
      }
      type="url"
      {...form.field('base_url')}
    />
  )
}

function HostsField({ form }: FieldProps) {
  const { ssh_hosts: hosts } = form.values
  // The API names a host by its place in the list.
  const error = form.errors.ssh_hosts?.replace(/^(\d+):/, (_, index) => `${hosts[Number(index)]}:`)
  return (
    <TagsInput
      label="Other hosts of its repositories (optional)"
      description="Such as the SSH host of the service. Hooks report on commits only if the repository is at the URL above or at one of these hosts."
      placeholder={hosts.length === 0 ? 'ssh.example.com' : undefined}
      splitChars={[',', ' ']}
      value={hosts}
      onChange={(next) => form.set('ssh_hosts', next)}
      error={error}
    />
  )
}

function TargetsField({ form, isStored }: FieldProps & { isStored: boolean }) {
  return (
    <Stack gap="xs">
      <NativeSelect
        label="Hooks may send it"
        description="Presets, and templates with credential.access_token, send the token to the provider only."
        data={[
          { value: 'anywhere', label: 'To any allowed address' },
          { value: 'provider', label: 'To the provider only' },
        ]}
        {...form.field('token_targets')}
      />
      {isStored && form.values.token_targets === 'provider' && form.errors.token_targets && (
        <Checkbox label="Stop these hooks" {...form.field('stop_hooks', 'checkbox')} />
      )}
    </Stack>
  )
}

function TokenField({ form, isStored }: FieldProps & { isStored: boolean }) {
  return (
    <PasswordInput
      label={isStored ? 'New token (optional)' : 'Token'}
      description={
        isStored
          ? 'Leave it empty to keep the current one.'
          : (PROVIDERS[form.values.provider_code].tokenHint ??
            'A token or password. Leave it empty for public repositories.')
      }
      {...form.field('token')}
    />
  )
}

function PrivateKeyField({ form, isStored }: FieldProps & { isStored: boolean }) {
  const { generate } = form.values
  return (
    <Stack gap="xs">
      <SegmentedControl
        fullWidth
        aria-label="Private key"
        transitionDuration={0}
        value={generate ? 'generate' : 'paste'}
        onChange={(source) => form.set('generate', source === 'generate')}
        data={[
          { value: 'generate', label: isStored ? 'Generate a new key' : 'Generate a key' },
          { value: 'paste', label: isStored ? 'Keep or replace the key' : 'Use an existing key' },
        ]}
      />
      {!generate && (
        <Textarea
          label={isStored ? 'New private key (optional)' : 'Private key'}
          description={`In OpenSSH or PEM format, without a passphrase.${isStored ? ' Leave it empty to keep the current one.' : ''}`}
          rows={5}
          {...form.field('private_key')}
        />
      )}
    </Stack>
  )
}
