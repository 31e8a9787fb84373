import { createContext, useContext } from 'react'
import type { LiveMoves } from '../live/moves.ts'
import type { Api } from './api.ts'
import type { Connection } from './connection.ts'

/** What every page needs, made once in main.tsx. */
export type Services = { api: Api; connection: Connection; moves: LiveMoves; session: SessionSignal }

/** Rings when the service no longer knows the session. */
export type SessionSignal = { subscribe(listener: () => void): () => void }

export const ServicesContext = createContext<Services | undefined>(undefined)

export function useServices(): Services {
  const services = useContext(ServicesContext)
  if (!services) throw new Error('rendered outside of ServicesContext')
  return services
}

export const useApi = (): Api => useServices().api
