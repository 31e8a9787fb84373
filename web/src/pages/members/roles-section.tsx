import { Badge, Table } from '@mantine/core'
import { Pencil, Plus } from 'lucide-react'
import { useState } from 'react'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { Invitation, Member, Role } from '#web/base/api/types.ts'
import { usePermission } from '#web/base/session/permissions.ts'
import { ConfirmDialog } from '#web/base/ui/confirm-dialog.tsx'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { GuardedMenuItem, MoreMenu, RemoveMenuItem } from '#web/base/ui/menus.tsx'
import { Section } from '#web/base/ui/parts.tsx'
import { DataTable } from '#web/base/ui/table.tsx'
import { NameCell } from './grant-fields.tsx'
import classes from './members.module.css'
import { ChangeRoleDialog, NewRoleDialog } from './role-dialog.tsx'
import { BUILT_IN_ROLES, summarizePermissions } from './roles.ts'

type RolesSectionProps = {
  organizationId: number
  roles: Role[]
  members: Member[]
  invitations: Invitation[]
}

export function RolesSection({ organizationId, roles, members, invitations }: RolesSectionProps) {
  const { allowed: canChange } = usePermission('member:edit', { organization: organizationId })
  const [isAdding, setAdding] = useState(false)
  const [changing, setChanging] = useState<Role>()
  const [removing, setRemoving] = useState<Role>()
  const holders = (isHeld: (grant: Member['grants'][number]) => boolean) =>
    members.filter(({ grants }) => grants.some(isHeld)).map(({ user }) => user.name)
  return (
    <Section id="roles" title="Roles">
      <DataTable columns={['Role', 'Allows', 'Members', 'Actions']} aria-label="Roles">
        {BUILT_IN_ROLES.map(({ role, label, description }) => (
          <Table.Tr key={role}>
            <Table.Td className={classes.person}>
              <span className={classes.name}>{label}</span>{' '}
              <Badge variant="default" size="sm">
                Built-in
              </Badge>
            </Table.Td>
            <Table.Td className={classes.allows}>{description}</Table.Td>
            <Table.Td>
              <Holders names={holders((grant) => grant.role === role)} />
            </Table.Td>
            <Table.Td />
          </Table.Tr>
        ))}
        {roles.map((role) => (
          <Table.Tr key={role.id}>
            <Table.Td className={classes.person}>
              <NameCell name={role.name} canChange={canChange} change={() => setChanging(role)} />
            </Table.Td>
            <Table.Td className={classes.allows}>{summarizePermissions(role.permissions)}</Table.Td>
            <Table.Td>
              <Holders names={holders((grant) => grant.role_id === role.id)} />
              <Offers
                count={
                  invitations.filter((one) => one.grants.some((grant) => grant.role_id === role.id)).length
                }
              />
            </Table.Td>
            <Table.Td className={classes.actions}>
              <MoreMenu label={`Actions for the role ${role.name}`} isSmall>
                <GuardedMenuItem
                  permission="member:edit"
                  scope={{ organization: organizationId }}
                  icon={Pencil}
                  onClick={() => setChanging(role)}
                >
                  Edit role
                </GuardedMenuItem>
                <RemoveMenuItem
                  permission="member:remove"
                  scope={{ organization: organizationId }}
                  onClick={() => setRemoving(role)}
                />
              </MoreMenu>
            </Table.Td>
          </Table.Tr>
        ))}
      </DataTable>
      <GuardedButton
        permission="member:add"
        scope={{ organization: organizationId }}
        variant="default"
        size="xs"
        mt="sm"
        icon={Plus}
        onClick={() => setAdding(true)}
      >
        Add role
      </GuardedButton>
      {isAdding && <NewRoleDialog organizationId={organizationId} close={() => setAdding(false)} />}
      {changing && <ChangeRoleDialog role={changing} close={() => setChanging(undefined)} />}
      {removing && <RemoveRole role={removing} close={() => setRemoving(undefined)} />}
    </Section>
  )
}

const MAX_HOLDERS = 3

function Holders({ names }: { names: string[] }) {
  if (names.length === 0) return <span className="dimmed">No members</span>
  const rest = names.length - MAX_HOLDERS
  const shown = names.slice(0, MAX_HOLDERS).join(', ')
  return <span title={names.join(', ')}>{rest > 0 ? `${shown} and ${rest} more` : shown}</span>
}

function Offers({ count }: { count: number }) {
  if (count === 0) return null
  return <div className="dimmed">{count === 1 ? '1 invitation' : `${count} invitations`}</div>
}

/** The API says who has it, if anybody does. */
function RemoveRole({ role, close }: { role: Role; close(): void }) {
  const api = useApi()
  const refetch = useRefetch()
  return (
    <ConfirmDialog
      title={`Remove ${role.name}?`}
      button="Remove role"
      color="red"
      done={`Role ${role.name} removed.`}
      onDone={() => refetch(queryKeys.members(role.organization_id))}
      act={() => api.delete('/roles/{id}', { params: { path: { id: role.id } } })}
      close={close}
    >
      A role can be removed once no member has it and no invitation offers it.
    </ConfirmDialog>
  )
}
