import { Button, NativeSelect, VisuallyHidden } from '@mantine/core'
import type { Ref } from 'react'
import type { UpdateSearch } from '../scope/scope.ts'
import { STATUS_LABELS, TRIGGER_LABELS } from '../ui/status.ts'
import classes from './actions.module.css'
import { type Filters, isFiltered, NO_FILTERS } from './filters.ts'

const TYPES =
  'deploy configure provision start stop restart reload get_status rotate_key check_provisioned remove delete custom'

const toOptions = (labels: Record<string, string>) =>
  Object.entries(labels).map(([value, label]) => ({ value, label }))

const SELECTS = [
  {
    name: 'status',
    label: 'Status',
    options: [
      { value: '', label: 'Any status' },
      { value: 'pending,waiting,queued,in-progress', label: 'Active' },
      ...toOptions(STATUS_LABELS),
    ],
  },
  {
    name: 'type',
    label: 'Operation',
    options: [
      { value: '', label: 'Any operation' },
      ...TYPES.split(' ').map((type) => ({ value: type, label: type.replaceAll('_', ' ') })),
    ],
  },
  {
    name: 'trigger',
    label: 'Trigger',
    options: [{ value: '', label: 'Any trigger' }, ...toOptions(TRIGGER_LABELS)],
  },
] as const

type FilterBarProps = { filters: Filters; change: UpdateSearch; ref: Ref<HTMLFieldSetElement> }

export function FilterBar({ filters, change, ref }: FilterBarProps) {
  return (
    <fieldset className={classes.filters} ref={ref}>
      <VisuallyHidden component="legend">Filters</VisuallyHidden>
      {SELECTS.map(({ name, label, options }) => {
        const value = filters[name]
        const isListed = options.some((option) => option.value === value)
        return (
          <NativeSelect
            key={name}
            size="xs"
            aria-label={label}
            value={value}
            onChange={(event) => change({ [name]: event.currentTarget.value })}
            data={isListed ? [...options] : [...options, { value, label: value }]}
          />
        )
      })}
      {filters.pipeline !== '' && (
        <FilterButton label={`Pipeline ${filters.pipeline}`} clear={() => change({ pipeline: '' })} />
      )}
      {filters.hook !== '' && <FilterButton label="One hook" clear={() => change({ hook: '' })} />}
      {isFiltered(filters) && (
        <Button variant="subtle" size="xs" onClick={() => change(NO_FILTERS)}>
          Clear
        </Button>
      )}
    </fieldset>
  )
}

function FilterButton({ label, clear }: { label: string; clear(): void }) {
  return (
    <Button variant="light" size="xs" onClick={clear} aria-label={`Clear filter: ${label}`}>
      {label} ✕
    </Button>
  )
}
