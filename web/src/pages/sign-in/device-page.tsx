// Where `gantry login` on a machine without a browser sends people: they enter its code, see which machine asks, and
// approve or deny.
import { Alert, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { SessionUser } from '#web/base/session/session.ts'
import { ErrorAlert, Loaded } from '#web/base/ui/page.tsx'
import { Command } from '#web/base/ui/parts.tsx'
import { CenteredPage } from './centered-page.tsx'
import { SignInForm } from './sign-in.tsx'
import { TokenTerms } from './token-terms.tsx'
import { useVisitor } from './use-visitor.ts'

export default function DevicePage() {
  const { query, signIn, signOut } = useVisitor()
  return (
    <CenteredPage title="Authorize" heading="Authorize another machine">
      <Loaded query={query} what="session">
        {(visitor) =>
          visitor ? (
            <DeviceLogin user={visitor} signOut={signOut} />
          ) : (
            <>
              <Text mb="sm">Sign in to enter the code that your terminal shows.</Text>
              <SignInForm signIn={signIn} />
            </>
          )
        }
      </Loaded>
    </CenteredPage>
  )
}

function DeviceLogin({ user, signOut }: { user: SessionUser; signOut(): Promise<void> }) {
  const api = useApi()
  const refetch = useRefetch()
  const [code, setCode] = useState('')
  const [mayApprove, setMayApprove] = useState(false)
  const body = { user_code: code }
  const send = (what: 'lookup' | 'approve' | 'deny') =>
    what === 'approve'
      ? api.post('/session/device-codes/approve', { body: { ...body, may_approve: mayApprove } })
      : api.post(`/session/device-codes/${what}`, { body })
  // The session may have ended.
  const onError = () => void refetch(queryKeys.visitor)
  const lookup = useMutation({ mutationFn: () => send('lookup'), onError })
  const answer = useMutation({ mutationFn: (what: 'approve' | 'deny') => send(what), onError })
  const leaving = useMutation({ mutationFn: signOut })
  const device = lookup.data
  if (answer.isSuccess)
    return (
      <Text>
        {answer.variables === 'approve' ? 'Approved.' : 'Denied: the machine has no access.'} Return to your
        terminal. You can close this page.
      </Text>
    )
  return (
    <Stack gap="md">
      <Text className="wrap">
        You are signed in as <strong>{user.name}</strong> ({user.email}).
      </Text>
      {device ? (
        <>
          <Text className="wrap">
            <Command>gantry</Command> on{' '}
            <strong>
              <bdi>{device.name}</bdi>
            </strong>{' '}
            at the address <strong>{device.ip_address}</strong> wants to sign in to{' '}
            <strong>{window.location.origin}</strong>.
          </Text>
          <TokenTerms name={device.name} mayApprove={mayApprove} setMayApprove={setMayApprove} />
          <Alert color="orange" title="Did you get this code from another person?">
            Then deny it: the person who runs <Command>gantry login</Command> there would get your
            permissions. Approve only if you started it yourself, and the name and the address are those of
            your machine.
          </Alert>
          {answer.error && <ErrorAlert error={answer.error} />}
          <Group grow>
            <Button variant="default" disabled={answer.isPending} onClick={() => answer.mutate('deny')}>
              Deny
            </Button>
            <Button loading={answer.isPending} onClick={() => answer.mutate('approve')}>
              Approve
            </Button>
          </Group>
        </>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            lookup.mutate()
          }}
        >
          <Stack gap="md">
            <TextInput
              label="Code"
              description="Your terminal shows it, such as WDJB-MJHT."
              value={code}
              onChange={(event) => {
                setCode(event.currentTarget.value)
                lookup.reset()
              }}
              autoComplete="off"
              autoCapitalize="characters"
              spellCheck={false}
              maxLength={40}
              required
              data-autofocus
            />
            {lookup.error && <ErrorAlert error={lookup.error} />}
            <Button type="submit" loading={lookup.isPending}>
              Continue
            </Button>
          </Stack>
        </form>
      )}
      <Button variant="subtle" loading={leaving.isPending} onClick={() => leaving.mutate()}>
        Use a different account
      </Button>
    </Stack>
  )
}
