// Pages that list what is in environments: those of the selected scope, else of the first projects.
import { List, Text } from '@mantine/core'
import { useQueries } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { combineQueries, useApi } from '#web/base/api/queries.ts'
import type { Environment, Organization } from '#web/base/api/types.ts'
import { Loaded } from '#web/base/ui/page.tsx'
import { Section, SectionCard } from '#web/base/ui/parts.tsx'
import { useScope } from './scope.ts'
import { projectsQuery, useEnvironment, useEnvironments, useOrganizations } from './tree.ts'

/** Each environment takes several requests: more projects than this at once would take too long. */
const MAX_PROJECTS = 3

type Render = { children(environment: Environment): ReactNode }

/** Renders `children` once for each environment, below its name. */
export function EachEnvironment({ children }: Render) {
  const [scope] = useScope()
  if (scope.environment !== undefined)
    return <SelectedEnvironment id={scope.environment}>{children}</SelectedEnvironment>
  if (scope.project !== undefined)
    return <ProjectEnvironments id={scope.project}>{children}</ProjectEnvironments>
  return <FirstProjects organizationId={scope.organization}>{children}</FirstProjects>
}

function SelectedEnvironment({ id, children }: Render & { id: number }) {
  return (
    <Loaded query={useEnvironment(id)} what="environment">
      {(environment) => <EnvironmentSection environment={environment}>{children}</EnvironmentSection>}
    </Loaded>
  )
}

function ProjectEnvironments({
  id,
  name = 'This project',
  children,
}: Render & { id: number; name?: string }) {
  return (
    <Loaded query={useEnvironments(id)} what="project">
      {(environments) =>
        environments.length === 0 ? (
          <p className="dimmed">{name} has no environments yet.</p>
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

function EnvironmentSection({ environment, children }: Render & { environment: Environment }) {
  const { id, name, project } = environment
  return (
    <Section id={`environment-${id}`} title={`${project.name} / ${name}`}>
      {children(environment)}
    </Section>
  )
}

function FirstProjects({ organizationId, children }: Render & { organizationId: number | undefined }) {
  return (
    <Loaded query={useOrganizations()} what="organizations">
      {(all) => {
        const visible = all.filter(({ id }) => organizationId === undefined || id === organizationId)
        if (visible.length === 0) return <NoOrganization />
        return <OrganizationProjects organizations={visible}>{children}</OrganizationProjects>
      }}
    </Loaded>
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
        if (shown.length === 0) return <GettingStarted />
        return (
          <>
            {count > shown.length && (
              <p role="status">
                Showing {shown.length} of {count} projects. Select{' '}
                {organizations.length > 1 ? 'an organization and a project' : 'a project'} above to see
                another.
              </p>
            )}
            {shown.map(({ id, name }) => (
              <ProjectEnvironments key={id} id={id} name={name}>
                {children}
              </ProjectEnvironments>
            ))}
          </>
        )
      }}
    </Loaded>
  )
}

type Summarized = Pick<Organization, 'resource_summary'>

/** Otherwise they keep the order of the API. */
function withPipelinesFirst<One extends Summarized>(all: One[]): One[] {
  const hasPipelines = (one: One) => Number(countOf(one, 'pipeline') > 0)
  return all.toSorted((one, other) => hasPipelines(other) - hasPipelines(one))
}

function countOf({ resource_summary }: Summarized, type: string): number {
  return resource_summary.find(({ resource_type }) => resource_type === type)?.summary.count ?? 0
}

/** The API lists projects only to people who may see their organization. */
export function NoOrganization() {
  return (
    <Loaded query={useOrganizations()} what="organizations">
      {() => (
        <>
          <Text>
            You have no access to an entire organization yet. Ask an owner for a role, or create an
            organization.
          </Text>
          <Text className="dimmed" mb="md">
            If your role covers one project or environment, open one of its actions and follow the links above
            its title. The scope you select is kept from page to page.
          </Text>
          <GettingStarted />
        </>
      )}
    </Loaded>
  )
}

function GettingStarted() {
  return (
    <SectionCard id="get-started" title="Get started">
      <List type="ordered" spacing="xs">
        <List.Item>Add a server: this machine, or one that Gantry reaches over SSH.</List.Item>
        <List.Item>Add an application: a repository and the servers it runs on.</List.Item>
        <List.Item>Create a pipeline: the steps that run on each server.</List.Item>
        <List.Item>
          Create a hook: a URL that triggers the pipeline, or one that is notified about its runs.
        </List.Item>
      </List>
      <Text mt="sm">
        They live in an environment of a project: add both in <Link href="/settings">Settings</Link> first.
      </Text>
    </SectionCard>
  )
}
