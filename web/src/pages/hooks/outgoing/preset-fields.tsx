// What can be set of a hook with a preset.
import { Checkbox, NativeSelect, Stack } from '@mantine/core'
import type { Hook } from '#web/base/api/types.ts'
import { useSourceProvider } from '#web/resources/applications/applications.ts'
import type { OutgoingForm } from './event-fields.tsx'
import { LABELS, type OutgoingValues, PRESET_TEXTS, presetInput } from './hook-values.ts'
import { HookCredentialField, ReceiverField } from './receiver-fields.tsx'
import { takesOwnCredential } from './receiver-values.ts'
import { useReceivers } from './receivers.ts'

type PresetFieldsProps = {
  form: OutgoingForm
  hook: Hook
  organizationId: number
  errorOf(name: keyof OutgoingValues): string | null | undefined
}

/** The credential, and the options as the catalog describes them. */
export function PresetFields({ form, hook, organizationId, errorOf }: PresetFieldsProps) {
  const kind = form.values['settings.preset.kind']
  const receiver = useReceivers().data?.find(({ code }) => code === kind)
  const applicationId = hook.resource_type === 'application' ? hook.resource_id : undefined
  const source = useSourceProvider(applicationId)
  if (!receiver?.credential_provider) return null
  const { credential_id } = form.values
  // The preview knows only the stored credential.
  const isStored = credential_id === String(hook.credential_id ?? '')
  return (
    <>
      <HookCredentialField
        provider={receiver.credential_provider}
        organizationId={organizationId}
        takesOwn={takesOwnCredential(receiver, source)}
        value={credential_id}
        onChange={(id) => form.set('credential_id', id)}
        error={isStored ? errorOf('credential_id') : form.errors.credential_id}
      />
      {receiver.fields.map((field) => {
        const option = PRESET_TEXTS.find((one) => one === field.name)
        if (!option) return null
        const name = presetInput(option)
        const input = { ...form.field(name), error: errorOf(name) }
        return <ReceiverField key={name} field={field} input={input} />
      })}
    </>
  )
}

const PRODUCTION = [
  { value: '', label: 'As GitHub decides by its name' },
  { value: 'true', label: 'Yes' },
  { value: 'false', label: 'No' },
]

/** What the catalog does not ask for. */
export function FlagFields({ form }: { form: OutgoingForm }) {
  if (form.values['settings.preset.kind'] !== 'github_deployment') return null
  const name = presetInput('auto_inactive')
  return (
    <Stack gap="md" maw="24rem">
      <Checkbox
        label={LABELS[name]}
        description="A success makes the earlier deployments of the environment inactive."
        name={name}
        checked={form.values[name] !== 'false'}
        onChange={(event) => form.set(name, event.currentTarget.checked ? '' : 'false')}
      />
      <NativeSelect
        label={LABELS[presetInput('production')]}
        data={PRODUCTION}
        {...form.field(presetInput('production'))}
      />
    </Stack>
  )
}
