import { Checkbox } from '@mantine/core'
import { EVENTS, type EventKind } from './events.ts'
import classes from './outgoing.module.css'
import type { OutgoingForm } from './settings-form.tsx'

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
