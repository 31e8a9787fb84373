import {
  Checkbox,
  Group,
  NativeSelect,
  NumberInput,
  PasswordInput,
  Stack,
  TagsInput,
  TextInput,
} from '@mantine/core'
import type { Hook } from '#web/base/api/types.ts'
import { RecordForm } from '#web/base/form/record-form.tsx'
import { type PermissionScope, usePermission } from '#web/base/session/permissions.ts'
import { SectionCard } from '#web/base/ui/parts.tsx'
import { CallConditionsField, VariablesField } from './call-fields.tsx'
import { HOOK_LABELS } from './hook-values.ts'
import { PollFields } from './poll-fields.tsx'
import type { HookForm } from './use-hook-form.ts'

type HookSettingsProps = { hook: Hook; form: HookForm; scope: PermissionScope | undefined }

export function HookSettings({ hook, form, scope }: HookSettingsProps) {
  const { allowed, reason } = usePermission('hook:edit', scope)
  return (
    <SectionCard id="settings" title="Settings">
      <RecordForm
        form={form}
        submit="Save changes"
        labels={HOOK_LABELS}
        reason={allowed ? undefined : reason}
      >
        <TextInput label="Name" maw="32rem" disabled={!allowed} {...form.field('name')} />
        <VariablesField form={form} isDisabled={!allowed} />
        <CallConditionsField form={form} isDisabled={!allowed} />
        {hook.action_type === 'deploy' && <PathsField form={form} isDisabled={!allowed} />}
        {hook.resource_type === 'application' && <PollFields hook={hook} form={form} isDisabled={!allowed} />}
        {allowed && (
          <details>
            <summary>Signature and rate limit</summary>
            <Stack mt="sm">
              <SignatureFields form={form} />
            </Stack>
          </details>
        )}
      </RecordForm>
    </SectionCard>
  )
}

/** Which changed files start a run. Globs contain commas. */
function PathsField({ form, isDisabled }: { form: HookForm; isDisabled?: boolean }) {
  const { paths } = form.values
  const errors = paths.flatMap((path, index) => {
    const error = form.errors[`paths.${index}`]
    return error ? `${path}: ${error}` : []
  })
  return (
    <TagsInput
      label="Only when files change"
      description="Globs such as api/** or !**/*.md, relative to the root of the repository. A call is accepted, and its run is skipped when no such file has changed since what is live. Empty: every run starts."
      placeholder={paths.length === 0 ? 'api/**' : ''}
      maw="42rem"
      splitChars={[]}
      disabled={isDisabled}
      value={paths}
      error={form.errors.paths ?? (errors.join(' ') || null)}
      onChange={(next) => form.set('paths', next)}
    />
  )
}

const SCHEMES = [
  { value: 'body', label: 'Hash of the body (GitHub, Gitea, Bitbucket)' },
  { value: 'timestamp', label: 'Hash with a timestamp (Stripe, Slack, Standard Webhooks)' },
  { value: 'token', label: 'The secret itself (GitLab)' },
]
/** A hook may have a scheme without a label here: it comes with the tile of its sender. */
const schemesWith = (scheme: string) =>
  SCHEMES.some(({ value }) => value === scheme) ? SCHEMES : [...SCHEMES, { value: scheme, label: scheme }]
const ALGORITHMS = ['sha256', 'sha384', 'sha512', 'sha1']

/** How the sender proves who it is. Most hooks have this from their tile. */
function SignatureFields({ form }: { form: HookForm }) {
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
            <NativeSelect label="Signature" data={schemesWith(scheme)} {...form.field('scheme')} />
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
        <NumberInput label="Burst" min={1} hideControls {...form.field('burst')} />
      </Group>
    </Stack>
  )
}
