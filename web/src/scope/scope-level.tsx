import { Select } from '@mantine/core'
import type { LucideIcon } from 'lucide-react'
import classes from './scope-switcher.module.css'

export type Option = { id: number; name: string }

type ScopeLevelProps = {
  name: string
  icon: LucideIcon
  selected: number | undefined
  options: Option[] | undefined
  /** What is selected, where the list does not include it. */
  unlisted: Option | undefined
  select(id: number | undefined): void
}

const ALL = 'all'
/** From here on people type rather than look. */
const SEARCHED_FROM = 8
/** Typing finds the others. */
const MAX_SHOWN = 200

export function ScopeLevel({ name, icon: Icon, selected, options = [], unlisted, select }: ScopeLevelProps) {
  if (options.length === 0 && selected === undefined && name !== 'Organization') return null
  const isListed = selected === undefined || options.some(({ id }) => id === selected)
  const fallback = unlisted?.id === selected ? unlisted?.name : `#${selected}`
  return (
    <Select
      aria-label={name}
      size="sm"
      variant="unstyled"
      classNames={{ input: classes.input!, option: classes.option! }}
      leftSection={<Icon size={16} strokeWidth={1.75} aria-hidden="true" />}
      leftSectionPointerEvents="none"
      value={selected === undefined ? ALL : String(selected)}
      onChange={(value) => select(Number(value) || undefined)}
      allowDeselect={false}
      checkIconPosition="right"
      searchable={options.length >= SEARCHED_FROM}
      nothingFoundMessage="Nothing found"
      limit={MAX_SHOWN}
      comboboxProps={{ width: '18rem', position: 'bottom-start', shadow: 'md' }}
      data={[
        { value: ALL, label: `All ${name.toLowerCase()}s` },
        ...(isListed ? [] : [{ value: String(selected), label: fallback ?? '' }]),
        ...options.map((option) => ({ value: String(option.id), label: option.name })),
      ]}
    />
  )
}
