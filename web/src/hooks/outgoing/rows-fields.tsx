// Fields with a row per item: headers and conditions.
import { ActionIcon, Button, Text, TextInput } from '@mantine/core'
import { Plus, Trash2 } from 'lucide-react'
import type { ReactNode } from 'react'
import { ConditionsField } from '../conditions-field.tsx'
import classes from './outgoing.module.css'
import type { OutgoingForm } from './settings-form.tsx'

export function HeadersField({ form, error }: { form: OutgoingForm; error: string | null | undefined }) {
  const name = 'settings.request_headers'
  const rows = form.values[name]
  return (
    <Rows
      legend="Headers"
      hint="Values may contain templates. Content-Type is application/json."
      error={error}
      noun="header"
      count={rows.length}
      add={() => form.set(name, [...rows, { name: '', value: '' }])}
      remove={(index) => form.set(name, rows.toSpliced(index, 1))}
    >
      {(index) => (
        <>
          <TextInput
            size="xs"
            aria-label={`Name of header ${index + 1}`}
            placeholder="Authorization"
            value={rows[index]!.name}
            autoComplete="off"
            spellCheck={false}
            onChange={(event) =>
              form.set(name, rows.with(index, { ...rows[index]!, name: event.currentTarget.value }))
            }
          />
          <TextInput
            size="xs"
            aria-label={`Value of header ${index + 1}`}
            placeholder="Bearer …"
            value={rows[index]!.value}
            autoComplete="off"
            spellCheck={false}
            onChange={(event) =>
              form.set(name, rows.with(index, { ...rows[index]!, value: event.currentTarget.value }))
            }
          />
        </>
      )}
    </Rows>
  )
}

const PLACEHOLDERS = { path: 'action.status', value: 'failed' }

/** Which events are reported. */
export function EventConditionsField({ form }: { form: OutgoingForm }) {
  const name = 'trigger_when.conditions'
  return (
    <ConditionsField
      rows={form.values[name]}
      set={(rows) => form.set(name, rows)}
      errorOf={(input) => (input === '' ? form.errors[name] : null)}
      hint="All must match, such as action.status is failed. Text, or JSON such as 42 or true."
      placeholders={PLACEHOLDERS}
      allowsHeaders={false}
    />
  )
}

type RowsProps = {
  legend: string
  hint: string
  error: string | null | undefined
  noun: string
  count: number
  add(): void
  remove(index: number): void
  children(index: number): ReactNode
}

function Rows({ legend, hint, error, noun, count, add, remove, children }: RowsProps) {
  return (
    <fieldset className={classes.rows}>
      <Text component="legend" size="sm" fw={600}>
        {legend}
      </Text>
      <Text size="xs" className="dimmed" mb="xs">
        {hint}
      </Text>
      {error && (
        <Text className={classes.error} role="alert">
          {error}
        </Text>
      )}
      {Array.from({ length: count }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row has no identity but its position
        <div key={index} className={classes.row}>
          {children(index)}
          <ActionIcon
            variant="subtle"
            color="gray"
            size={30}
            aria-label={`Remove ${noun} ${index + 1}`}
            onClick={() => remove(index)}
          >
            <Trash2 size={16} strokeWidth={1.75} aria-hidden="true" />
          </ActionIcon>
        </div>
      ))}
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<Plus size={14} strokeWidth={1.75} aria-hidden="true" />}
        onClick={add}
      >
        Add {noun}
      </Button>
    </fieldset>
  )
}
