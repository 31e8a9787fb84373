// Nobody without a session sees a page. Whoever has none signs in at the very address they came to, so there is no
// way back to find; whoever loses it in the middle of work signs in above their work, which stays as it is.
import { Modal, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useCallback, useEffect, useState } from 'react'
import { Away, Refusal } from '../api/api.ts'
import { useIsAway } from '../api/connection.ts'
import { useServices } from '../api/services.ts'
import { ConnectionBanner } from '../shell/connection-banner.tsx'
import { Loading } from '../shell/loading.tsx'
import { SessionContext, type SessionUser } from './session.ts'
import { SignInForm, SignInPage } from './sign-in.tsx'

type State =
  | { kind: 'unknown' }
  | { kind: 'out' }
  | { kind: 'in'; user: SessionUser }
  | { kind: 'ended'; user: SessionUser }

export function SessionGate({ children }: { children: ReactNode }) {
  const { api, connection, moves, session } = useServices()
  const queries = useQueryClient()
  const isAway = useIsAway(connection)
  const [state, setState] = useState<State>({ kind: 'unknown' })

  useEffect(() => {
    if (state.kind !== 'unknown' || isAway) return
    api
      .ask('GET /session', {})
      .then(({ user }) => setState({ kind: 'in', user }))
      .catch((error: unknown) => {
        if (!(error instanceof Away)) setState({ kind: 'out' })
      })
  }, [api, state.kind, isAway])

  useEffect(
    () =>
      session.subscribe(() =>
        setState((now) => (now.kind === 'in' ? { kind: 'ended', user: now.user } : now)),
      ),
    [session],
  )

  useEffect(() => {
    if (state.kind !== 'in') return
    moves.start()
    return moves.stop
  }, [moves, state.kind])

  const signIn = useCallback(
    async (email: string, password: string) => {
      const { user } = await api.ask('POST /session', { body: { email, password } })
      // What another person saw is not for this one.
      setState((now) => {
        if (now.kind !== 'ended' || now.user.id !== user.id) queries.clear()
        return { kind: 'in', user }
      })
      await queries.invalidateQueries()
    },
    [api, queries],
  )

  const signOut = useCallback(async () => {
    await api.ask('DELETE /session', {}).catch((error: unknown) => {
      if (!(error instanceof Refusal)) throw error
    })
    queries.clear()
    setState({ kind: 'out' })
  }, [api, queries])

  if (state.kind === 'unknown')
    return (
      <>
        {isAway && <ConnectionBanner />}
        <Loading what="Gantry" />
      </>
    )
  if (state.kind === 'out') return <SignInPage signIn={signIn} />
  return (
    <SessionContext value={{ user: state.user, signOut }}>
      {children}
      <Modal
        opened={state.kind === 'ended'}
        onClose={() => {}}
        withCloseButton={false}
        closeOnEscape={false}
        lockScroll={false}
        title="Your session has ended"
        centered
      >
        <Text size="sm" mb="md">
          Sign in again to go on where you are. Nothing on this page is lost.
        </Text>
        <SignInForm signIn={signIn} email={state.user.email} />
      </Modal>
    </SessionContext>
  )
}
