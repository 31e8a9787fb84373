import { Button, NativeSelect, SegmentedControl, TextInput, VisuallyHidden } from '@mantine/core'
import { useSession } from '#web/base/session/session.ts'
import type { UpdateSearch } from '#web/shared/scope/scope.ts'
import classes from './audit.module.css'
import { kindChoices, verbChoices } from './entry-text.ts'
import { type AuditFilters, isFiltered, NO_FILTERS, PERIODS } from './filters.ts'
import { usePeople } from './use-audit.ts'

type FilterBarProps = { organizationId: number | null; filters: AuditFilters; change: UpdateSearch }

export function FilterBar({ organizationId, filters, change }: FilterBarProps) {
  const { isInstanceAdmin } = useSession()
  const { isEverything, period, from, to } = filters
  const people = usePeople(organizationId).map(({ id, name, email }) => ({
    value: String(id),
    label: `${name} (${email})`,
  }))
  /** Page 7 of one list is not page 7 of another. */
  const set = (values: Record<string, string>) => change({ ...values, page: undefined })
  const selects = [
    { name: 'person', label: 'Person', any: 'Any user', options: people },
    { name: 'kind', label: 'Kind', any: 'Any kind', options: kindChoices(isEverything) },
    { name: 'verb', label: 'Change', any: 'Any change', options: verbChoices(isEverything) },
  ] as const
  const days = [
    { name: 'from', label: 'From day', max: to || undefined },
    { name: 'to', label: 'To day', min: from || undefined },
  ] as const
  return (
    <fieldset className={classes.filters}>
      <VisuallyHidden component="legend">Filters</VisuallyHidden>
      {isInstanceAdmin && (
        <SegmentedControl
          size="xs"
          aria-label="Log"
          value={isEverything ? '1' : ''}
          onChange={(all) => change({ ...NO_FILTERS, all })}
          data={[
            { value: '', label: 'This organization' },
            { value: '1', label: 'Everything' },
          ]}
        />
      )}
      {selects.map(({ name, label, any, options }) => (
        <Filter
          key={name}
          label={label}
          any={any}
          value={filters[name]}
          options={options}
          set={(value) => set({ [name]: value })}
        />
      ))}
      <NativeSelect
        size="xs"
        aria-label="Time"
        value={period}
        data={PERIODS}
        onChange={(event) => set({ period: event.currentTarget.value, from: '', to: '' })}
      />
      {period === 'days' &&
        days.map(({ name, label, ...bounds }) => (
          <TextInput
            key={name}
            type="date"
            size="xs"
            aria-label={label}
            value={filters[name]}
            {...bounds}
            onChange={(event) => set({ [name]: event.currentTarget.value })}
          />
        ))}
      {isFiltered(filters) && (
        <Button variant="subtle" size="xs" onClick={() => change(NO_FILTERS)}>
          Clear
        </Button>
      )}
    </fieldset>
  )
}

type FilterProps = {
  label: string
  any: string
  value: string
  options: { value: string; label: string }[]
  set(value: string): void
}

function Filter({ label, any, value, options, set }: FilterProps) {
  const isListed = value === '' || options.some((option) => option.value === value)
  return (
    <NativeSelect
      size="xs"
      aria-label={label}
      className={classes.filter}
      value={value}
      onChange={(event) => set(event.currentTarget.value)}
      data={[{ value: '', label: any }, ...options, ...(isListed ? [] : [{ value, label: value }])]}
    />
  )
}
