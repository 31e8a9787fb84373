import { ConditionsField } from '../conditions-field.tsx'
import type { HookForm } from './use-hook-form.ts'

const PLACEHOLDERS = { path: 'ref', value: 'refs/heads/main' }

/** Which calls start a run. */
export function CallConditionsField({ form, isDisabled }: { form: HookForm; isDisabled?: boolean }) {
  const rows = form.values.conditions
  return (
    <ConditionsField
      rows={rows}
      set={(next) => form.set('conditions', next)}
      errorOf={(input) => form.errors[input === '' ? 'conditions' : `conditions.${input}`]}
      hint={
        rows.length === 0
          ? 'Every call starts a run. Add conditions to ignore some.'
          : 'A call starts a run if all of them match. Text, or JSON such as 42, true or "42". In patterns, * stops at a slash and ** does not.'
      }
      placeholders={PLACEHOLDERS}
      allowsHeaders
      isDisabled={isDisabled}
    />
  )
}
