import { Select, TagsInput, TextInput } from '@mantine/core'
import { Trash2 } from 'lucide-react'
import type { ReactNode } from 'react'
import { IconButton } from '../ui/guarded-button.tsx'
import { OPERATORS, type Operator, type SingleRow, withOperator } from './condition-rows.ts'
import classes from './hooks.module.css'

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
export function ConditionInputs(props: ConditionInputsProps) {
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
