// Pages that show what stands in one environment: the one of the address, else the first that the person sees.
import type { ReactNode } from 'react'
import type { Environment } from '../api-types.ts'
import { Fault } from './fault.tsx'
import { Loading } from './loading.tsx'
import { useEnvironments, useOrganizations, useProjects } from './tree.ts'
import { usePlace } from './use-place.ts'

/** Draws `children` once for each environment of the chosen place; without a project, for those of the first one. */
export function EachEnvironment({ children }: { children(environment: Environment): ReactNode }) {
  const [place] = usePlace()
  const organizations = useOrganizations()
  const projects = useProjects(place.organization ?? organizations.data?.[0]?.id)
  const environments = useEnvironments(place.project ?? projects.data?.[0]?.id)
  const failed = [organizations, projects, environments].find((query) => query.error && !query.data)
  if (failed?.error) return <Fault error={failed.error} what="place" retry={failed.refetch} />
  if (organizations.data?.length === 0) return <p>You are not a member of any organization yet.</p>
  if (projects.data?.length === 0) return <p>This organization has no project yet.</p>
  if (!environments.data) return <Loading what="environments" />
  const shown = environments.data.filter(
    ({ id }) => place.environment === undefined || id === place.environment,
  )
  if (shown.length === 0) return <p>There is no environment here.</p>
  return shown.map((environment) => (
    <section key={environment.id} aria-label={environment.name}>
      {children(environment)}
    </section>
  ))
}
