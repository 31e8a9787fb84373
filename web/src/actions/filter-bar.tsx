import { Button, NativeSelect } from '@mantine/core'
import type { Ref } from 'react'
import { STATUS_WORDS, STATUSES } from '../words/statuses.ts'
import { TRIGGER_WORDS } from '../words/triggers.ts'
import classes from './actions.module.css'
import { type Filters, isFiltered } from './filters.ts'

type FilterBarProps = {
  filters: Filters
  change(values: Record<string, string>): void
  ref: Ref<HTMLFieldSetElement>
}

const STATUS_CHOICES = [
  { value: '', label: 'Any status' },
  { value: 'pending,waiting,queued,in-progress', label: 'Not yet ended' },
  ...STATUSES.map((status) => ({ value: status, label: STATUS_WORDS[status] })),
]
const TYPE_CHOICES = [
  { value: '', label: 'Any kind' },
  ...[
    'deploy',
    'configure',
    'provision',
    'start',
    'stop',
    'restart',
    'reload',
    'get_status',
    'rotate_key',
    'check_provisioned',
    'remove',
    'delete',
    'custom',
  ].map((type) => ({ value: type, label: type.replaceAll('_', ' ') })),
]
const TRIGGER_CHOICES = [
  { value: '', label: 'Any start' },
  ...Object.entries(TRIGGER_WORDS).map(([value, label]) => ({ value, label })),
]

export function FilterBar({ filters, change, ref }: FilterBarProps) {
  return (
    <fieldset className={classes.filters} ref={ref}>
      <legend className="hidden-words">Filters</legend>
      <Choice name="status" label="Status" value={filters.status} choices={STATUS_CHOICES} change={change} />
      <Choice name="type" label="Kind" value={filters.type} choices={TYPE_CHOICES} change={change} />
      <Choice
        name="trigger"
        label="Started by"
        value={filters.trigger}
        choices={TRIGGER_CHOICES}
        change={change}
      />
      {filters.pipeline !== '' && (
        <Only what={`pipeline ${filters.pipeline}`} drop={() => change({ pipeline: '' })} />
      )}
      {filters.hook !== '' && <Only what="one hook" drop={() => change({ hook: '' })} />}
      {isFiltered(filters) && (
        <Button
          variant="subtle"
          size="xs"
          onClick={() => change({ status: '', type: '', trigger: '', pipeline: '', hook: '' })}
        >
          Clear
        </Button>
      )}
    </fieldset>
  )
}

type ChoiceProps = {
  name: string
  label: string
  value: string
  choices: { value: string; label: string }[]
  change(values: Record<string, string>): void
}

function Choice({ name, label, value, choices, change }: ChoiceProps) {
  const isListed = choices.some((choice) => choice.value === value)
  return (
    <NativeSelect
      size="xs"
      aria-label={label}
      value={value}
      onChange={(event) => change({ [name]: event.currentTarget.value })}
      data={isListed ? choices : [...choices, { value, label: value }]}
    />
  )
}

function Only({ what, drop }: { what: string; drop(): void }) {
  return (
    <Button variant="light" size="xs" onClick={drop} aria-label={`Stop showing only ${what}`}>
      Only {what} ✕
    </Button>
  )
}
