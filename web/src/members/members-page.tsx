// Who belongs to the selected organization and may do what there: members, invitations and roles.
import { Group, Text } from '@mantine/core'
import { UserPlus } from 'lucide-react'
import { useState } from 'react'
import { GantryError } from '#client/index.ts'
import type { Invitation } from '../api/types.ts'
import { CopyAs } from '../copy-as/copy-as.tsx'
import { NoOrganization } from '../scope/each-environment.tsx'
import { useOrganizations } from '../scope/tree.ts'
import { useOrganizationId } from '../scope/use-organization-id.ts'
import { GuardedButton } from '../ui/guarded-button.tsx'
import { Loaded, PageHeader } from '../ui/page.tsx'
import { Section } from '../ui/parts.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { MembersTable } from './members-table.tsx'
import { PendingInvitations } from './pending-invitations.tsx'
import { RolesSection } from './roles-section.tsx'
import { useMembers, useScopeNames } from './use-organization-roles.ts'

export default function MembersPage() {
  const organizationId = useOrganizationId()
  const organizations = useOrganizations()
  if (organizationId !== undefined) return <OrganizationMembers key={organizationId} id={organizationId} />
  return (
    <>
      <PageHeader title="Members" />
      <Loaded query={organizations} what="organizations">
        {() => <NoOrganization />}
      </Loaded>
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
            leftSection={<UserPlus size={16} strokeWidth={1.75} aria-hidden="true" />}
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
