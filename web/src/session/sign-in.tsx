import {
  Alert,
  Button,
  Center,
  Paper,
  PasswordInput,
  type PasswordInputProps,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useEffect } from 'react'
import { ApiError } from '../api/api.ts'

type SignIn = (email: string, password: string) => Promise<void>

export function SignInPage({ signIn }: { signIn: SignIn }) {
  return (
    <AccountPage title="Sign in" heading="Gantry">
      <Text className="dimmed" mb="md">
        Sign in to see what is running, what failed and why.
      </Text>
      <SignInForm signIn={signIn} />
    </AccountPage>
  )
}

type AccountPageProps = { title: string; heading: string; children: ReactNode }

/** The layout of pages for people who are not signed in. */
export function AccountPage({ title, heading, children }: AccountPageProps) {
  useEffect(() => {
    document.title = `${title} · Gantry`
  }, [title])
  return (
    <Center component="main" mih="100dvh" p="md">
      <Paper withBorder p="xl" w="min(24rem, 100%)">
        <Title order={1} size="h2">
          {heading}
        </Title>
        {children}
      </Paper>
    </Center>
  )
}

/** `email`: of the person whose session has ended. */
export function SignInForm({ signIn, email }: { signIn: SignIn; email?: string }) {
  const form = useForm({ mode: 'uncontrolled', initialValues: { email: email ?? '', password: '' } })
  const { mutate, isPending, error } = useMutation({
    mutationFn: (values: typeof form.values) => signIn(values.email.trim(), values.password),
  })
  return (
    <form onSubmit={form.onSubmit((values) => mutate(values))}>
      <Stack gap="sm">
        {error && (
          <Alert color="red" role="alert">
            {errorMessage(error)}
          </Alert>
        )}
        <TextInput
          label="Email"
          type="email"
          autoComplete="username"
          required
          withAsterisk={false}
          data-autofocus={email === undefined || undefined}
          key={form.key('email')}
          {...form.getInputProps('email')}
        />
        <PasswordField
          autoComplete="current-password"
          data-autofocus={email !== undefined || undefined}
          key={form.key('password')}
          {...form.getInputProps('password')}
        />
        <Button type="submit" loading={isPending} fullWidth mt="xs">
          Sign in
        </Button>
      </Stack>
    </form>
  )
}

export function PasswordField(props: PasswordInputProps & { 'data-autofocus'?: true | undefined }) {
  return (
    <PasswordInput
      label="Password"
      required
      withAsterisk={false}
      visibilityToggleButtonProps={{ 'aria-label': 'Show password' }}
      {...props}
    />
  )
}

function errorMessage(error: Error): string {
  if (!(error instanceof ApiError)) return 'Gantry is unreachable. Try again in a moment.'
  return error.status === 401 ? 'Incorrect email or password' : error.message
}
