import { Badge, Group, Table } from '@mantine/core'
import { useState } from 'react'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { Invitation } from '#web/base/api/types.ts'
import { ConfirmDialog } from '#web/base/ui/confirm-dialog.tsx'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { formatDate } from '#web/base/ui/format.ts'
import { Section } from '#web/base/ui/parts.tsx'
import { DataTable } from '#web/base/ui/table.tsx'
import { GrantLabels } from './grant-fields.tsx'
import type { ScopeNames } from './grant-input.ts'
import classes from './members.module.css'

type PendingInvitationsProps = {
  organizationId: number
  invitations: Invitation[]
  names: ScopeNames
  inviteAgain(invitation: Invitation): void
}

/** People who are invited and have not joined yet. */
export function PendingInvitations(props: PendingInvitationsProps) {
  const { organizationId, invitations, names, inviteAgain } = props
  const [revoking, setRevoking] = useState<Invitation>()
  if (invitations.length === 0) return null
  const scope = { organization: organizationId }
  return (
    <Section id="invitations" title="Pending invitations">
      <DataTable columns={['Email', 'Roles', 'Expires', 'Actions']} aria-label="Pending invitations">
        {invitations.map((invitation) => {
          const { id, email, grants, created_by_user, expires_at } = invitation
          const isExpired = Date.parse(expires_at) <= Date.now()
          return (
            <Table.Tr key={id}>
              <Table.Td className={classes.person}>
                <span className={classes.name}>{email}</span>
                <div className="dimmed wrap">Invited by {created_by_user.name}</div>
              </Table.Td>
              <Table.Td>
                <GrantLabels grants={grants} names={names} />
              </Table.Td>
              <Table.Td className="numeric">
                {isExpired ? (
                  <Badge variant="light" color="orange">
                    Expired
                  </Badge>
                ) : (
                  <time dateTime={expires_at}>{formatDate(expires_at)}</time>
                )}
              </Table.Td>
              <Table.Td className={classes.actions}>
                <Group gap="xs" justify="flex-end" wrap="nowrap">
                  <GuardedButton
                    permission="member:add"
                    scope={scope}
                    variant="default"
                    size="xs"
                    aria-label={`Invite again: ${email}`}
                    onClick={() => inviteAgain(invitation)}
                  >
                    Invite again
                  </GuardedButton>
                  <GuardedButton
                    permission="member:remove"
                    scope={scope}
                    variant="default"
                    size="xs"
                    aria-label={`Revoke the invitation of ${email}`}
                    onClick={() => setRevoking(invitation)}
                  >
                    Revoke
                  </GuardedButton>
                </Group>
              </Table.Td>
            </Table.Tr>
          )
        })}
      </DataTable>
      {revoking && (
        <RevokeInvitation
          organizationId={organizationId}
          invitation={revoking}
          close={() => setRevoking(undefined)}
        />
      )}
    </Section>
  )
}

type RevokeInvitationProps = { organizationId: number; invitation: Invitation; close(): void }

function RevokeInvitation({ organizationId, invitation, close }: RevokeInvitationProps) {
  const api = useApi()
  const refetch = useRefetch()
  return (
    <ConfirmDialog
      title="Revoke this invitation?"
      button="Revoke"
      color="red"
      done={`Invitation of ${invitation.email} revoked.`}
      onDone={() => refetch(queryKeys.members(organizationId))}
      act={() =>
        api.delete('/organizations/{id}/invitations/{invitation_id}', {
          params: { path: { id: organizationId, invitation_id: invitation.id } },
        })
      }
      close={close}
    >
      The link that was sent to {invitation.email} stops working immediately.
    </ConfirmDialog>
  )
}
