import { NativeSelect } from '@mantine/core'
import type { EnvironmentChoice } from './environment-choice.ts'

type EnvironmentFieldProps = {
  choices: EnvironmentChoice[]
  choice: EnvironmentChoice
  onChange(environment: number): void
}

/** Nothing to choose, nothing to show. */
export function EnvironmentField({ choices, choice, onChange }: EnvironmentFieldProps) {
  if (choices.length < 2) return null
  return (
    <NativeSelect
      label="Environment"
      value={String(choice.environment)}
      onChange={(event) => onChange(Number(event.currentTarget.value))}
      data={choices.map(({ environment, label }) => ({ value: String(environment), label }))}
    />
  )
}
