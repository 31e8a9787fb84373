// Where the link of an invitation leads: the one page for people who cannot sign in yet.
import { Button, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { Link } from 'wouter'
import { useApi } from '../api/services.ts'
import { ErrorAlert } from '../ui/page.tsx'
import { AccountPage, PasswordField } from './sign-in.tsx'

export default function InvitationPage({ token }: { token: string }) {
  const api = useApi()
  const form = useForm({ mode: 'uncontrolled', initialValues: { name: '', password: '' } })
  const { mutate, isPending, isSuccess, error } = useMutation({
    mutationFn: ({ name, password }: typeof form.values) => {
      const body = { token, password, ...(name.trim() !== '' && { name: name.trim() }) }
      return api.request('POST /users/accept-invitation', { body })
    },
  })
  return (
    <AccountPage title="Invitation" heading="Welcome to Gantry">
      {isSuccess ? (
        <Text>
          Your password is set. <Link href="/overview">Continue</Link>
        </Text>
      ) : (
        <form onSubmit={form.onSubmit((values) => mutate(values))}>
          <Text className="dimmed" mb="md">
            Choose a password to continue.
          </Text>
          <Stack gap="sm">
            {error && <ErrorAlert error={error} />}
            <TextInput
              label="Name"
              autoComplete="name"
              key={form.key('name')}
              {...form.getInputProps('name')}
            />
            <PasswordField
              autoComplete="new-password"
              minLength={8}
              key={form.key('password')}
              {...form.getInputProps('password')}
            />
            <Button type="submit" loading={isPending} fullWidth mt="xs">
              Set password
            </Button>
          </Stack>
        </form>
      )}
    </AccountPage>
  )
}
