import { Button, Group, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useApi } from '../api/services.ts'
import type { UserAccount } from '../api/types.ts'
import { ConfirmDialog } from '../ui/confirm-dialog.tsx'
import { SecretOnce } from '../ui/copy-field.tsx'
import { formatDateTime } from '../ui/format.ts'
import { Dialog } from '../ui/parts.tsx'
import { useReturnFocus } from '../ui/use-return-focus.ts'

/** Asks, and shows the link once. */
export function PasswordResetDialog({ user, close }: { user: UserAccount; close(): void }) {
  // It is two dialogs, one after the other.
  useReturnFocus()
  const api = useApi()
  const { mutate, data, isPending, error } = useMutation({
    mutationFn: () => api.post('/users/{id}/password-reset', { params: { path: { id: user.id } } }),
    // The link does not outlive the dialog.
    gcTime: 0,
  })
  if (!data)
    return (
      <ConfirmDialog
        title={`Reset the password of ${user.email}?`}
        button="Create link"
        color="red"
        isPending={isPending}
        error={error}
        confirm={mutate}
        close={close}
      >
        <Text size="sm" className="wrap">
          You get a link with which {user.name} chooses a new password. All of their sessions end and their
          personal access tokens are revoked at once.
        </Text>
      </ConfirmDialog>
    )
  return (
    <Dialog title={`New password for ${user.email}`} size="lg" close={close} isPersistent>
      <Stack gap="md">
        <SecretOnce label="Password reset link" value={data.url} />
        <Text size="sm" className="wrap">
          Send it to {user.name} over a channel that you trust. It works once, until{' '}
          {formatDateTime(data.expires_at)}.
        </Text>
        <Group justify="flex-end">
          <Button onClick={close}>Done</Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
