// Without a session there are no pages. People sign in at the URL they came to, so nothing redirects; when a session
// ends in the middle of work, the sign-in dialog opens above the page, which stays as it is.
import { useQueryClient } from '@tanstack/react-query'
import { Fragment, lazy, type ReactNode, Suspense, useCallback, useEffect, useState } from 'react'
import { type Data, GantryError, UnreachableError } from '#client/index.ts'
import { useIsReachable } from '#web/base/api/connection.ts'
import { useServices } from '#web/base/api/services.ts'
import { forgetDrafts } from '#web/base/form/drafts.ts'
import { SessionContext, type SessionUser } from '#web/base/session/session.ts'
import { ConnectionBanner } from '#web/base/ui/connection-banner.tsx'
import { Loading } from '#web/base/ui/page.tsx'
import { forgetRememberedPage } from './return-to.ts'

const SignInPage = lazy(async () => ({ default: (await import('./sign-in.tsx')).SignInPage }))
export const importSignInAgain = () => import('./sign-in-again.tsx')
const SignInAgain = lazy(importSignInAgain)

type SignedIn = { user: SessionUser; isInstanceAdmin: boolean; baseUrl: string }

type State = { kind: 'unknown' } | { kind: 'signed-out' } | ({ kind: 'signed-in' | 'ended' } & SignedIn)

type SessionGateProps = {
  /** Forgets what another person at this browser must not find. */
  forget(): void
  children: ReactNode
}

export function SessionGate({ forget, children }: SessionGateProps) {
  const { api, connection, actionEvents, onSessionEnded } = useServices()
  const queries = useQueryClient()
  const isReachable = useIsReachable(connection)
  const [state, setState] = useState<State>({ kind: 'unknown' })

  useEffect(() => {
    if (state.kind !== 'unknown' || !isReachable) return
    api
      .get('/session')
      .then((session) => setState({ kind: 'signed-in', ...signedIn(session) }))
      .catch((error: unknown) => {
        if (!(error instanceof UnreachableError)) setState({ kind: 'signed-out' })
      })
  }, [api, state.kind, isReachable])

  useEffect(
    () =>
      onSessionEnded(() => setState((now) => (now.kind === 'signed-in' ? { ...now, kind: 'ended' } : now))),
    [onSessionEnded],
  )

  useEffect(() => {
    if (state.kind !== 'signed-in') return
    // The landing page, if this is it, has read it.
    forgetRememberedPage()
    actionEvents.start()
    return actionEvents.stop
  }, [actionEvents, state.kind])

  const signIn = useCallback(
    async (email: string, password: string) => {
      const session = signedIn(await api.post('/session', { body: { email, password } }))
      const { user } = session
      // What another person loaded or typed must not be there for this one.
      forgetDrafts(user)
      setState((now) => {
        if (now.kind !== 'ended' || now.user.id !== user.id) queries.clear()
        return { kind: 'signed-in', ...session }
      })
      await queries.invalidateQueries()
    },
    [api, queries],
  )

  const leave = useCallback(() => {
    queries.clear()
    forget()
    forgetDrafts()
    setState({ kind: 'signed-out' })
  }, [queries, forget])

  const signOut = useCallback(async () => {
    await api.delete('/session').catch((error: unknown) => {
      if (!(error instanceof GantryError)) throw error
    })
    leave()
  }, [api, leave])

  const setUser = useCallback((user: SessionUser) => setState((now) => ({ ...now, user })), [])

  if (state.kind === 'unknown')
    return (
      <>
        <ConnectionBanner />
        <Loading what="Gantry" />
      </>
    )
  if (state.kind === 'signed-out')
    return (
      <Suspense fallback={<Loading what="Gantry" />}>
        <SignInPage signIn={signIn} />
      </Suspense>
    )
  return (
    <SessionContext
      value={{
        user: state.user,
        isInstanceAdmin: state.isInstanceAdmin,
        baseUrl: state.baseUrl,
        signOut,
        leave,
        setUser,
      }}
    >
      {/* What one person typed must not be there for another one who signs in above it. */}
      <Fragment key={state.user.id}>{children}</Fragment>
      {state.kind === 'ended' && (
        <Suspense fallback={null}>
          <SignInAgain signIn={signIn} email={state.user.email} />
        </Suspense>
      )}
    </SessionContext>
  )
}

function signedIn({ user, is_instance_admin, base_url }: Data<'get', '/session'>): SignedIn {
  return { user, isInstanceAdmin: is_instance_admin, baseUrl: base_url }
}
