import type { Gantry } from '@gantry/client'
import { usage } from './failure.ts'
import { findNamed, matching, type Named, readNames } from './names.ts'

/** The project that is named, the only one of the organization that is named, or the only one there is. */
export async function findProject(gantry: Gantry, given: string | undefined): Promise<Named> {
  const all = await readNames(gantry, ['organization', 'project'])
  const projects = all.filter(({ type }) => type === 'project')
  const candidates = given === undefined ? projects : candidatesFor(given, projects, all)
  if (candidates.length === 1) return candidates[0]!
  if (candidates.length === 0) return findNamed(gantry, ['project'], given ?? '')
  throw usage(
    'Which project?',
    candidates.map(({ path, id, organization }) => `  ${path}  (#${id}, ${organization.name})`).join('\n'),
  )
}

function candidatesFor(given: string, projects: readonly Named[], all: readonly Named[]): Named[] {
  const found = matching(projects, given)
  if (found.length > 0) return found
  const organizations = matching(
    all.filter(({ type }) => type === 'organization'),
    given,
  ).map(({ id }) => id)
  return projects.filter(({ organization }) => organizations.includes(organization.id))
}
