import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { UserAccount } from '../api/types.ts'
import { ConfirmChange } from '../ui/confirm-change.tsx'

/** Deactivates an active account, and activates another one again. */
export function ChangeActive({ user, close }: { user: UserAccount; close(): void }) {
  const api = useApi()
  const { id, email, active } = user
  return (
    <ConfirmChange
      title={active ? `Deactivate ${email}?` : `Activate ${email}?`}
      button={active ? 'Deactivate' : 'Activate'}
      {...(active && { color: 'red' })}
      done={active ? `${email} deactivated.` : `${email} activated.`}
      invalidates={queryKeys.users()}
      change={() => api.put('/users/{id}', { params: { path: { id } }, body: { active: !active } })}
      close={close}
    >
      {active
        ? 'Signs them out at once. Their tokens and links are rejected until the account is activated again.'
        : 'They can sign in again, with the roles and tokens that they had.'}
    </ConfirmChange>
  )
}
