import { Checkbox, Group, NativeSelect, NumberInput, PasswordInput, Stack, TextInput } from '@mantine/core'
import type { HookForm } from './use-hook-form.ts'

const SCHEMES = [
  { value: 'body', label: 'Hash of the body (GitHub, Gitea, Bitbucket)' },
  { value: 'timestamp', label: 'Hash with a timestamp (Stripe, Slack, Standard Webhooks)' },
  { value: 'token', label: 'The secret itself (GitLab)' },
]
const ALGORITHMS = ['sha256', 'sha384', 'sha512', 'sha1']

/** How the sender proves who it is. Most hooks have this from their tile. */
export function SignatureFields({ form }: { form: HookForm }) {
  const { requires_secret, scheme } = form.values
  return (
    <Stack gap="sm">
      <Checkbox
        label="Calls must be signed"
        description="Without a signature, anyone who knows the URL can start the pipeline."
        {...form.field('requires_secret', 'checkbox')}
      />
      {requires_secret && (
        <>
          <Group grow align="start" gap="sm">
            <NativeSelect label="Signature" data={SCHEMES} {...form.field('scheme')} />
            <TextInput
              label="Signature header"
              placeholder="X-Hub-Signature-256"
              {...form.field('secret_header_name')}
            />
          </Group>
          {scheme !== 'token' && (
            <NativeSelect label="Hash function" data={ALGORITHMS} {...form.field('secret_algorithm')} />
          )}
          {scheme === 'timestamp' && (
            <Group grow align="start" gap="sm">
              <TextInput label="Signed text" placeholder="{timestamp}.{body}" {...form.field('template')} />
              <TextInput label="Timestamp header, optional" {...form.field('timestamp_header')} />
              <TextInput label="ID header, optional" {...form.field('id_header')} />
            </Group>
          )}
          <PasswordInput
            label="New secret, optional"
            description="For senders that generate their own. Leave empty to keep the current secret."
            autoComplete="new-password"
            {...form.field('secret')}
          />
        </>
      )}
      <Group grow align="start" gap="sm">
        <NumberInput label="Calls per second" min={1} hideControls {...form.field('per_second')} />
        <NumberInput label="Calls at once" min={1} hideControls {...form.field('burst')} />
      </Group>
    </Stack>
  )
}
