import { Button, Paper, Text, Title } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { Invitation } from '../api/types.ts'
import { ConfirmDialog } from '../ui/confirm-dialog.tsx'
import { formatDate } from '../ui/format.ts'
import { Item, ItemList } from '../ui/item-list.tsx'
import { GrantLabels } from './grant-labels.tsx'

type PendingInvitationsProps = { organizationId: number; invitations: Invitation[] }

/** People who are invited and have not joined yet. */
export function PendingInvitations({ organizationId, invitations }: PendingInvitationsProps) {
  const [removing, setRemoving] = useState<Invitation>()
  if (invitations.length === 0) return null
  return (
    <>
      <Title order={3} size="h6" mt="md" mb="xs">
        Pending invitations
      </Title>
      <Paper withBorder px="sm">
        <ItemList>
          {invitations.map((invitation) => (
            <Item
              key={invitation.id}
              title={invitation.email}
              action={
                <Button
                  variant="default"
                  size="xs"
                  onClick={() => setRemoving(invitation)}
                  aria-label={`Remove the invitation of ${invitation.email}`}
                >
                  Remove
                </Button>
              }
            >
              <GrantLabels grants={invitation.grants} />
              {` · expires ${formatDate(invitation.expires_at)}`}
            </Item>
          ))}
        </ItemList>
      </Paper>
      {removing && (
        <RemoveInvitation
          organizationId={organizationId}
          invitation={removing}
          close={() => setRemoving(undefined)}
        />
      )}
    </>
  )
}

type RemoveInvitationProps = { organizationId: number; invitation: Invitation; close(): void }

function RemoveInvitation({ organizationId, invitation, close }: RemoveInvitationProps) {
  const api = useApi()
  const queries = useQueryClient()
  const { mutate, isPending, error } = useMutation({
    mutationFn: () =>
      api.delete('/organizations/{id}/invitations/{invitation_id}', {
        params: { path: { id: organizationId, invitation_id: invitation.id } },
      }),
    onSuccess() {
      close()
      void queries.invalidateQueries({ queryKey: queryKeys.members(organizationId) })
    },
  })
  return (
    <ConfirmDialog
      title="Remove this invitation?"
      button="Remove"
      color="red"
      isPending={isPending}
      error={error}
      confirm={mutate}
      close={close}
    >
      <Text size="sm" className="wrap">
        The link that was sent to {invitation.email} stops working at once.
      </Text>
    </ConfirmDialog>
  )
}
