import { Select, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import type { Scope } from '#web/shared/scope/scope.ts'
import { type NameType, type Option, useNameOptions, usePeopleOptions } from './named-filters.ts'

const SEARCH_DELAY_MS = 150

type FilterProps = { label: string; choose(value: string): void }

export function NameFilter({ type, scope, ...rest }: FilterProps & { type: NameType; scope: Scope }) {
  const input = useSearchInput()
  return (
    <NamedFilter {...rest} input={input} options={useNameOptions(type, scope, input.search, input.isOpen)} />
  )
}

export function PersonFilter(props: FilterProps) {
  const input = useSearchInput()
  return <NamedFilter {...props} input={input} options={usePeopleOptions(input.search, input.isOpen)} />
}

function useSearchInput() {
  const [typed, setTyped] = useState('')
  const [isOpen, setOpen] = useState(false)
  const [search] = useDebouncedValue(typed.trim(), SEARCH_DELAY_MS)
  return { typed, setTyped, search, isOpen, setOpen }
}

type NamedFilterProps = FilterProps & { input: ReturnType<typeof useSearchInput>; options: Option[] }

/** Finds one of many by name. What is chosen becomes a pill; the input is empty again. */
function NamedFilter({ label, choose, input, options }: NamedFilterProps) {
  const { typed, setTyped, setOpen } = input
  return (
    <Select
      size="xs"
      w="10rem"
      aria-label={label}
      placeholder={label}
      searchable
      value={null}
      searchValue={typed}
      onSearchChange={setTyped}
      onDropdownOpen={() => setOpen(true)}
      onDropdownClose={() => setOpen(false)}
      onChange={(value) => {
        if (value === null) return
        choose(value)
        setTyped('')
      }}
      data={options}
      // The API has searched.
      filter={({ options: all }) => all}
      renderOption={({ option }) => (
        <div className="wrap">
          {option.label}
          <Text size="xs" className="dimmed">
            {(option as Option).details}
          </Text>
        </div>
      )}
      nothingFoundMessage="Nothing found"
      comboboxProps={{ width: 'max-content', position: 'bottom-start' }}
      maxDropdownHeight={320}
    />
  )
}
