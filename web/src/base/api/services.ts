// What every page needs, created once in main.tsx and passed by context.
import { createContext, useContext } from 'react'
import type { Api } from './api.ts'
import type { Connection } from './connection.ts'
import type { ActionEvents } from './streams.ts'

export type Services = {
  api: Api
  connection: Connection
  actionEvents: ActionEvents
  /** Calls back when the service no longer accepts the session. */
  onSessionEnded(listener: () => void): () => void
}

export const ServicesContext = createContext<Services | undefined>(undefined)

export function useServices(): Services {
  const services = useContext(ServicesContext)
  if (!services) throw new Error('rendered outside of ServicesContext')
  return services
}
