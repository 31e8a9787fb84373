import { Badge, Table, TextInput } from '@mantine/core'
import { UserPen } from 'lucide-react'
import { useState } from 'react'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { Member } from '#web/base/api/types.ts'
import { usePermission } from '#web/base/session/permissions.ts'
import { useSession } from '#web/base/session/session.ts'
import { ConfirmDialog } from '#web/base/ui/confirm-dialog.tsx'
import { GuardedMenuItem, MoreMenu, RemoveMenuItem } from '#web/base/ui/menus.tsx'
import { DataTable } from '#web/base/ui/table.tsx'
import { ChangeMemberDialog } from './change-member-dialog.tsx'
import { type GrantChoices, GrantLabels, NameCell } from './grant-fields.tsx'
import classes from './members.module.css'

type MembersTableProps = GrantChoices & { organizationId: number; members: Member[] }

/** More are worth a search. */
const MAX_UNSEARCHED = 10

export function MembersTable({ organizationId, members, ...choices }: MembersTableProps) {
  const { user: me } = useSession()
  const { allowed: canChange } = usePermission('member:edit', { organization: organizationId })
  const [text, setText] = useState('')
  const [changing, setChanging] = useState<Member>()
  const [removing, setRemoving] = useState<Member>()
  const shown = members.filter(({ user }) =>
    `${user.name}\n${user.email}`.toLowerCase().includes(text.trim().toLowerCase()),
  )
  return (
    <>
      {members.length > MAX_UNSEARCHED && (
        <TextInput
          className={classes.search}
          size="xs"
          mb="xs"
          placeholder="Search by name or email"
          aria-label="Search members"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      )}
      <DataTable columns={['Name', 'Roles', 'Actions']} aria-label="Members">
        {shown.map((member) => {
          const { user, grants } = member
          return (
            <Table.Tr key={user.id}>
              <Table.Td className={classes.person}>
                <NameCell name={user.name} canChange={canChange} change={() => setChanging(member)} />{' '}
                {user.id === me.id && (
                  <Badge variant="light" size="sm">
                    You
                  </Badge>
                )}
                {!user.active && (
                  <Badge variant="light" size="sm" color="orange">
                    Deactivated
                  </Badge>
                )}
                <div className="dimmed wrap">{user.email}</div>
              </Table.Td>
              <Table.Td>
                <GrantLabels grants={grants} names={choices.names} />
              </Table.Td>
              <Table.Td className={classes.actions}>
                <MoreMenu label={`Actions for ${user.name}`} isSmall>
                  <GuardedMenuItem
                    permission="member:edit"
                    scope={{ organization: organizationId }}
                    icon={UserPen}
                    onClick={() => setChanging(member)}
                  >
                    Change roles
                  </GuardedMenuItem>
                  <RemoveMenuItem
                    permission="member:remove"
                    scope={{ organization: organizationId }}
                    onClick={() => setRemoving(member)}
                  />
                </MoreMenu>
              </Table.Td>
            </Table.Tr>
          )
        })}
      </DataTable>
      {shown.length === 0 && <p className="dimmed">No member matches “{text.trim()}”.</p>}
      {changing && (
        <ChangeMemberDialog
          organizationId={organizationId}
          userId={changing.user.id}
          name={changing.user.name}
          close={() => setChanging(undefined)}
          {...choices}
        />
      )}
      {removing && (
        <RemoveMember
          organizationId={organizationId}
          member={removing}
          close={() => setRemoving(undefined)}
        />
      )}
    </>
  )
}

type RemoveMemberProps = { organizationId: number; member: Member; close(): void }

function RemoveMember({ organizationId, member: { user }, close }: RemoveMemberProps) {
  const api = useApi()
  const refetch = useRefetch()
  return (
    <ConfirmDialog
      title={`Remove ${user.name}?`}
      button="Remove member"
      color="red"
      done={`${user.name} removed.`}
      onDone={() => refetch(queryKeys.members(organizationId))}
      act={() =>
        api.delete('/organizations/{id}/members/{user_id}', {
          params: { path: { id: organizationId, user_id: user.id } },
        })
      }
      close={close}
    >
      {user.name} ({user.email}) loses all roles in this organization immediately. The account itself stays.
    </ConfirmDialog>
  )
}
