// Where the link of an invitation leads: the one page for people who cannot sign in yet.
import { Alert, Button, PasswordInput, Stack, TextInput, Title } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useEffect } from 'react'
import { Link } from 'wouter'
import { Refusal } from '../api/api.ts'
import { useApi } from '../api/services.ts'
import classes from './sign-in.module.css'

export default function InvitationPage({ token }: { token: string }) {
  const api = useApi()
  const { mutate, isPending, isSuccess, error } = useMutation({
    mutationFn: (body: { name?: string; password: string }) =>
      api.ask('POST /users/accept-invitation', { body: { token, ...body } }),
  })
  useEffect(() => {
    document.title = 'Invitation · Gantry'
  }, [])

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const name = String(form.get('name')).trim()
    mutate({ password: String(form.get('password')), ...(name !== '' && { name }) })
  }

  return (
    <main className={classes.page}>
      <div className={classes.card}>
        <Title order={1} size="h2">
          Welcome to Gantry
        </Title>
        {isSuccess ? (
          <p>
            Your password is set. <Link href="/overview">Sign in</Link>.
          </p>
        ) : (
          <form onSubmit={submit}>
            <p className={classes.lead}>Choose a password to go on.</p>
            <Stack gap="sm">
              {error && (
                <Alert color="red" variant="light" role="alert">
                  {error.message}
                  {error instanceof Refusal &&
                    Object.entries(error.fields).map(([field, faults]) => (
                      <div key={field}>
                        {field}: {faults.join('; ')}
                      </div>
                    ))}
                </Alert>
              )}
              <TextInput label="Your name" name="name" autoComplete="name" />
              <PasswordInput
                label="Password"
                name="password"
                autoComplete="new-password"
                minLength={8}
                required
                withAsterisk={false}
                visibilityToggleButtonProps={{ 'aria-label': 'Show the password' }}
              />
              <Button type="submit" loading={isPending} fullWidth mt="xs">
                Set the password
              </Button>
            </Stack>
          </form>
        )}
      </div>
    </main>
  )
}
