import '#web/base/ui/more-styles.ts'
import { Select, type SelectProps } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import classes from './scope-switcher.module.css'

const ALL = 'all'
/** From here on people type rather than look. */
const SEARCHED_FROM = 8
/** Typing finds the others. */
const MAX_SHOWN = 200

type ScopeSelectProps = Pick<
  SelectProps,
  'aria-label' | 'size' | 'variant' | 'leftSection' | 'leftSectionPointerEvents'
> & {
  /** From the start: it replaces an input that had the focus. */
  isFocused: boolean
  isOpen: boolean
  /** What was typed before it was there. */
  typed: string
  value: number | undefined
  select(id: number | undefined): void
  /** What to call no choice. */
  all: string
  options: { id: number; name: string }[]
}

/** One level of the scope, as a list. */
export default function ScopeSelect(props: ScopeSelectProps) {
  const { isFocused, isOpen, typed, value, select, all, options, ...rest } = props
  const [search, setSearch] = useState(options.find(({ id }) => id === value)?.name ?? all)
  const input = useRef<HTMLInputElement>(null)
  // Once: the list opens as by a click, so that arrow keys start at what is selected, and has set the text to its name.
  // biome-ignore lint/correctness/useExhaustiveDependencies: what happened before
  useEffect(() => {
    if (isOpen) input.current?.click()
    if (typed !== '' && options.length >= SEARCHED_FROM) setSearch(typed)
  }, [])
  return (
    <Select
      {...rest}
      ref={input}
      autoFocus={isFocused}
      classNames={{ input: classes.input!, option: classes.option! }}
      value={value === undefined ? ALL : String(value)}
      onChange={(chosen) => select(Number(chosen) || undefined)}
      allowDeselect={false}
      checkIconPosition="right"
      searchValue={search}
      onSearchChange={setSearch}
      searchable={options.length >= SEARCHED_FROM}
      nothingFoundMessage="Nothing found"
      limit={MAX_SHOWN}
      comboboxProps={{ width: '18rem', position: 'bottom-start', shadow: 'md' }}
      data={[
        { value: ALL, label: all },
        ...options.map((option) => ({ value: String(option.id), label: option.name })),
      ]}
    />
  )
}
