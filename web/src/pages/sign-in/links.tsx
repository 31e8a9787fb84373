// What the pages of links say when the link does not work, or does not work for the person who is signed in.
import { Button, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useLocation } from 'wouter'
import { GantryError } from '#client/index.ts'
import type { Api } from '#web/base/api/api.ts'
import { queryKeys, useApi } from '#web/base/api/queries.ts'
import { ErrorAlert } from '#web/base/ui/page.tsx'
import { CenteredPage } from './centered-page.tsx'
import { forgetLinkToken, useLinkToken } from './link-token.ts'
import type { LinkPage } from './read-link.ts'

/** The API does not say why a link does not work, so neither does the page. */
export function isDeadLink(error: Error | null): boolean {
  return error instanceof GantryError && error.errors.token !== undefined
}

export function DeadLinkPage({ title, children }: { title: string; children: string }) {
  return (
    <CenteredPage title={title} heading="This link no longer works">
      <Text mb="md">{children}</Text>
      <Link href="/overview">Go to Gantry</Link>
    </CenteredPage>
  )
}

type OtherAccountProps = { current: string; expected: string; signOut(): Promise<void> }

/** The browser is signed in as somebody else. */
export function OtherAccount({ current, expected, signOut }: OtherAccountProps) {
  const { mutate, isPending, error } = useMutation({ mutationFn: signOut })
  return (
    <>
      <Text className="wrap" mb="md">
        You are signed in as <strong>{current}</strong>, but this link is for <strong>{expected}</strong>.
      </Text>
      {error && <ErrorAlert error={error} />}
      <Button fullWidth loading={isPending} onClick={() => mutate()}>
        Sign out and continue
      </Button>
      <Text mt="md" ta="center">
        <Link href="/overview">Stay signed in</Link>
      </Text>
    </>
  )
}

/** Addresses are compared like the API does. */
export function isSameEmail(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

// What the pages of links have in common: reading what the link is for, and using it, which signs the person in.
type TokenInit = { body: { token: string }; signal: AbortSignal }

/** `token` is null if the link does not work. */
export function useLink<Read>(page: LinkPage, read: (api: Api, init: TokenInit) => Promise<Read>) {
  const api = useApi()
  const token = useLinkToken(page)
  const query = useQuery({
    queryKey: queryKeys.link(page, token),
    enabled: token !== null,
    queryFn: ({ signal }) => read(api, { body: { token: token! }, signal }),
  })
  return { query, token: isDeadLink(query.error) ? null : token }
}

export function useLinkAction<Values>(
  page: LinkPage,
  token: string,
  act: (values: Values) => Promise<unknown>,
) {
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  return useMutation({
    mutationFn: act,
    onSuccess() {
      // The cookie is set. What was loaded before was loaded without it.
      queries.clear()
      navigate('/overview', { replace: true })
      forgetLinkToken(page)
    },
    // It may have been used or replaced meanwhile, or the address may have an account now.
    onError: () => void queries.invalidateQueries({ queryKey: queryKeys.link(page, token) }),
  })
}
