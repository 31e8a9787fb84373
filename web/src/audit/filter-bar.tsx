import { Button, NativeSelect, SegmentedControl, TextInput, VisuallyHidden } from '@mantine/core'
import type { UpdateSearch } from '../scope/scope.ts'
import { useSession } from '../session/session.ts'
import classes from './audit.module.css'
import { kindChoices, verbChoices } from './entry-text.ts'
import { type AuditFilters, isFiltered, NO_FILTERS, PERIODS } from './filters.ts'
import { usePeople } from './use-audit.ts'

type FilterBarProps = { organizationId: number | null; filters: AuditFilters; change: UpdateSearch }

export function FilterBar({ organizationId, filters, change }: FilterBarProps) {
  const { isInstanceAdmin } = useSession()
  const { isEverything, person, kind, verb, period, from, to } = filters
  const people = usePeople(organizationId).map(({ id, name, email }) => ({
    value: String(id),
    label: `${name} (${email})`,
  }))
  /** Page 7 of one list is not page 7 of another. */
  const set = (values: Record<string, string>) => change({ ...values, page: undefined })
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
      <Filter
        label="Person"
        any="Anybody"
        value={person}
        options={people}
        set={(value) => set({ person: value })}
      />
      <Filter
        label="Kind"
        any="Any kind"
        value={kind}
        options={kindChoices(isEverything)}
        set={(value) => set({ kind: value })}
      />
      <Filter
        label="Change"
        any="Any change"
        value={verb}
        options={verbChoices(isEverything)}
        set={(value) => set({ verb: value })}
      />
      <NativeSelect
        size="xs"
        aria-label="Time"
        value={period}
        data={PERIODS}
        onChange={(event) => set({ period: event.currentTarget.value, from: '', to: '' })}
      />
      {period === 'days' && (
        <>
          <TextInput
            type="date"
            size="xs"
            aria-label="From day"
            value={from}
            max={to || undefined}
            onChange={(event) => set({ from: event.currentTarget.value })}
          />
          <TextInput
            type="date"
            size="xs"
            aria-label="To day"
            value={to}
            min={from || undefined}
            onChange={(event) => set({ to: event.currentTarget.value })}
          />
        </>
      )}
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
