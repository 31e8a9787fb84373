// What an outgoing hook reports, and with which headers.
import { Checkbox, Text, TextInput } from '@mantine/core'
import { Trash2 } from 'lucide-react'
import type { ReactNode } from 'react'
import type { RecordForm } from '#web/base/form/use-record-form.ts'
import { AddButton, IconButton } from '#web/base/ui/controls.tsx'
import { ConditionsField } from '#web/resources/hooks/conditions-field.tsx'
import { EVENTS, type EventKind } from './events.ts'
import type { OutgoingValues } from './hook-values.ts'
import classes from './outgoing.module.css'

export type OutgoingForm = RecordForm<OutgoingValues>

const HEADER_PARTS = [
  { part: 'name', label: 'Name', placeholder: 'Authorization' },
  { part: 'value', label: 'Value', placeholder: 'Bearer …' },
] as const

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
      {(index) =>
        HEADER_PARTS.map(({ part, label, placeholder }) => (
          <TextInput
            key={part}
            size="xs"
            aria-label={`${label} of header ${index + 1}`}
            placeholder={placeholder}
            value={rows[index]![part]}
            onChange={({ currentTarget }) =>
              form.set(name, rows.with(index, { ...rows[index]!, [part]: currentTarget.value }))
            }
          />
        ))
      }
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
          <IconButton
            label={`Remove ${noun} ${index + 1}`}
            icon={Trash2}
            size={30}
            onClick={() => remove(index)}
          />
        </div>
      ))}
      <AddButton onClick={add}>Add {noun}</AddButton>
    </fieldset>
  )
}

export function EventsField({ form }: { form: OutgoingForm }) {
  const { value, error } = form.field('trigger_when.events')
  return (
    <Checkbox.Group
      label="Events"
      description="One change is one delivery, however many of its events are selected."
      value={value}
      error={error}
      onChange={(events) => form.set('trigger_when.events', events as EventKind[])}
    >
      <div className={classes.events}>
        {EVENTS.map(({ value: kind, label, description }) => (
          <Checkbox key={kind} size="sm" value={kind} label={label} description={description} />
        ))}
      </div>
    </Checkbox.Group>
  )
}
