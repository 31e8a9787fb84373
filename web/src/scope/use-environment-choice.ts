import { useState } from 'react'
import { type EnvironmentChoice, useEnvironmentChoices } from './environment-choice.ts'
import { useScope } from './scope.ts'

/** The environment that something is added to: the selected one, else the first that is possible. */
export function useEnvironmentChoice(permission: string, given?: number) {
  const [scope] = useScope()
  const choices = useEnvironmentChoices(permission)
  const [chosen, setChosen] = useState<number>()
  const suitable = choices?.filter(
    ({ organization, project }) =>
      (scope.organization === undefined || scope.organization === organization) &&
      (scope.project === undefined || scope.project === project),
  )
  const wanted = chosen ?? given ?? scope.environment
  const choice: EnvironmentChoice | undefined =
    choices?.find(({ environment }) => environment === wanted) ?? suitable?.[0] ?? choices?.[0]
  return { choices, choice, setChosen }
}
