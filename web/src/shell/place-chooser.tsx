// Pages that show what stands in environments: those of the chosen place, else of the first projects there are.
import { Title } from '@mantine/core'
import { useQueries } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useApi } from '../api/services.ts'
import type { Environment, Organization } from '../api-types.ts'
import { Fault } from './fault.tsx'
import { Loading } from './loading.tsx'
import classes from './shell.module.css'
import { projectsOf, useEnvironment, useEnvironments, useOrganizations } from './tree.ts'
import { usePlace } from './use-place.ts'

/** What stands in an environment is asked for piece by piece: more projects than these at once would take too long. */
const SHOWN_PROJECTS = 3

type Draw = { children(environment: Environment): ReactNode }

/** Draws `children` once for each environment, below its name. */
export function EachEnvironment({ children }: Draw) {
  const [place] = usePlace()
  if (place.environment !== undefined)
    return <OneEnvironment id={place.environment}>{children}</OneEnvironment>
  if (place.project !== undefined) return <OneProject id={place.project}>{children}</OneProject>
  return <FirstProjects organizationId={place.organization}>{children}</FirstProjects>
}

function OneEnvironment({ id, children }: Draw & { id: number }) {
  const { data, error, refetch } = useEnvironment(id)
  if (data) return <NamedEnvironment environment={data}>{children}</NamedEnvironment>
  if (error) return <Fault error={error} what="environment" retry={refetch} />
  return <Loading what="the environment" />
}

function OneProject({ id, name = 'This project', children }: Draw & { id: number; name?: string }) {
  const { data, error, refetch } = useEnvironments(id)
  if (error && !data) return <Fault error={error} what="project" retry={refetch} />
  if (!data) return <Loading what="environments" />
  if (data.length === 0) return <p className="quiet">{name} has no environment yet.</p>
  return data.map((environment) => (
    <NamedEnvironment key={environment.id} environment={environment}>
      {children}
    </NamedEnvironment>
  ))
}

function NamedEnvironment({ environment, children }: Draw & { environment: Environment }) {
  const { name, project } = environment
  return (
    <section aria-label={`${name} of ${project.name}`}>
      <Title order={2} size="h4" className={classes.environment}>
        {name} <span className="quiet">{project.name}</span>
      </Title>
      {children(environment)}
    </section>
  )
}

function FirstProjects({ organizationId, children }: Draw & { organizationId: number | undefined }) {
  const organizations = useOrganizations()
  if (organizations.error && !organizations.data)
    return <Fault error={organizations.error} what="organizations" retry={organizations.refetch} />
  if (!organizations.data) return <Loading what="organizations" />
  const seen = organizations.data.filter(({ id }) => organizationId === undefined || id === organizationId)
  if (seen.length === 0) return <NoOrganization />
  return <ProjectsOf organizations={seen}>{children}</ProjectsOf>
}

function ProjectsOf({ organizations, children }: Draw & { organizations: Organization[] }) {
  const api = useApi()
  const asked = busiestFirst(organizations).slice(0, SHOWN_PROJECTS)
  const results = useQueries({ queries: asked.map(({ id }) => projectsOf(api, id)) })
  const failed = results.find((result) => result.error && !result.data)
  if (failed?.error) return <Fault error={failed.error} what="projects" retry={failed.refetch} />
  if (results.some((result) => !result.data)) return <Loading what="projects" />
  const shown = busiestFirst(results.flatMap((result) => result.data!)).slice(0, SHOWN_PROJECTS)
  if (shown.length === 0) return <p>There is no project here yet.</p>
  const all = organizations.reduce((sum, organization) => sum + countOf(organization, 'project'), 0)
  return (
    <>
      {all > shown.length && (
        <p role="status">
          These are {shown.length} of {all} projects. To see another, choose{' '}
          {organizations.length > 1 ? 'its organization and then the project' : 'it'} above.
        </p>
      )}
      {shown.map(({ id, name }) => (
        <OneProject key={id} id={id} name={name}>
          {children}
        </OneProject>
      ))}
    </>
  )
}

type Summed = Pick<Organization, 'resource_summary'>

/** Where there are pipelines there is something to see. Otherwise they stay in the order of the API. */
function busiestFirst<Thing extends Summed>(things: Thing[]): Thing[] {
  const hasAny = (thing: Thing) => Number(countOf(thing, 'pipeline') > 0)
  return things.toSorted((one, other) => hasAny(other) - hasAny(one))
}

function countOf({ resource_summary }: Summed, type: string): number {
  return resource_summary.find(({ resource_type }) => resource_type === type)?.summary.count ?? 0
}

/** The API lists projects only to those who see their organization. */
function NoOrganization() {
  return (
    <>
      <p>There is no organization here that you see as a whole.</p>
      <p className="quiet">
        With a role in one project or environment, open one of its actions and follow the name above it; what
        you choose there goes along to this page.
      </p>
    </>
  )
}
