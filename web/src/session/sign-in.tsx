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
import { useMutation, useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect } from 'react'
import { ApiError } from '../api/api.ts'
import { useApi } from '../api/services.ts'

type SignIn = (email: string, password: string) => Promise<void>

export function SignInPage({ signIn }: { signIn: SignIn }) {
  return (
    <AccountPage title="Sign in" heading="Gantry">
      <Text className="dimmed" mb="md">
        Sign in to see what is running, what failed and why.
      </Text>
      <SingleSignOn />
      <SignInForm signIn={signIn} />
    </AccountPage>
  )
}

const PROBLEMS: Record<string, string> = {
  sso_unavailable: 'The identity provider is not available. Try again in a moment.',
  sso_rejected: 'The identity provider did not sign you in.',
  sso_expired: 'This sign-in took too long or was already used. Try again.',
  sso_no_account: 'There is no account for you yet. Ask for an invitation.',
  sso_email_taken: 'Your email address has an account. Sign in to it, then link single sign-on there.',
}

/** The button that leads to the identity provider, if there is one, and why it led back. */
function SingleSignOn() {
  const api = useApi()
  const options = useQuery({
    queryKey: ['sign-in-options'],
    queryFn: ({ signal }) => api.request('GET /session/options', { signal }),
  })
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => api.request('POST /session/oidc', { body: {} }),
    onSuccess: ({ url }) => window.location.assign(url),
  })
  const code = new URLSearchParams(window.location.search).get('problem') ?? ''
  const problem = error ? errorMessage(error) : Object.hasOwn(PROBLEMS, code) && PROBLEMS[code]
  return (
    <Stack gap="sm" mb="sm">
      {problem && (
        <Alert color="red" role="alert">
          {problem}
        </Alert>
      )}
      {options.data?.oidc && (
        <Button variant="default" fullWidth loading={isPending} onClick={() => mutate()}>
          {options.data.oidc.label}
        </Button>
      )}
    </Stack>
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
