// Where the link of a password reset leads.
import { Button, Stack, Text } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import { fieldErrors } from '../ui/field-errors.ts'
import { ErrorAlert, Loaded } from '../ui/page.tsx'
import { CenteredPage, PASSWORD_LENGTH, PasswordField, UsernameField } from './centered-page.tsx'
import { DeadLinkPage, isDeadLink, isSameEmail, OtherAccount } from './link-notices.tsx'
import { forgetLinkToken, useLinkToken } from './link-token.ts'
import { useVisitor } from './use-visitor.ts'

export default function ResetPasswordPage() {
  const api = useApi()
  const token = useLinkToken('reset-password')
  const query = useQuery({
    queryKey: queryKeys.passwordReset(token),
    enabled: token !== null,
    queryFn: ({ signal }) => api.post('/users/read-password-reset', { body: { token: token! }, signal }),
  })
  if (token === null || isDeadLink(query.error))
    return (
      <DeadLinkPage title="Reset password">
        It was already used, has expired, or was replaced by a newer one. Ask an administrator for a new link.
      </DeadLinkPage>
    )
  return (
    <CenteredPage title="Reset password" heading="Choose a new password">
      <Loaded query={query} what="link">
        {({ email }) => <ForAccount token={token} email={email} />}
      </Loaded>
    </CenteredPage>
  )
}

type ResetProps = { token: string; email: string }

function ForAccount({ token, email }: ResetProps) {
  const { query, signOut } = useVisitor()
  return (
    <Loaded query={query} what="session">
      {(visitor) =>
        visitor && !isSameEmail(visitor.email, email) ? (
          <OtherAccount current={visitor.email} expected={email} signOut={signOut} />
        ) : (
          <ResetForm token={token} email={email} />
        )
      }
    </Loaded>
  )
}

function ResetForm({ token, email }: ResetProps) {
  const api = useApi()
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const form = useForm({ mode: 'uncontrolled', initialValues: { password: '' } })
  const { mutate, isPending, error } = useMutation({
    mutationFn: ({ password }: typeof form.values) =>
      api.post('/users/reset-password', { body: { token, password } }),
    onSuccess() {
      // The cookie is set. What was loaded before was loaded without it.
      queries.clear()
      navigate('/overview', { replace: true })
      forgetLinkToken('reset-password')
    },
    // It may have been used or replaced meanwhile.
    onError: () => void queries.invalidateQueries({ queryKey: queryKeys.passwordReset(token) }),
  })
  const { errors, rest } = fieldErrors(error, ['password'])
  return (
    <form onSubmit={form.onSubmit((values) => mutate(values))}>
      <Text className="wrap" mb="md">
        For the account <strong>{email}</strong>. You are signed in afterward.
      </Text>
      <Stack gap="sm">
        {rest && <ErrorAlert error={rest} />}
        <UsernameField email={email} />
        <PasswordField
          label="New password"
          description="At least 8 characters"
          autoComplete="new-password"
          {...PASSWORD_LENGTH}
          key={form.key('password')}
          {...form.getInputProps('password')}
          error={errors.password}
        />
        <Button type="submit" loading={isPending} fullWidth mt="xs">
          Set password
        </Button>
      </Stack>
    </form>
  )
}
