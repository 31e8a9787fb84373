// How people can sign in here: with a password, with single sign-on, or with either.
import { Button } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useEffect } from 'react'
import { useLocation } from 'wouter'
import { queryKeys, useApi, useGet } from '#web/base/api/queries.ts'
import { ErrorAlert } from '#web/base/ui/page.tsx'
import { rememberPage } from './return-to.ts'

export function useSignInOptions() {
  return useGet(queryKeys.signInOptions, '/session/options', { staleTime: 60_000 })
}

/** `begin` returns the URL of the identity provider or, if it is unavailable, of the page that says so. */
export function useIdentityProvider(begin: () => Promise<{ url: string }>) {
  const { mutate, reset, isPending, isSuccess, error } = useMutation({
    mutationFn: begin,
    onSuccess: ({ url }) => window.location.assign(url),
  })
  // The Back button may restore the page as it was left.
  useEffect(() => {
    const onShow = (event: PageTransitionEvent) => event.persisted && reset()
    addEventListener('pageshow', onShow)
    return () => removeEventListener('pageshow', onShow)
  }, [reset])
  return { leave: mutate, isLeaving: isPending || isSuccess, error }
}

type SingleSignOnProps = { label: string; invitationToken?: string; variant?: 'default' | 'filled' }

/** Leaves for the identity provider. An invitation's token creates the account that it invites. */
export function SingleSignOnButton({ label, invitationToken, variant = 'default' }: SingleSignOnProps) {
  const api = useApi()
  const [location] = useLocation()
  const { leave, isLeaving, error } = useIdentityProvider(() => {
    // With an invitation there is nothing left to do on this page. The query as it is: the router decodes a part of it.
    rememberPage(invitationToken === undefined ? location + window.location.search : '/overview')
    const body = invitationToken === undefined ? {} : { invitation_token: invitationToken }
    return api.post('/session/oidc', { body })
  })
  return (
    <>
      {error && <ErrorAlert error={error} />}
      <Button variant={variant} fullWidth loading={isLeaving} onClick={() => leave()}>
        {label}
      </Button>
    </>
  )
}
