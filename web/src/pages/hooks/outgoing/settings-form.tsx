// The form of an outgoing hook, with what it would send beside it.
import { Checkbox, NativeSelect, NumberInput, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { OPERATIONS } from '#client/index.ts'
import { queryKeys, useRefetch } from '#web/base/api/queries.ts'
import type { Hook } from '#web/base/api/types.ts'
import { RecordForm } from '#web/base/form/record-form.tsx'
import { useRecordForm } from '#web/base/form/use-record-form.ts'
import { useStored } from '#web/base/form/versioned.ts'
import type { PermissionScope } from '#web/base/session/permissions.ts'
import { notify } from '#web/base/ui/notify.ts'
import { CredentialField } from '#web/resources/credentials/credential-field.tsx'
import { TOKEN_PROVIDERS } from '#web/resources/credentials/credential-input.ts'
import { operationsOf, type Resource } from '#web/resources/pipelines/new-pipeline.ts'
import { CodeEditor } from '#web/shared/editor/code-editor.tsx'
import { EventConditionsField, EventsField, HeadersField, type OutgoingForm } from './event-fields.tsx'
import {
  changeOf,
  hasOwnRequests,
  LABELS,
  METHODS,
  type OutgoingValues,
  validateValues,
  valuesOf,
} from './hook-values.ts'
import { LivePreview } from './live-preview.tsx'
import classes from './outgoing.module.css'
import { FlagFields, PresetFields } from './preset-fields.tsx'
import { previewErrors } from './preview-errors.ts'
import { TEMPLATE_NAMES } from './template-names.ts'
import { isConflict, usePreview } from './use-preview.ts'

const MARKED = 'Fix what the form marks to see a preview.'

type SettingsFormProps = { hook: Hook; version: string | null; scope: PermissionScope }

export function SettingsForm({ hook, version, scope }: SettingsFormProps) {
  const [actionId, setActionId] = useState<number>()
  const form = useOutgoingForm(hook, version)
  const preview = usePreview(hook.id, form.values, actionId)
  const body = form.values['settings.request_body']
  const { byInput, rest } = previewErrors(preview.error, Object.keys(form.values), body)
  const hasPreset = form.values['settings.preset.kind'] !== ''
  const hasMore = valuesOf(hook)['settings.more'] !== ''
  const isWaiting = isConflict(preview.error)
  const errorOf = (name: keyof OutgoingValues) => form.errors[name] ?? byInput[name]
  return (
    <div className={classes.settings}>
      <RecordForm form={form} submit="Save changes" labels={LABELS}>
        <TextInput label="Name" maxLength={60} {...form.field('name')} />
        {hasPreset && (
          <PresetFields form={form} hook={hook} organizationId={scope.organization} errorOf={errorOf} />
        )}
        {!hasOwnRequests(form.values) && (
          <>
            <TextInput
              label="URL"
              description="May contain templates after the host."
              {...form.field('target_url')}
              error={errorOf('target_url')}
            />
            <CodeEditor
              label="Body template"
              description="JSON. Strings may contain {{ names }}. Leave empty to send the whole event and run."
              language="liquid-json"
              minLines={8}
              completions={TEMPLATE_NAMES}
              value={body}
              onChange={(text) => form.set('settings.request_body', text)}
              error={errorOf('settings.request_body')}
            />
          </>
        )}
        {hasMore && (
          <CodeEditor
            label={LABELS['settings.more']!}
            description="JSON: what is captured from answers, and the requests that create and update."
            language="liquid-json"
            minLines={8}
            completions={TEMPLATE_NAMES}
            value={form.values['settings.more']}
            onChange={(text) => form.set('settings.more', text)}
            error={errorOf('settings.more')}
          />
        )}
        <EventsField form={form} />
        <details>
          <summary>More options</summary>
          <div className={classes.options}>
            {!hasOwnRequests(form.values) && (
              <HeadersField form={form} error={errorOf('settings.request_headers')} />
            )}
            <EventConditionsField form={form} />
            {hasPreset ? <FlagFields form={form} /> : <TokenField form={form} hook={hook} scope={scope} />}
            <MoreFields form={form} hook={hook} />
          </div>
        </details>
      </RecordForm>
      <LivePreview
        hook={hook}
        preview={preview.error ? undefined : preview.data}
        problem={isWaiting ? null : (rest ?? (Object.keys(byInput).length > 0 ? MARKED : null))}
        isWaiting={isWaiting}
        isStale={preview.isPlaceholderData}
        actionId={actionId}
        choose={setActionId}
      />
    </div>
  )
}

/** Templates may use the token of another credential than the application's. */
function TokenField({ form, hook, scope }: { form: OutgoingForm; hook: Hook; scope: PermissionScope }) {
  return (
    <CredentialField
      organizationId={scope.organization}
      providers={TOKEN_PROVIDERS}
      none={hook.resource_type === 'application' ? 'The application’s own' : 'None'}
      description="Its token is credential.access_token in templates."
      value={form.values.credential_id}
      error={form.errors.credential_id ?? undefined}
      onChange={(id) => form.set('credential_id', id)}
    />
  )
}

function MoreFields({ form, hook }: { form: OutgoingForm; hook: Hook }) {
  return (
    <Stack gap="md" maw="24rem">
      {!hasOwnRequests(form.values) && (
        <NativeSelect label="Method" data={[...METHODS]} {...form.field('settings.request_method')} />
      )}
      <NumberInput label="Timeout in seconds" min={1} max={30} {...form.field('settings.timeout_seconds')} />
      <NativeSelect
        label="Runs"
        data={[
          { value: 'pipeline', label: 'Of this pipeline' },
          { value: 'resource', label: 'Of all pipelines of its application or server' },
        ]}
        {...form.field('trigger_when.scope')}
      />
      {(form.values['trigger_when.scope'] === 'resource' || form.errors.action_type) && (
        <NativeSelect
          label="Type of runs"
          data={operationsOf(hook.resource_type as Resource['type']).map((value) => ({
            value,
            label: OPERATIONS[value],
          }))}
          {...form.field('action_type')}
        />
      )}
      <Checkbox
        label="Verify the certificate"
        description="Turn it off only for receivers with a self-signed certificate."
        {...form.field('verify_ssl', 'checkbox')}
      />
    </Stack>
  )
}

function useOutgoingForm(hook: Hook, version: string | null): OutgoingForm {
  const refetch = useRefetch()
  const initial = valuesOf(hook)
  return useRecordForm<OutgoingValues, Hook>({
    // Once it is ejected, a draft of its options means nothing.
    id: initial['settings.preset.kind'] === '' ? `hook-${hook.id}` : `hook-preset-${hook.id}`,
    initial,
    version,
    // Often keys of the receiver.
    secrets: ['target_url', 'settings.request_headers', 'settings.more'],
    validate: (values) => validateValues(initial, values, hook.settings),
    ...useStored('/hooks/outgoing/{hook_id}', { path: { hook_id: hook.id } }, valuesOf, (values, base) =>
      changeOf(base, values),
    ),
    onSaved(saved) {
      notify.done(`Hook ${saved.name} saved.`)
      void refetch(queryKeys.hook('outgoing', hook.id))
    },
  })
}
