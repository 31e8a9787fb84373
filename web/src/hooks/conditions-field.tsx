import { Group, Text } from '@mantine/core'
import { Trash2 } from 'lucide-react'
import type { ReactNode } from 'react'
import { AddButton, IconButton } from '../ui/guarded-button.tsx'
import { ConditionInputs } from './condition-inputs.tsx'
import { type ConditionRow, emptyRow, type SingleRow } from './condition-rows.ts'
import classes from './hooks.module.css'

type ConditionsFieldProps = {
  rows: readonly ConditionRow[]
  set(rows: ConditionRow[]): void
  /** Of an input such as `0.name` or `1.any_of.0.values`; of the whole field for ''. */
  errorOf(input: string): ReactNode
  hint: string
  placeholders: { path: string; value: string }
  allowsHeaders: boolean
  isDisabled?: boolean
}

/** Conditions that must all match, and groups of which one must match. */
export function ConditionsField({ isDisabled = false, ...props }: ConditionsFieldProps) {
  const { rows, set, errorOf, hint } = props
  return (
    <fieldset className={classes.conditions} disabled={isDisabled}>
      <Text component="legend" size="sm" fw={600}>
        Conditions
      </Text>
      <Text size="xs" className="dimmed" mb="xs">
        {hint}
      </Text>
      {errorOf('') && (
        <Text size="sm" c="var(--mantine-color-error)" mb="xs" role="alert">
          {errorOf('')}
        </Text>
      )}
      {rows.map((row, index) => {
        const place = {
          at: String(index),
          noun: `condition ${index + 1}`,
          remove: () => set(rows.toSpliced(index, 1)),
        }
        const change = (next: ConditionRow) => set(rows.with(index, next))
        return row.any_of ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: a condition has no identity but its position
          <ConditionGroup key={index} {...props} {...place} members={row.any_of} change={change} />
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: a condition has no identity but its position
          <Single key={index} {...props} {...place} row={row} change={change} />
        )
      })}
      <Group gap="xs">
        <AddButton onClick={() => set([...rows, emptyRow()])}>Add condition</AddButton>
        <AddButton onClick={() => set([...rows, { any_of: [emptyRow(), emptyRow()] }])}>
          Add “any of” group
        </AddButton>
      </Group>
    </fieldset>
  )
}

type PlacedProps = Omit<ConditionsFieldProps, 'rows' | 'set' | 'hint' | 'isDisabled'> & {
  at: string
  noun: string
  remove(): void
}

function Single(props: PlacedProps & { row: SingleRow; change(row: SingleRow): void }) {
  const { at, errorOf, change, ...rest } = props
  const nameError = errorOf(`${at}.name`)
  return (
    <ConditionInputs {...rest} set={change} nameError={nameError} valuesError={errorOf(`${at}.values`)} />
  )
}

function ConditionGroup(
  props: PlacedProps & { members: readonly SingleRow[]; change(row: { any_of: SingleRow[] }): void },
) {
  const { at, noun, members, change, remove, ...rest } = props
  return (
    <fieldset className={classes.conditionGroup} aria-label={`Group ${noun}`}>
      <Group justify="space-between" mb={4}>
        <Text size="xs" fw={600}>
          Any of these
        </Text>
        <IconButton label={`Remove group ${noun}`} icon={Trash2} onClick={remove} />
      </Group>
      {members.map((row, index) => (
        <Single
          // biome-ignore lint/suspicious/noArrayIndexKey: a condition has no identity but its position
          key={index}
          {...rest}
          at={`${at}.any_of.${index}`}
          noun={`${noun}, alternative ${index + 1}`}
          row={row}
          change={(next) => change({ any_of: members.with(index, next) })}
          remove={() => (members.length === 1 ? remove() : change({ any_of: members.toSpliced(index, 1) }))}
        />
      ))}
      <AddButton onClick={() => change({ any_of: [...members, emptyRow()] })}>Add alternative</AddButton>
    </fieldset>
  )
}
