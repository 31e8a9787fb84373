// Who may do what. Members and roles are managed through the API; pending invitations can be removed here.
import { DataList, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { GantryError } from '#client/index.ts'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { Role } from '../api/types.ts'
import { NoOrganization } from '../scope/each-environment.tsx'
import { useScope } from '../scope/scope.ts'
import { useOrganizations } from '../scope/tree.ts'
import { Loaded, PageHeader } from '../ui/page.tsx'
import { DataTable, Fact, Section } from '../ui/parts.tsx'
import { GrantLabels } from './grant-labels.tsx'
import { PendingInvitations } from './pending-invitations.tsx'

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
      const input = { params: { path: { id: organizationId } }, signal }
      const [members, invitations, roles] = await Promise.all([
        api.all('/organizations/{id}/members', input),
        api.all('/organizations/{id}/invitations', input),
        api.all('/organizations/{id}/roles', input),
      ])
      return { members, invitations, roles }
    },
  })
  if (query.error instanceof GantryError && query.error.status === 403)
    return <p className="dimmed">You do not have permission to see the members of this organization.</p>
  return (
    <Loaded query={query} what="members">
      {({ members, invitations, roles }) => (
        <>
          <DataTable columns={['Name', 'Email', 'Roles']}>
            {members.map(({ user, grants }) => (
              <Table.Tr key={user.id}>
                <Table.Td>{user.name}</Table.Td>
                <Table.Td className="wrap">{user.email}</Table.Td>
                <Table.Td>
                  <GrantLabels grants={grants} />
                </Table.Td>
              </Table.Tr>
            ))}
          </DataTable>
          <PendingInvitations organizationId={organizationId} invitations={invitations} />
          <CustomRoles roles={roles} />
        </>
      )}
    </Loaded>
  )
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
