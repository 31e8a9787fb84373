// Where `gantry login` sends people: they approve that the command line acts for them, or deny it.
import { Alert, Button, Group, List, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import { useHistoryState } from 'wouter/use-browser-location'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { SessionUser } from '#web/base/session/session.ts'
import { ErrorAlert, Loaded } from '#web/base/ui/page.tsx'
import { Command, Dimmed } from '#web/base/ui/parts.tsx'
import { type AuthorizationRequest, answerUrl, readAuthorizationRequest } from './authorization-request.ts'
import { CenteredPage } from './centered-page.tsx'
import { SignInForm } from './sign-in.tsx'
import { TokenTerms } from './token-terms.tsx'
import { useVisitor } from './use-visitor.ts'

type Outcome = 'approved' | 'denied'

export default function AuthorizePage() {
  const { outcome } = useHistoryState<{ outcome?: Outcome } | null>() ?? {}
  useSearch()
  if (outcome) return <OutcomePage outcome={outcome} />
  // As it is in the URL: the router decodes a part of it.
  const request = readAuthorizationRequest(window.location.search)
  if ('problems' in request) return <InvalidRequestPage problems={request.problems} />
  return (
    <CenteredPage title="Authorize" heading="Authorize the command line">
      <RequestedLogin request={request} />
    </CenteredPage>
  )
}

function RequestedLogin({ request }: { request: AuthorizationRequest }) {
  const { query, signIn, signOut } = useVisitor()
  return (
    <>
      <Text className="wrap" mb="md">
        <Command>gantry</Command> on{' '}
        <strong>
          <bdi>{request.name}</bdi>
        </strong>{' '}
        wants to sign in to <strong>{window.location.origin}</strong>.
      </Text>
      <Loaded query={query} what="session">
        {(visitor) =>
          visitor ? (
            <Approval request={request} user={visitor} signOut={signOut} />
          ) : (
            <>
              <Text mb="sm">Sign in to continue.</Text>
              <SignInForm signIn={signIn} />
            </>
          )
        }
      </Loaded>
    </>
  )
}

type ApprovalProps = { request: AuthorizationRequest; user: SessionUser; signOut(): Promise<void> }

function Approval({ request, user, signOut }: ApprovalProps) {
  const api = useApi()
  const refetch = useRefetch()
  const answer = useAnswer(request)
  const [may_approve, setMayApprove] = useState(false)
  const { redirectUri: redirect_uri, codeChallenge: code_challenge, name } = request
  const approval = useMutation({
    mutationFn: () =>
      api.post('/session/authorizations', { body: { redirect_uri, code_challenge, name, may_approve } }),
    onSuccess: ({ code }) => answer('approved', { code }),
    // The session may have ended.
    onError: () => void refetch(queryKeys.visitor),
  })
  const leaving = useMutation({ mutationFn: signOut })
  const error = approval.error ?? leaving.error
  return (
    <Stack gap="md">
      <Text className="wrap">
        You are signed in as <strong>{user.name}</strong> ({user.email}).
      </Text>
      <TokenTerms name={name} mayApprove={may_approve} setMayApprove={setMayApprove} />
      <Text>
        Approve only if you have just run <Command>gantry login</Command> on this computer.
      </Text>
      {error && <ErrorAlert error={error} />}
      <Group grow>
        <Button
          variant="default"
          disabled={approval.isPending}
          onClick={() => answer('denied', { error: 'access_denied' })}
        >
          Deny
        </Button>
        <Button loading={approval.isPending} onClick={() => approval.mutate()}>
          Approve
        </Button>
      </Group>
      <Button variant="subtle" loading={leaving.isPending} onClick={() => leaving.mutate()}>
        Use a different account
      </Button>
    </Stack>
  )
}

/**
 * Leaves for the command line. The page does not learn whether it still waits there. What the Back button leads to
 * says what to do then, and its URL no longer has the request.
 */
function useAnswer(request: AuthorizationRequest) {
  const [location, navigate] = useLocation()
  return (outcome: Outcome, answer: Parameters<typeof answerUrl>[1]) => {
    navigate(location, { replace: true, state: { outcome } })
    window.location.assign(answerUrl(request, answer))
  }
}

function OutcomePage({ outcome }: { outcome: Outcome }) {
  const isApproved = outcome === 'approved'
  return (
    <CenteredPage title="Authorize" heading={isApproved ? 'Login approved' : 'Login denied'}>
      <Text mb="md">
        {isApproved
          ? 'Return to your terminal to continue.'
          : 'The command line has no access. Return to your terminal.'}{' '}
        You can close this page.
      </Text>
      <Dimmed>
        If your browser could not connect to the command line, <Command>gantry login</Command> is no longer
        waiting for an answer.{' '}
        {isApproved ? (
          <>
            Run it again; this approval expires by itself after two minutes. If that happens every time, use{' '}
            <Command>gantry login --with-token</Command>.
          </>
        ) : (
          'There is nothing left to do.'
        )}
      </Dimmed>
    </CenteredPage>
  )
}

function InvalidRequestPage({ problems }: { problems: string[] }) {
  return (
    <CenteredPage title="Authorize" heading="This login request is not valid">
      <Alert color="red" role="alert" mb="md" title="The URL is incomplete or was changed">
        <List size="sm" className="wrap">
          {problems.map((problem) => (
            <List.Item key={problem}>{problem}</List.Item>
          ))}
        </List>
      </Alert>
      <Text>
        Nothing was approved. Run <Command>gantry login</Command> again, and open the URL that it prints.
      </Text>
    </CenteredPage>
  )
}
