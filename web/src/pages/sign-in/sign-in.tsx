import '#web/base/ui/more-styles.ts'
import { Alert, Button, Code, Divider, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { Link, useSearchParams } from 'wouter'
import { Loading } from '#web/base/ui/page.tsx'
import { CenteredPage, PasswordField } from './centered-page.tsx'
import { readLinkToken } from './link-token.ts'
import { signInProblem, singleSignOnProblem } from './problems.ts'
import { SingleSignOnButton, useSignInOptions } from './sign-in-options.tsx'

export type SignIn = (email: string, password: string) => Promise<void>

/** `problem`: single sign-on leads back here when it failed. */
export function SignInPage({ signIn }: { signIn: SignIn }) {
  const [search] = useSearchParams()
  const problem = singleSignOnProblem(search.get('problem'))
  return (
    <CenteredPage title="Sign in" heading="Gantry">
      <Text className="dimmed" mb="md">
        Sign in to see what is running, what failed and why.
      </Text>
      {problem && (
        <Alert color="red" role="alert" title="Single sign-on failed" mb="md">
          {problem}
          {readLinkToken('invitation') && (
            <div>
              <Link href="/invitation">Back to the invitation</Link>
            </div>
          )}
        </Alert>
      )}
      <SignInForm signIn={signIn} />
    </CenteredPage>
  )
}

type SignInFormProps = {
  signIn: SignIn
  /** The account to sign in to; the person can still enter another one unless it is fixed. */
  email?: string
  isFixed?: boolean
}

/** Every way to sign in that this installation offers. */
export function SignInForm(props: SignInFormProps) {
  const { data: options, isPending } = useSignInOptions()
  if (isPending) return <Loading what="sign-in" />
  // If the options cannot be read, the password form shows what is wrong.
  const { password, oidc } = options ?? { password: true, oidc: null }
  return (
    <Stack gap="sm">
      {password && <PasswordForm {...props} />}
      {password && oidc && <Divider label="or" />}
      {oidc && <SingleSignOnButton label={oidc.label} variant={password ? 'default' : 'filled'} />}
    </Stack>
  )
}

function PasswordForm({ signIn, email, isFixed }: SignInFormProps) {
  const first = useRef<HTMLInputElement>(null)
  const form = useForm({ mode: 'uncontrolled', initialValues: { email: email ?? '', password: '' } })
  const { mutate, isPending, error } = useMutation({
    mutationFn: (values: typeof form.values) => signIn(values.email.trim(), values.password),
    // Back to the field that is most likely wrong, with its text selected.
    onError: () => focusOn(first.current?.form?.elements.namedItem('password')),
  })
  // In a dialog, `data-autofocus` keeps the focus there.
  useEffect(() => focusOn(first.current), [])
  return (
    <form onSubmit={form.onSubmit((values) => mutate(values))}>
      <Stack gap="sm">
        {error && (
          <Alert color="red" role="alert">
            {signInProblem(error, Date.now())}
          </Alert>
        )}
        <TextInput
          label="Email"
          type="email"
          name="username"
          autoComplete="username"
          required
          withAsterisk={false}
          readOnly={isFixed}
          ref={email === undefined ? first : undefined}
          data-autofocus={email === undefined || undefined}
          key={form.key('email')}
          {...form.getInputProps('email')}
        />
        <PasswordField
          name="password"
          autoComplete="current-password"
          ref={email === undefined ? undefined : first}
          data-autofocus={email !== undefined || undefined}
          key={form.key('password')}
          {...form.getInputProps('password')}
        />
        <Button type="submit" loading={isPending} fullWidth mt="xs">
          Sign in
        </Button>
        <LostPassword />
      </Stack>
    </form>
  )
}

function LostPassword() {
  return (
    <details className="more-options wrap">
      <summary>Lost your password?</summary>
      <Text size="sm" mt="xs">
        Ask an instance administrator for a reset link. If you run this Gantry, make one yourself on its
        machine, in the checkout or with the installed package:
      </Text>
      <Code block mt="xs">
        {'npm run reset-password -- you@example.com\n'}
        {'gantry-server reset-password you@example.com'}
      </Code>
    </details>
  )
}

function focusOn(element: unknown): void {
  if (!(element instanceof HTMLInputElement)) return
  element.focus()
  element.select()
}
