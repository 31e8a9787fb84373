import { ActionIcon, Button, TagsInput, Text, TextInput } from '@mantine/core'
import { Plus, Trash2 } from 'lucide-react'
import classes from './hook-form.module.css'
import type { ConditionRow } from './hook-values.ts'
import type { HookForm } from './use-hook-form.ts'

/** Which calls start a run. */
export function ConditionsField({ form, isDisabled = false }: { form: HookForm; isDisabled?: boolean }) {
  const rows = form.values.conditions
  const set = (next: ConditionRow[]) => form.set('conditions', next)
  return (
    <fieldset className={classes.rows} disabled={isDisabled}>
      <Text component="legend" size="sm" fw={600}>
        Conditions
      </Text>
      <Text size="xs" className="dimmed" mb="xs">
        {rows.length === 0
          ? 'Every call starts a run. Add conditions to ignore some.'
          : 'A call starts a run if all of them match. Text, or JSON such as 42, true or "42".'}
      </Text>
      {form.errors.conditions && <Text className={classes.error}>{form.errors.conditions}</Text>}
      {rows.map((row, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a condition has no identity but its position
        <div key={index} className={classes.condition}>
          <TextInput
            size="xs"
            label="Path"
            aria-label={`Path of condition ${index + 1}`}
            placeholder="ref"
            value={row.path}
            error={form.errors[`conditions.${index}.path`]}
            onChange={(event) => set(rows.with(index, { ...row, path: event.currentTarget.value }))}
            autoComplete="off"
            spellCheck={false}
          />
          <TagsInput
            size="xs"
            label="Is any of"
            aria-label={`Accepted values of condition ${index + 1}`}
            placeholder={row.values.length === 0 ? 'refs/heads/main' : ''}
            splitChars={[]}
            value={row.values}
            error={form.errors[`conditions.${index}.values`]}
            onChange={(values) => set(rows.with(index, { ...row, values }))}
          />
          <div className={classes.end}>
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={`Remove condition ${index + 1}`}
              onClick={() => set(rows.toSpliced(index, 1))}
            >
              <Trash2 size={16} strokeWidth={1.75} aria-hidden="true" />
            </ActionIcon>
          </div>
        </div>
      ))}
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<Plus size={14} aria-hidden="true" />}
        onClick={() => set([...rows, { path: '', values: [] }])}
      >
        Add condition
      </Button>
    </fieldset>
  )
}
