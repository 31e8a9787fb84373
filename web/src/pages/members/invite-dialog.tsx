import { Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { Invitation } from '#web/base/api/types.ts'
import { FormDialog } from '#web/base/form/form-dialog.tsx'
import { useRecordForm } from '#web/base/form/use-record-form.ts'
import { SecretOnce } from '#web/base/ui/copy-field.tsx'
import { DoneDialog } from '#web/base/ui/dialog.tsx'
import { formatDateTime } from '#web/base/ui/format.ts'
import { MoreOptions } from '#web/base/ui/more-options.tsx'
import { Dimmed } from '#web/base/ui/parts.tsx'
import { useReturnFocus } from '#web/base/ui/use-return-focus.ts'
import { type GrantChoices, RoleSelect, ScopeSelect } from './grant-fields.tsx'
import { NEW_GRANT, toGrantBody, toGrantInput } from './grant-input.ts'

type InviteDialogProps = GrantChoices & {
  organizationId: number
  /** An earlier invitation, which the new one replaces. */
  earlier?: Invitation | undefined
  close(): void
}

export function InviteDialog({ organizationId, earlier, close, roles, names }: InviteDialogProps) {
  // It is two dialogs, one after the other.
  useReturnFocus()
  const api = useApi()
  const refetch = useRefetch()
  const [created, setCreated] = useState<Invitation>()
  const offered = earlier?.grants[0]
  const form = useRecordForm({
    id: earlier ? `invitation-${earlier.id}` : `invitation-new-${organizationId}`,
    initial: {
      email: earlier?.email ?? '',
      name: earlier?.name ?? '',
      ...(offered ? toGrantInput(offered) : NEW_GRANT),
    },
    // The API names what a role or a scope is made of.
    fields: (field) => (/^role/.test(field) ? 'role' : /_id$/.test(field) ? 'scope' : undefined),
    save: ({ email, name, ...grant }) =>
      api.post('/organizations/{id}/invitations', {
        params: { path: { id: organizationId } },
        body: {
          email: email.trim(),
          ...(name.trim() !== '' && { name: name.trim() }),
          ...toGrantBody(grant),
        },
      }),
    onSaved(invitation) {
      setCreated(invitation)
      void refetch(queryKeys.members(organizationId))
    },
  })
  if (created) return <CreatedDialog invitation={created} close={close} />
  return (
    <FormDialog
      title={earlier ? 'Invite again' : 'Invite to the organization'}
      form={form}
      submit="Create link"
      labels={{ scope: 'Access to' }}
      needs={{ permission: 'member:add', scope: { organization: organizationId } }}
      close={close}
    >
      {earlier && <Dimmed>You get a new link. The earlier one stops working.</Dimmed>}
      <TextInput
        label="Email"
        type="email"
        readOnly={earlier !== undefined}
        data-autofocus
        {...form.field('email')}
      />
      <RoleSelect
        label="Role"
        isDescribed
        value={form.values.role}
        roles={roles}
        error={form.errors.role ?? undefined}
        change={(role) => form.set('role', role)}
      />
      <ScopeSelect
        label="Access to"
        value={form.values.scope}
        names={names}
        error={form.errors.scope ?? undefined}
        change={(scope) => form.set('scope', scope)}
      />
      <MoreOptions isOpen={form.values.name !== ''}>
        <TextInput
          label="Name (optional)"
          description="Suggested to a person who has no account yet."
          maxLength={255}
          {...form.field('name')}
        />
      </MoreOptions>
    </FormDialog>
  )
}

function CreatedDialog({ invitation, close }: { invitation: Invitation; close(): void }) {
  return (
    <DoneDialog title={`Invitation of ${invitation.email}`} close={close} isPersistent>
      <SecretOnce label="Invitation link" value={invitation.url ?? ''} />
      <Text size="sm" className="wrap">
        Send it to {invitation.email} only: the first person to open it gets the role. It works once, until{' '}
        {formatDateTime(invitation.expires_at)}.
      </Text>
    </DoneDialog>
  )
}
