// The environments that something can be added to.
import { useRef, useState } from 'react'
import type { Data } from '#client/index.ts'
import { queryKeys, useGet } from '#web/base/api/queries.ts'
import { type PermissionScope, usePermission, usePermissions } from '#web/base/session/permissions.ts'
import { useScope } from './scope.ts'

export type EnvironmentChoice = Required<PermissionScope> & {
  organization: number
  project: number
  environment: number
  label: string
}

type Names = Data<'get', '/names'>

const QUERY = { type: 'project,environment', per_page: 1_000 }

/** Those in which the person has the permission, as far as they are not archived. Undefined while loading. */
export function useEnvironmentChoices(permission: string): EnvironmentChoice[] | undefined {
  const isAllowed = usePermissions()
  const { data } = useGet(queryKeys.names(QUERY), '/names', {
    params: { query: QUERY },
    select: environmentChoices,
  })
  return data?.filter((choice) => isAllowed(permission, choice))
}

/** Pure. The label names the project, and the organization where there are several. */
export function environmentChoices(names: Names): EnvironmentChoice[] {
  const projects = new Map(names.flatMap(({ type, id, name }) => (type === 'project' ? [[id, name]] : [])))
  const hasSeveral = new Set(names.map(({ organization }) => organization.id)).size > 1
  return names.flatMap((entry) => {
    const { type, name, organization, project_id: project, environment_id: environment, archived } = entry
    if (type !== 'environment' || archived || project === null || environment === null) return []
    const path = [hasSeveral ? organization.name : undefined, projects.get(project), name]
    const label = path.filter((one) => one !== undefined).join(' / ')
    return [{ organization: organization.id, project, environment, label }]
  })
}

export type ChosenEnvironment = { choices: EnvironmentChoice[]; choice: EnvironmentChoice }

/**
 * Pure. What was chosen before stays until the person chooses another, even when it is no longer possible: a form never
 * moves to another environment on its own. `found` is what would be chosen anew.
 */
export function keepChoice(
  before: ChosenEnvironment | undefined,
  choices: EnvironmentChoice[],
  found: EnvironmentChoice | undefined,
  chosen: number | undefined,
): ChosenEnvironment | undefined {
  if (!found) return before
  const kept = before?.choice.environment
  if (!before || found.environment === kept || found.environment === chosen) return { choices, choice: found }
  const current = choices.find(({ environment }) => environment === kept)
  if (current) return { choices, choice: current }
  return { choices: [before.choice, ...choices], choice: before.choice }
}

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
