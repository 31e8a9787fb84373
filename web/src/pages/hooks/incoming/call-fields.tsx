import { Checkbox, Group, NativeSelect, Text, TextInput } from '@mantine/core'
import { Trash2 } from 'lucide-react'
import { AddButton, IconButton } from '#web/base/ui/controls.tsx'
import { ConditionsField } from '#web/resources/hooks/conditions-field.tsx'
import classes from './hook-form.module.css'
import type { VariableRow } from './hook-values.ts'
import type { HookForm } from './use-hook-form.ts'

const TYPES = ['string', 'integer', 'boolean', 'array'] as const
const NEW: VariableRow = { name: '', path: '', type: 'string', required: true, default: '' }

type Fields = { form: HookForm; isDisabled?: boolean }

/** The values that the hook reads from the payload. */
export function VariablesField({ form, isDisabled = false }: Fields) {
  const rows = form.values.variables
  const set = (next: VariableRow[]) => form.set('variables', next)
  return (
    <fieldset className={classes.rows} disabled={isDisabled}>
      <Text component="legend" size="sm" fw={600}>
        Variables
      </Text>
      <Text size="xs" className="dimmed" mb="xs">
        Values from the payload. Steps read them as <code>GANTRY_VAR_NAME</code>; <code>branch</code>,{' '}
        <code>tag</code> and <code>commit</code> choose what is deployed.
      </Text>
      {form.errors.variables && <Text className={classes.error}>{form.errors.variables}</Text>}
      {rows.map((row, index) => (
        <Variable
          // biome-ignore lint/suspicious/noArrayIndexKey: a variable has no identity but its position
          key={index}
          row={row}
          number={index + 1}
          error={(name) => form.errors[`variables.${index}.${name}`]}
          change={(changed) => set(rows.with(index, { ...row, ...changed }))}
          remove={() => set(rows.toSpliced(index, 1))}
        />
      ))}
      <AddButton onClick={() => set([...rows, NEW])}>Add variable</AddButton>
    </fieldset>
  )
}

type VariableProps = {
  row: VariableRow
  number: number
  error(name: keyof VariableRow): string | null | undefined
  change(changed: Partial<VariableRow>): void
  remove(): void
}

function Variable({ row, number, error, change, remove }: VariableProps) {
  const text = (name: 'name' | 'path' | 'default', label: string, placeholder: string) => (
    <TextInput
      size="xs"
      className={classes[name]}
      label={label}
      aria-label={`${label} of variable ${number}`}
      placeholder={placeholder}
      value={row[name]}
      error={error(name)}
      onChange={(event) => change({ [name]: event.currentTarget.value })}
    />
  )
  return (
    <div className={classes.variable}>
      {text('name', 'Name', 'branch')}
      {text('path', 'Path', row.name || 'ref')}
      <NativeSelect
        size="xs"
        className={classes.type}
        label="Type"
        aria-label={`Type of variable ${number}`}
        data={TYPES}
        value={row.type}
        error={error('type')}
        onChange={(event) => change({ type: event.currentTarget.value as VariableRow['type'] })}
      />
      {text('default', 'Default', 'none')}
      <Group className={classes.end} gap="xs" wrap="nowrap">
        <Checkbox
          size="xs"
          label="Required"
          aria-label={`Variable ${number} is required`}
          checked={row.required}
          onChange={(event) => change({ required: event.currentTarget.checked })}
        />
        <IconButton label={`Remove variable ${number}`} icon={Trash2} onClick={remove} />
      </Group>
    </div>
  )
}

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
