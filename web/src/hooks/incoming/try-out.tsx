// The unsaved hook against one call: what it would do, and the form that changes it.
import { Text } from '@mantine/core'
import type { Hook } from '../../api/types.ts'
import { RecordForm } from '../../ui/form/record-form.tsx'
import { CallConditionsField } from './conditions-field.tsx'
import { DryRunResult, type DryRunSource } from './dry-run-result.tsx'
import { HOOK_LABELS } from './hook-values.ts'
import type { HookForm } from './use-hook-form.ts'
import { VariablesField } from './variables-field.tsx'

type TryOutProps = { what: 'call' | 'payload'; hook: Hook; form: HookForm; source: DryRunSource }

export function TryOut({ what, hook, form, source }: TryOutProps) {
  return (
    <section aria-labelledby="try-out">
      <Text component="h3" id="try-out" fw={600} mb="xs">
        {`This ${what}, with ${form.isDirty ? 'your changes' : 'the hook as it is now'}`}
      </Text>
      <DryRunResult hook={hook} values={form.values} source={source} />
      <RecordForm form={form} submit="Save changes" labels={HOOK_LABELS}>
        <VariablesField form={form} />
        <CallConditionsField form={form} />
      </RecordForm>
    </section>
  )
}
