import { useRef, useState } from 'react'
import { usePermission } from '../session/permissions.ts'
import { type ChosenEnvironment, keepChoice, useEnvironmentChoices } from './environment-choice.ts'
import { useScope } from './scope.ts'

/**
 * The environment that something is added to: the selected one, else the first that is possible. It stays when the
 * permission is lost, so that the form stays; `reason` then says why nothing can be saved.
 */
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
  const found = choices?.find(({ environment }) => environment === wanted) ?? suitable?.[0] ?? choices?.[0]
  const kept = useRef<ChosenEnvironment>(undefined)
  kept.current = keepChoice(kept.current, choices ?? [], found, chosen)
  const last = kept.current
  const { allowed, reason } = usePermission(permission, last?.choice)
  return {
    choices: last?.choices ?? choices,
    choice: last?.choice,
    reason: allowed ? undefined : reason,
    setChosen,
  }
}
