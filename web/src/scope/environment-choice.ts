// The environments that something can be added to.
import { useQuery } from '@tanstack/react-query'
import type { Data } from '#client/index.ts'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import { type PermissionScope, usePermissions } from '../session/permissions.ts'

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
  const api = useApi()
  const isAllowed = usePermissions()
  const { data } = useQuery({
    queryKey: queryKeys.names(QUERY),
    queryFn: ({ signal }) => api.get('/names', { params: { query: QUERY }, signal }),
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
