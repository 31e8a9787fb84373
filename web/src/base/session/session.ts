import { createContext, useContext } from 'react'
import type { Data } from '#client/index.ts'

export type SessionUser = Data<'get', '/session'>['user']
type Session = {
  user: SessionUser
  isInstanceAdmin: boolean
  /** What URLs of hooks and links in messages begin with: not always the address of these pages. */
  baseUrl: string
  signOut(): Promise<void>
  /** The session is over already: back to the sign-in page. */
  leave(): void
  /** Shows the changed profile everywhere. */
  setUser(user: SessionUser): void
}

export const SessionContext = createContext<Session | undefined>(undefined)

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (!session) throw new Error('rendered outside of SessionGate')
  return session
}
