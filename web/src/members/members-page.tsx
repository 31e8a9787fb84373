// Who may do what. Read-only: members and roles are managed through the API.
import { DataList, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { ApiError } from '../api/api.ts'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { Grant, Role } from '../api-types.ts'
import { NoOrganization } from '../scope/each-environment.tsx'
import { useScope } from '../scope/scope.ts'
import { useEnvironment, useOrganizations, useProject } from '../scope/tree.ts'
import { Loaded, PageHeader } from '../ui/page.tsx'
import { DataTable, Fact, Section } from '../ui/parts.tsx'

export default function MembersPage() {
  const [scope] = useScope()
  return (
    <>
      <PageHeader title="Members" />
      <Loaded query={useOrganizations()} what="organizations">
        {(all) => {
          const shown = all.filter(({ id }) => scope.organization === undefined || id === scope.organization)
          if (shown.length === 0) return <NoOrganization />
          return shown.map(({ id, name, owner }) => (
            <Section key={id} id={`organization-${id}`} title={name}>
              <Text mb="xs" className="dimmed">
                Owned by {owner.name}
              </Text>
              <OrganizationMembers organizationId={id} />
            </Section>
          ))
        }}
      </Loaded>
    </>
  )
}

function OrganizationMembers({ organizationId }: { organizationId: number }) {
  const api = useApi()
  const query = useQuery({
    queryKey: queryKeys.members(organizationId),
    queryFn: async ({ signal }) => {
      const input = { path: { id: organizationId }, signal }
      const [members, roles] = await Promise.all([
        api.all('GET /organizations/{id}/members', input),
        api.all('GET /organizations/{id}/roles', input),
      ])
      return { members, roles }
    },
  })
  if (query.error instanceof ApiError && query.error.status === 403)
    return <p className="dimmed">You do not have permission to see the members of this organization.</p>
  return (
    <Loaded query={query} what="members">
      {({ members, roles }) => (
        <>
          <DataTable columns={['Name', 'Email', 'Roles']}>
            {members.map(({ user, grants, has_joined }) => (
              <Table.Tr key={user.id}>
                <Table.Td>
                  {user.name} {!has_joined && <span className="dimmed">invitation pending</span>}
                </Table.Td>
                <Table.Td className="wrap">{user.email}</Table.Td>
                <Table.Td>
                  {grants.map((grant, index) => (
                    <span key={grant.id}>
                      {index > 0 && ', '}
                      <GrantLabel grant={grant} />
                    </span>
                  ))}
                </Table.Td>
              </Table.Tr>
            ))}
          </DataTable>
          <CustomRoles roles={roles} />
        </>
      )}
    </Loaded>
  )
}

/** With the names of its scope, once they are known and if the person may see them. */
function GrantLabel({ grant: { role_name, environment_id, project_id } }: { grant: Grant }) {
  const environment = useEnvironment(environment_id).data
  const project = useProject(project_id).data
  if (environment) return `${role_name} in ${environment.project.name} / ${environment.name}`
  if (environment_id !== null) return `${role_name} in environment ${environment_id}`
  if (project_id !== null) return `${role_name} in ${project?.name ?? `project ${project_id}`}`
  return role_name
}

function CustomRoles({ roles }: { roles: Role[] }) {
  if (roles.length === 0)
    return (
      <Text className="dimmed" mt="xs">
        No custom roles
      </Text>
    )
  return (
    <DataList orientation="vertical" mt="md">
      {roles.map((role) => (
        <Fact key={role.id} label={role.name}>
          {role.permissions.join(', ')}
        </Fact>
      ))}
    </DataList>
  )
}
