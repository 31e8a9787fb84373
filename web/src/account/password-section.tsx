import { Button, Stack } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import { PASSWORD_LENGTH, PasswordField, UsernameField } from '../session/centered-page.tsx'
import { signInProblem } from '../session/problems.ts'
import { useSession } from '../session/session.ts'
import { fieldErrors } from '../ui/field-errors.ts'
import { ErrorAlert } from '../ui/page.tsx'
import { SectionCard } from '../ui/parts.tsx'

export function PasswordSection() {
  const api = useApi()
  const queries = useQueryClient()
  const { user } = useSession()
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { current_password: '', new_password: '' },
  })
  const { mutate, isPending, error } = useMutation({
    mutationFn: (body: typeof form.values) => api.post('/users/me/password', { body }),
    onSuccess() {
      form.reset()
      notifications.show({ message: 'Password changed. Your other sessions have ended.' })
      void queries.invalidateQueries({ queryKey: queryKeys.sessions })
    },
  })
  const { errors, rest } = fieldErrors(error, ['current_password', 'new_password'])
  return (
    <SectionCard id="password" title="Password">
      <form onSubmit={form.onSubmit((values) => mutate(values))}>
        <Stack gap="sm" align="flex-start">
          {rest && <ErrorAlert error={new Error(signInProblem(rest, Date.now()))} />}
          <UsernameField email={user.email} />
          <PasswordField
            label="Current password"
            w="min(24rem, 100%)"
            autoComplete="current-password"
            key={form.key('current_password')}
            {...form.getInputProps('current_password')}
            error={errors.current_password}
          />
          <PasswordField
            label="New password"
            w="min(24rem, 100%)"
            description="At least 8 characters. Changing it ends your other sessions; tokens stay."
            autoComplete="new-password"
            {...PASSWORD_LENGTH}
            key={form.key('new_password')}
            {...form.getInputProps('new_password')}
            error={errors.new_password}
          />
          <Button type="submit" variant="default" loading={isPending}>
            Change password
          </Button>
        </Stack>
      </form>
    </SectionCard>
  )
}
