import { Button, Group, NativeSelect, Pill, VisuallyHidden } from '@mantine/core'
import { memo, type ReactNode, type Ref } from 'react'
import { STATUSES } from '#client/index.ts'
import { TRIGGER_LABELS } from '#web/base/ui/status.ts'
import type { UpdateSearch } from '#web/shared/scope/scope.ts'
import classes from './actions.module.css'
import { type Filters, isFiltered, NO_FILTERS } from './filters.ts'
import { NameFilter, PersonFilter } from './named-filter.tsx'
import { useNamesOf, usePeopleNames } from './named-filters.ts'

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
      { value: 'pending,waiting,queued', label: 'Not started' },
      ...toOptions(STATUSES),
    ],
  },
  {
    name: 'gate',
    label: 'Gate',
    options: [
      { value: '', label: 'Any gate, or none' },
      { value: 'checks,approval,freeze', label: 'At a gate' },
      { value: 'checks', label: 'Waiting for checks' },
      { value: 'approval', label: 'Waiting for approval' },
      { value: 'freeze', label: 'Held by a freeze' },
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
  {
    name: 'since',
    label: 'Time',
    options: [
      { value: '', label: 'Any time' },
      { value: '1h', label: 'Last hour' },
      { value: '24h', label: 'Last 24 hours' },
      { value: '7d', label: 'Last 7 days' },
      { value: '30d', label: 'Last 30 days' },
    ],
  },
] as const

type FilterBarProps = { filters: Filters; change: UpdateSearch; ref: Ref<HTMLFieldSetElement> }

/** Does not render again with each event that changes the list: its inputs cost more than the rows. */
export const FilterBar = memo(function FilterBar({ filters, change, ref }: FilterBarProps) {
  return (
    <>
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
        <NameFilter
          label="Pipeline"
          type="pipeline"
          scope={filters.scope}
          choose={(pipeline) => change({ pipeline })}
        />
        <NameFilter
          label="Application or server"
          type="application,server"
          scope={filters.scope}
          choose={(resource) => change({ resource })}
        />
        <PersonFilter label="Person" choose={(user) => change({ user })} />
      </fieldset>
      {isFiltered(filters) && <ActiveFilters filters={filters} change={change} />}
    </>
  )
})

/** Those that no select shows, each with a button that removes it, and one that clears everything. */
function ActiveFilters({ filters, change }: Omit<FilterBarProps, 'ref'>) {
  const { pipeline, resource, user, hook } = filters
  const pipelineNames = useNamesOf('pipeline', pipeline)
  const resourceName = useNamesOf('application,server', resource)
  const people = usePeopleNames(user)
  const pills = [
    { name: 'pipeline', label: 'Pipeline', value: pipeline, text: pipelineNames },
    {
      name: 'resource',
      label: resource.startsWith('server:') ? 'Server' : 'Application',
      value: resource,
      text: resourceName,
    },
    { name: 'user', label: 'Person', value: user, text: people },
    { name: 'hook', label: 'Hook', value: hook, text: 'one' },
  ].filter(({ value }) => value !== '')
  return (
    <Group gap="xs" mb="sm">
      {pills.map(({ name, label, text }) => (
        <FilterPill key={name} label={label} remove={() => change({ [name]: '' })}>
          {text}
        </FilterPill>
      ))}
      <Button variant="subtle" size="compact-sm" onClick={() => change(NO_FILTERS)}>
        Clear
      </Button>
    </Group>
  )
}

type FilterPillProps = { label: string; remove(): void; children: ReactNode }

function FilterPill({ label, remove, children }: FilterPillProps) {
  return (
    <Pill
      size="md"
      withRemoveButton
      onRemove={remove}
      removeButtonProps={{ 'aria-label': `Remove filter: ${label}`, 'aria-hidden': false, tabIndex: 0 }}
    >
      <span className="dimmed">{label}:</span> {children}
    </Pill>
  )
}
