import { Text } from '@mantine/core'
import { useState } from 'react'
import { useApi } from '../api/queries.ts'
import type { UserAccount } from '../api/types.ts'
import { ConfirmDialog } from '../ui/confirm-dialog.tsx'
import { SecretOnce } from '../ui/copy-field.tsx'
import { DoneDialog } from '../ui/dialog.tsx'
import { formatDateTime } from '../ui/format.ts'
import { useReturnFocus } from '../ui/use-return-focus.ts'

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
        personal access tokens are revoked at once.
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
