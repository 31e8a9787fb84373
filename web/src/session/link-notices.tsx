// What the pages of links say when the link does not work, or does not work for the person who is signed in.
import { Button, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { Link } from 'wouter'
import { GantryError } from '#client/index.ts'
import { ErrorAlert } from '../ui/page.tsx'
import { CenteredPage } from './centered-page.tsx'

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
