// Where the link of a password reset leads.
import { Button, Stack, Text } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useApi } from '#web/base/api/queries.ts'
import { fieldErrors } from '#web/base/ui/field-errors.ts'
import { ErrorAlert, Loaded } from '#web/base/ui/page.tsx'
import { CenteredPage, NewPasswordField, UsernameField } from './centered-page.tsx'
import { DeadLinkPage, isSameEmail, OtherAccount, useLink, useLinkAction } from './links.tsx'
import { useVisitor } from './use-visitor.ts'

export default function ResetPasswordPage() {
  const { token, query } = useLink('reset-password', (api, init) =>
    api.post('/users/read-password-reset', init),
  )
  if (token === null)
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
  const form = useForm({ mode: 'uncontrolled', initialValues: { password: '' } })
  const { mutate, isPending, error } = useLinkAction(
    'reset-password',
    token,
    ({ password }: typeof form.values) => api.post('/users/reset-password', { body: { token, password } }),
  )
  const { errors, rest } = fieldErrors(error, ['password'])
  return (
    <form onSubmit={form.onSubmit((values) => mutate(values))}>
      <Text className="wrap" mb="md">
        For the account <strong>{email}</strong>. You are signed in afterward.
      </Text>
      <Stack gap="sm">
        {rest && <ErrorAlert error={rest} />}
        <UsernameField email={email} />
        <NewPasswordField
          label="New password"
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
