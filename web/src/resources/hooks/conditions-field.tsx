import { Group, Select, TagsInput, Text, TextInput } from '@mantine/core'
import { Trash2 } from 'lucide-react'
import type { ReactNode } from 'react'
import { AddButton, IconButton } from '#web/base/ui/controls.tsx'
import {
  type ConditionRow,
  emptyRow,
  OPERATORS,
  type Operator,
  type SingleRow,
  withOperator,
} from './condition-rows.ts'
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
        const position = {
          at: String(index),
          noun: `condition ${index + 1}`,
          remove: () => set(rows.toSpliced(index, 1)),
        }
        const change = (next: ConditionRow) => set(rows.with(index, next))
        return row.any_of ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: a condition has no identity but its position
          <ConditionGroup key={index} {...props} {...position} members={row.any_of} change={change} />
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: a condition has no identity but its position
          <Single key={index} {...props} {...position} row={row} change={change} />
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

type PositionedProps = Omit<ConditionsFieldProps, 'rows' | 'set' | 'hint' | 'isDisabled'> & {
  at: string
  noun: string
  remove(): void
}

function Single(props: PositionedProps & { row: SingleRow; change(row: SingleRow): void }) {
  const { at, errorOf, change, ...rest } = props
  const nameError = errorOf(`${at}.name`)
  return (
    <ConditionInputs {...rest} set={change} nameError={nameError} valuesError={errorOf(`${at}.values`)} />
  )
}

function ConditionGroup(
  props: PositionedProps & { members: readonly SingleRow[]; change(row: { any_of: SingleRow[] }): void },
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

type ConditionInputsProps = {
  row: SingleRow
  /** `condition 2`, for labels. */
  noun: string
  placeholders: { path: string; value: string }
  /** Whether it can be about a header. */
  allowsHeaders: boolean
  nameError: ReactNode
  valuesError: ReactNode
  set(row: SingleRow): void
  remove(): void
}

const SUBJECTS = [
  { value: 'path', label: 'Payload' },
  { value: 'header', label: 'Header' },
]
const OPERATOR_OPTIONS = Object.entries(OPERATORS).map(([value, label]) => ({ value, label }))

/** One condition: of what, how it is compared, and with what. */
function ConditionInputs(props: ConditionInputsProps) {
  const { row, noun, placeholders, allowsHeaders, nameError, set, remove } = props
  const isHeader = row.subject === 'header'
  return (
    <div className={classes.condition}>
      {allowsHeaders && (
        <Select
          size="xs"
          aria-label={`Subject of ${noun}`}
          data={SUBJECTS}
          allowDeselect={false}
          value={row.subject}
          onChange={(subject) => set({ ...row, subject: subject as SingleRow['subject'] })}
        />
      )}
      <TextInput
        size="xs"
        className={classes.conditionName}
        aria-label={`${isHeader ? 'Header' : 'Path'} of ${noun}`}
        placeholder={isHeader ? 'X-GitHub-Event' : placeholders.path}
        value={row.name}
        error={nameError}
        onChange={(event) => set({ ...row, name: event.currentTarget.value })}
      />
      <Select
        size="xs"
        aria-label={`Operator of ${noun}`}
        data={OPERATOR_OPTIONS}
        allowDeselect={false}
        value={row.operator}
        onChange={(operator) => set(withOperator(row, operator as Operator))}
      />
      <Values {...props} />
      <IconButton label={`Remove ${noun}`} icon={Trash2} onClick={remove} />
    </div>
  )
}

function Values({ row, noun, placeholders, valuesError, set }: ConditionInputsProps) {
  if (row.operator === 'present' || row.operator === 'absent')
    return <div className={classes.conditionValues}>{valuesError}</div>
  if (row.operator === 'matches' || row.operator === 'matches_not')
    return (
      <TextInput
        size="xs"
        className={classes.conditionValues}
        aria-label={`Pattern of ${noun}`}
        placeholder="refs/heads/release/*"
        value={row.values[0] ?? ''}
        error={valuesError}
        onChange={(event) => set({ ...row, values: [event.currentTarget.value] })}
      />
    )
  return (
    <TagsInput
      size="xs"
      className={classes.conditionValues}
      aria-label={`Accepted values of ${noun}`}
      placeholder={row.values.length === 0 ? placeholders.value : ''}
      splitChars={[]}
      value={row.values}
      error={valuesError}
      onChange={(values) => set({ ...row, values })}
    />
  )
}
