// Pages that list what is in environments: those of the selected scope, else of the first projects.
import { useQueries } from '@tanstack/react-query'
import { Layers } from 'lucide-react'
import type { ReactNode } from 'react'
import { useLocation } from 'wouter'
import { combineQueries, useApi } from '#web/base/api/queries.ts'
import type { Environment, Organization } from '#web/base/api/types.ts'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { EmptyState, Loaded, Loading } from '#web/base/ui/page.tsx'
import { Section } from '#web/base/ui/parts.tsx'
import { useEnvironmentChoices } from './environment-choice.ts'
import { countOf, isMissing, type Summarized } from './first-step.ts'
import { scopeSearch, useScope } from './scope.ts'
import { type EmptyText, StartHere } from './start-here.tsx'
import { projectsQuery, useEnvironment, useEnvironments, useOrganizations, useProject } from './tree.ts'

/** Each environment takes several requests: more projects than this at once would take too long. */
const MAX_PROJECTS = 3
const MAX_UNLISTED = 5

type Render = { children(environment: Environment): ReactNode }

/** Renders `children` once for each environment, below its name. `empty` is what the page says without any. */
export function EachEnvironment({ empty, children }: Render & { empty: EmptyText }) {
  const [scope] = useScope()
  const organizations = useOrganizations()
  if (scope.environment !== undefined)
    return <SelectedEnvironment id={scope.environment}>{children}</SelectedEnvironment>
  if (scope.project !== undefined)
    return <ProjectEnvironments id={scope.project}>{children}</ProjectEnvironments>
  return (
    <Loaded query={organizations} what="organizations">
      {(all) => {
        const visible = all.filter(({ id }) => scope.organization === undefined || id === scope.organization)
        if (visible.length === 0) return <UnlistedEnvironments empty={empty}>{children}</UnlistedEnvironments>
        if (isMissing('project', visible)) return <StartHere {...empty} />
        return <OrganizationProjects organizations={visible}>{children}</OrganizationProjects>
      }}
    </Loaded>
  )
}

function SelectedEnvironment({ id, children }: Render & { id: number }) {
  return (
    <Loaded query={useEnvironment(id)} what="environment">
      {(environment) => <EnvironmentSection environment={environment}>{children}</EnvironmentSection>}
    </Loaded>
  )
}

function ProjectEnvironments({ id, children }: Render & { id: number }) {
  return (
    <Loaded query={useEnvironments(id)} what="project">
      {(environments) =>
        environments.length === 0 ? (
          <NoEnvironments projectId={id} />
        ) : (
          environments.map((environment) => (
            <EnvironmentSection key={environment.id} environment={environment}>
              {children}
            </EnvironmentSection>
          ))
        )
      }
    </Loaded>
  )
}

function NoEnvironments({ projectId }: { projectId: number }) {
  const [, navigate] = useLocation()
  return (
    <Loaded query={useProject(projectId)} what="project">
      {({ id, name, organization }) => (
        <EmptyState
          icon={Layers}
          title={`${name} has no environments yet`}
          isCompact
          action={
            <GuardedButton
              variant="default"
              permission="environment:add"
              scope={{ organization: organization.id, project: id }}
              onClick={() =>
                navigate(
                  `/settings${scopeSearch({ organization: organization.id }, { add: `environment:${id}` })}`,
                )
              }
            >
              Add environment
            </GuardedButton>
          }
        >
          An environment, such as staging or production, holds servers and applications.
        </EmptyState>
      )}
    </Loaded>
  )
}

function EnvironmentSection({ environment, children }: Render & { environment: Environment }) {
  const { id, name, project } = environment
  return (
    <Section id={`environment-${id}`} title={`${project.name} / ${name}`}>
      {children(environment)}
    </Section>
  )
}

function OrganizationProjects({ organizations, children }: Render & { organizations: Organization[] }) {
  const api = useApi()
  const first = withPipelinesFirst(organizations).slice(0, MAX_PROJECTS)
  const query = useQueries({
    queries: first.map(({ id }) => projectsQuery(api, id)),
    combine: combineQueries,
  })
  return (
    <Loaded query={query} what="projects">
      {(lists) => {
        const shown = withPipelinesFirst(lists.flat()).slice(0, MAX_PROJECTS)
        const count = organizations.reduce((sum, organization) => sum + countOf(organization, 'project'), 0)
        return (
          <>
            {count > shown.length && (
              <p role="status">
                Showing {shown.length} of {count} projects. Select{' '}
                {organizations.length > 1 ? 'an organization and a project' : 'a project'} above to see
                another.
              </p>
            )}
            {shown.map(({ id }) => (
              <ProjectEnvironments key={id} id={id}>
                {children}
              </ProjectEnvironments>
            ))}
          </>
        )
      }}
    </Loaded>
  )
}

/** Otherwise they keep the order of the API. */
function withPipelinesFirst<One extends Summarized>(all: One[]): One[] {
  const hasPipelines = (one: One) => Number(countOf(one, 'pipeline') > 0)
  return all.toSorted((one, other) => hasPipelines(other) - hasPipelines(one))
}

/** For people whose roles cover projects or environments: the API lists organizations and projects as a whole only. */
function UnlistedEnvironments({ empty, children }: Render & { empty: EmptyText }) {
  const choices = useEnvironmentChoices('environment:view')
  if (!choices) return <Loading what="environments" />
  if (choices.length === 0) return <StartHere {...empty} />
  return (
    <>
      {choices.length > MAX_UNLISTED && (
        <p role="status">
          Showing {MAX_UNLISTED} of {choices.length} environments. Search for another one by name.
        </p>
      )}
      {choices.slice(0, MAX_UNLISTED).map(({ environment }) => (
        <SelectedEnvironment key={environment} id={environment}>
          {children}
        </SelectedEnvironment>
      ))}
    </>
  )
}
