import { Text } from '@mantine/core'
import { useState } from 'react'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { UserAccount } from '#web/base/api/types.ts'
import { ConfirmDialog } from '#web/base/ui/confirm-dialog.tsx'
import { SecretOnce } from '#web/base/ui/copy-field.tsx'
import { DoneDialog } from '#web/base/ui/dialog.tsx'
import { formatDateTime } from '#web/base/ui/format.ts'
import { useReturnFocus } from '#web/base/ui/use-return-focus.ts'

/** Asks, and shows the link once. */
export function PasswordResetDialog({ user, close }: { user: UserAccount; close(): void }) {
  // It is two dialogs, one after the other.
  useReturnFocus()
  const api = useApi()
  const [link, setLink] = useState<{ url: string; expires_at: string }>()
  if (!link)
    return (
      <ConfirmDialog
        title={`Reset the password of ${user.email}?`}
        button="Create link"
        color="red"
        act={() => api.post('/users/{id}/password-reset', { params: { path: { id: user.id } } })}
        show={setLink}
        close={close}
      >
        You get a link with which {user.name} chooses a new password. All of their sessions end and their
        personal access tokens are revoked immediately.
      </ConfirmDialog>
    )
  return (
    <DoneDialog title={`New password for ${user.email}`} close={close} isPersistent>
      <SecretOnce label="Password reset link" value={link.url} />
      <Text size="sm" className="wrap">
        Send it to {user.name} over a channel that you trust. It works once, until{' '}
        {formatDateTime(link.expires_at)}.
      </Text>
    </DoneDialog>
  )
}

/** Deactivates an active account, and activates another one again. */
export function ChangeActive({ user, close }: { user: UserAccount; close(): void }) {
  const api = useApi()
  const refetch = useRefetch()
  const { id, email, active } = user
  return (
    <ConfirmDialog
      title={active ? `Deactivate ${email}?` : `Activate ${email}?`}
      button={active ? 'Deactivate' : 'Activate'}
      {...(active && { color: 'red' })}
      done={active ? `${email} deactivated.` : `${email} activated.`}
      onDone={() => refetch(queryKeys.users())}
      act={() => api.put('/users/{id}', { params: { path: { id } }, body: { active: !active } })}
      close={close}
    >
      {active
        ? 'Signs them out immediately. Their tokens and links are rejected until the account is activated again.'
        : 'They can sign in again, with the roles and tokens that they had.'}
    </ConfirmDialog>
  )
}
