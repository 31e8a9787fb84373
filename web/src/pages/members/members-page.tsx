// Who belongs to the selected organization and may do what there: members, invitations and roles.
import { Group, Text } from '@mantine/core'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { UserPlus, Users } from 'lucide-react'
import { useState } from 'react'
import { GantryError } from '#client/index.ts'
import type { Api } from '#web/base/api/api.ts'
import { queryKeys, useApi } from '#web/base/api/queries.ts'
import type { Invitation } from '#web/base/api/types.ts'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { Loaded, PageHeader } from '#web/base/ui/page.tsx'
import { Section } from '#web/base/ui/parts.tsx'
import { CopyAs } from '#web/shared/copy-as/copy-as.tsx'
import { StartHere } from '#web/shared/scope/start-here.tsx'
import { useOrganizationId, useOrganizations } from '#web/shared/scope/tree.ts'
import type { ScopeNames } from './grant-input.ts'
import { InviteDialog } from './invite-dialog.tsx'
import { MembersTable } from './members-table.tsx'
import { PendingInvitations } from './pending-invitations.tsx'
import { RolesSection } from './roles-section.tsx'

export default function MembersPage() {
  const organizationId = useOrganizationId()
  if (organizationId !== undefined) return <OrganizationMembers key={organizationId} id={organizationId} />
  return (
    <>
      <PageHeader title="Members" />
      <StartHere
        icon={Users}
        title="No members yet"
        text="Members belong to an organization, and have roles in all or part of it."
        needs="organization"
      />
    </>
  )
}

/** False: nobody; true: somebody new; else again. */
type Inviting = boolean | Invitation

function OrganizationMembers({ id }: { id: number }) {
  const query = useMembers(id)
  const names = useScopeNames(id)
  const organization = useOrganizations().data?.find((one) => one.id === id)
  const [inviting, setInviting] = useState<Inviting>(false)
  return (
    <>
      <PageHeader title="Members">
        <Group gap="sm">
          <CopyAs
            command="gantry members ls"
            curl={{ method: 'GET', path: `/organizations/${id}/members` }}
          />
          <GuardedButton
            permission="member:add"
            scope={{ organization: id }}
            icon={UserPlus}
            onClick={() => setInviting(true)}
          >
            Invite
          </GuardedButton>
        </Group>
      </PageHeader>
      {query.error instanceof GantryError && query.error.status === 403 ? (
        <p className="dimmed">You do not have permission to see the members of this organization.</p>
      ) : (
        <Loaded query={query} what="members">
          {({ members, invitations, roles }) => (
            <>
              <Section id="people" title={organization?.name ?? 'People'}>
                {organization && (
                  <Text mb="xs" size="sm" className="dimmed">
                    Owned by {organization.owner.name}
                  </Text>
                )}
                <MembersTable organizationId={id} members={members} roles={roles} names={names} />
              </Section>
              <PendingInvitations
                organizationId={id}
                invitations={invitations}
                names={names}
                inviteAgain={setInviting}
              />
              <RolesSection organizationId={id} roles={roles} members={members} invitations={invitations} />
              {inviting !== false && (
                <InviteDialog
                  organizationId={id}
                  earlier={inviting === true ? undefined : inviting}
                  roles={roles}
                  names={names}
                  close={() => setInviting(false)}
                />
              )}
            </>
          )}
        </Loaded>
      )}
    </>
  )
}

// What an organization consists of, for people: members, invitations, roles, and the scopes that roles apply to.
function useMembers(organizationId: number) {
  const api = useApi()
  return useQuery({
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
}

const MAX_NAMES = 1_000

function scopeNamesQuery(api: Api, organizationId: number) {
  return queryOptions({
    queryKey: queryKeys.scopeNames(organizationId),
    staleTime: 60_000,
    queryFn: async ({ signal }): Promise<ScopeNames> => {
      const query = {
        type: 'project,environment',
        within: `organization:${organizationId}`,
        per_page: MAX_NAMES,
      }
      const { items } = await api.page('/names', { params: { query }, signal })
      const ofType = (type: string) => items.filter((item) => item.type === type)
      return {
        projects: new Map(ofType('project').map(({ id, name }) => [Number(id), name])),
        environments: new Map(
          ofType('environment').map(({ id, name, project_id }) => [
            Number(id),
            { name, projectId: project_id },
          ]),
        ),
      }
    },
  })
}

const NONE: ScopeNames = { projects: new Map(), environments: new Map() }

/** Empty until they are loaded. */
function useScopeNames(organizationId: number): ScopeNames {
  return useQuery(scopeNamesQuery(useApi(), organizationId)).data ?? NONE
}
