import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { GantryError } from '#client/index.ts'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import { NewPasswordField, PASSWORD_LENGTH, PasswordField, UsernameField } from '../session/centered-page.tsx'
import { signInProblem } from '../session/problems.ts'
import { useSession } from '../session/session.ts'
import { RecordForm } from '../ui/form/record-form.tsx'
import { useRecordForm } from '../ui/form/use-record-form.ts'
import { notify } from '../ui/notify.ts'
import { SectionCard } from '../ui/parts.tsx'

/** Empty again after each change. */
export function PasswordSection() {
  const [count, setCount] = useState(0)
  return (
    <SectionCard id="password" title="Password">
      <PasswordForm key={count} onChanged={() => setCount(count + 1)} />
    </SectionCard>
  )
}

function PasswordForm({ onChanged }: { onChanged(): void }) {
  const api = useApi()
  const queries = useQueryClient()
  const { user } = useSession()
  const form = useRecordForm({
    id: 'password',
    initial: { current_password: '', new_password: '' },
    secrets: ['current_password', 'new_password'],
    validate: ({ new_password }) => ({
      new_password:
        new_password.length < PASSWORD_LENGTH.minLength
          ? `Must be at least ${PASSWORD_LENGTH.minLength} characters.`
          : null,
    }),
    save: (body) =>
      api.post('/users/me/password', { body }).catch((error: Error) => {
        // After too many wrong ones: when to try again.
        const isThrottled = error instanceof GantryError && error.status === 429
        throw isThrottled ? new Error(signInProblem(error, Date.now())) : error
      }),
    onSaved() {
      notify.done('Password changed. Your other sessions have ended.')
      void queries.invalidateQueries({ queryKey: queryKeys.sessions })
      onChanged()
    },
  })
  return (
    <RecordForm form={form} submit="Change password">
      <UsernameField email={user.email} />
      <PasswordField
        label="Current password"
        autoComplete="current-password"
        {...form.field('current_password')}
      />
      <NewPasswordField
        label="New password"
        description="At least 8 characters. Changing it ends your other sessions; tokens stay."
        {...form.field('new_password')}
      />
    </RecordForm>
  )
}
