import { createContext, useContext } from 'react'
import type { Answer } from '../api/api.ts'

export type SessionUser = Answer<'GET /session'>['user']
type Session = { user: SessionUser; signOut(): Promise<void> }

export const SessionContext = createContext<Session | undefined>(undefined)

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (!session) throw new Error('rendered outside of SessionGate')
  return session
}
