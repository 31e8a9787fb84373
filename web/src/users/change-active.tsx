import { queryKeys, useApi, useRefetch } from '../api/queries.ts'
import type { UserAccount } from '../api/types.ts'
import { ConfirmDialog } from '../ui/confirm-dialog.tsx'

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
        ? 'Signs them out at once. Their tokens and links are rejected until the account is activated again.'
        : 'They can sign in again, with the roles and tokens that they had.'}
    </ConfirmDialog>
  )
}
