import { Checkbox, Group, NativeSelect, NumberInput, Stack, TagsInput } from '@mantine/core'
import type { RecordForm } from '#web/base/form/use-record-form.ts'
import { CHECKS_LABELS, WITHOUT_CHECKS } from './checks-input.ts'
import type { SettingsValues } from './settings-input.ts'

/** Which checks at the repository host a deploy waits for. */
export function ChecksFields({ form }: { form: RecordForm<SettingsValues> }) {
  return (
    <Stack gap="sm">
      <Checkbox
        label={CHECKS_LABELS.waits_for_checks}
        description="Deploys wait until the checks of their commit are green at the host of the repository."
        {...form.field('waits_for_checks', 'checkbox')}
      />
      {form.values.waits_for_checks && (
        <>
          <NamesField
            form={form}
            name="check_names"
            description="Names or globs, such as build or test / *. A name without a wildcard must be present. Empty: all checks."
          />
          <NamesField form={form} name="check_ignore" description="Names or globs that do not count." />
          <Group gap="md" align="start" grow>
            <NumberInput
              label={CHECKS_LABELS.check_timeout}
              description="Then the run fails."
              min={1}
              max={1_440}
              clampBehavior="none"
              {...form.field('check_timeout')}
            />
            <NumberInput
              label={CHECKS_LABELS.check_settle}
              description="Without a change, once all are green."
              min={0}
              max={3_600}
              clampBehavior="none"
              {...form.field('check_settle')}
            />
          </Group>
          <NativeSelect
            label={CHECKS_LABELS.without_checks}
            data={Object.entries(WITHOUT_CHECKS).map(([value, label]) => ({ value, label }))}
            {...form.field('without_checks')}
          />
        </>
      )}
    </Stack>
  )
}

type NamesFieldProps = {
  form: RecordForm<SettingsValues>
  name: 'check_names' | 'check_ignore'
  description: string
}

/** Names of checks contain commas. */
function NamesField({ form, name, description }: NamesFieldProps) {
  return (
    <TagsInput
      label={CHECKS_LABELS[name]}
      description={description}
      splitChars={[]}
      value={form.values[name]}
      error={form.errors[name] ?? null}
      onChange={(next) => form.set(name, next)}
    />
  )
}
