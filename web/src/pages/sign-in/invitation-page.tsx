// Where the link of an invitation leads: people create their account here, or sign in to the one they have, and join.
import { Button, Divider, List, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import type { Data } from '#client/index.ts'
import { useApi } from '#web/base/api/queries.ts'
import { fieldErrors } from '#web/base/ui/field-errors.ts'
import { ErrorAlert, Loaded } from '#web/base/ui/page.tsx'
import { CenteredPage, NewPasswordField, UsernameField } from './centered-page.tsx'
import { grantLabel } from './grant-label.ts'
import { DeadLinkPage, isSameEmail, OtherAccount, useLink, useLinkAction } from './links.tsx'
import { SignInForm } from './sign-in.tsx'
import { SingleSignOnButton, useSignInOptions } from './sign-in-options.tsx'
import { useVisitor } from './use-visitor.ts'

type Invitation = Data<'post', '/users/read-invitation'>

export default function InvitationPage() {
  const { token, query } = useLink('invitation', (api, init) => api.post('/users/read-invitation', init))
  if (token === null)
    return (
      <DeadLinkPage title="Invitation">
        It was already used, has expired, or was replaced by a newer one. Ask the person who invited you for a
        new invitation.
      </DeadLinkPage>
    )
  return (
    <CenteredPage
      title="Invitation"
      heading={query.data ? `Join ${query.data.organization_name}` : 'Invitation'}
    >
      <Loaded query={query} what="invitation">
        {(invitation) => <Welcome token={token} invitation={invitation} />}
      </Loaded>
    </CenteredPage>
  )
}

type InvitationProps = { token: string; invitation: Invitation }

function Welcome({ token, invitation }: InvitationProps) {
  const { query, signIn, signOut } = useVisitor()
  const { email, organization_name, grants, account } = invitation
  return (
    <>
      <Text className="wrap">
        You are invited to {organization_name} on Gantry as <strong>{email}</strong>.
      </Text>
      <List mt="xs" mb="md" className="wrap">
        {grants.map((grant) => (
          <List.Item key={grantLabel(grant)}>{grantLabel(grant)}</List.Item>
        ))}
      </List>
      <Loaded query={query} what="session">
        {(visitor) => {
          if (visitor && !isSameEmail(visitor.email, email))
            return <OtherAccount current={visitor.email} expected={email} signOut={signOut} />
          if (visitor) return <Join token={token} invitation={invitation} />
          if (account === 'new') return <CreateAccount token={token} invitation={invitation} />
          return (
            <>
              <Text mb="sm">Sign in to your account to join.</Text>
              <SignInForm signIn={signIn} email={email} isFixed />
            </>
          )
        }}
      </Loaded>
    </>
  )
}

function useAccept(token: string) {
  const api = useApi()
  return useLinkAction('invitation', token, (values: { name?: string; password?: string }) =>
    api.post('/users/accept-invitation', { body: { token, ...values } }),
  )
}

function Join({ token, invitation }: InvitationProps) {
  const { mutate, isPending, error } = useAccept(token)
  return (
    <Stack gap="sm">
      {error && <ErrorAlert error={error} />}
      <Button fullWidth loading={isPending} onClick={() => mutate({})}>
        Join {invitation.organization_name}
      </Button>
    </Stack>
  )
}

function CreateAccount({ token, invitation }: InvitationProps) {
  const { data: options, isPending } = useSignInOptions()
  if (isPending) return null
  const { password, oidc } = options ?? { password: true, oidc: null }
  return (
    <Stack gap="sm">
      {password && <AccountForm token={token} invitation={invitation} />}
      {password && oidc && <Divider label="or" />}
      {oidc && (
        <SingleSignOnButton
          label={oidc.label}
          invitationToken={token}
          variant={password ? 'default' : 'filled'}
        />
      )}
    </Stack>
  )
}

function AccountForm({ token, invitation: { name, email } }: InvitationProps) {
  const form = useForm({ mode: 'uncontrolled', initialValues: { name: name ?? '', password: '' } })
  const { mutate, isPending, error } = useAccept(token)
  const { errors, rest } = fieldErrors(error, ['name', 'password'])
  return (
    <form
      onSubmit={form.onSubmit(({ name, password }) =>
        mutate({ password, ...(name.trim() !== '' && { name: name.trim() }) }),
      )}
    >
      <Stack gap="sm">
        {rest && <ErrorAlert error={rest} />}
        <UsernameField email={email} />
        <TextInput
          label="Name"
          autoComplete="name"
          required
          withAsterisk={false}
          maxLength={255}
          key={form.key('name')}
          {...form.getInputProps('name')}
          error={errors.name}
        />
        <NewPasswordField
          key={form.key('password')}
          {...form.getInputProps('password')}
          error={errors.password}
        />
        <Button type="submit" loading={isPending} fullWidth mt="xs">
          Create account and join
        </Button>
      </Stack>
    </form>
  )
}
