import { Alert, Button, PasswordInput, Stack, TextInput, Title } from '@mantine/core'
import { type FormEvent, useEffect, useState } from 'react'
import { Refusal } from '../api/api.ts'
import classes from './sign-in.module.css'

type SignIn = (email: string, password: string) => Promise<void>

export function SignInPage({ signIn }: { signIn: SignIn }) {
  useEffect(() => {
    document.title = 'Sign in · Gantry'
  }, [])
  return (
    <main className={classes.page}>
      <div className={classes.card}>
        <Title order={1} size="h2">
          Gantry
        </Title>
        <p className={classes.lead}>Sign in to see what runs, what failed, and who was told.</p>
        <SignInForm signIn={signIn} />
      </div>
    </main>
  )
}

export function SignInForm({ signIn, email }: { signIn: SignIn; email?: string }) {
  const [fault, setFault] = useState<string>()
  const [isBusy, setBusy] = useState(false)

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    setBusy(true)
    setFault(undefined)
    try {
      await signIn(String(form.get('email')).trim(), String(form.get('password')))
    } catch (error) {
      setFault(inWords(error))
      setBusy(false)
    }
  }

  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        {fault && (
          <Alert color="red" variant="light" role="alert">
            {fault}
          </Alert>
        )}
        <TextInput
          label="E-mail"
          name="email"
          type="email"
          autoComplete="username"
          defaultValue={email}
          required
          withAsterisk={false}
          data-autofocus={email === undefined || undefined}
        />
        <PasswordInput
          label="Password"
          name="password"
          autoComplete="current-password"
          required
          withAsterisk={false}
          data-autofocus={email !== undefined || undefined}
          visibilityToggleButtonProps={{ 'aria-label': 'Show the password' }}
        />
        <Button type="submit" loading={isBusy} fullWidth mt="xs">
          Sign in
        </Button>
      </Stack>
    </form>
  )
}

function inWords(error: unknown): string {
  if (!(error instanceof Refusal)) return 'Gantry cannot be reached right now. Try again in a moment.'
  if (error.status === 401) return 'This e-mail and password do not go together.'
  return error.message
}
