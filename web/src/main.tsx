// The dashboard: what runs, what failed and why, and what the outside world was told. It only shows what the API
// says and asks of the API what a person may ask of it; every rule is on the other side.
import './styles.ts'
import { MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Router } from 'wouter'
import { createApi } from './api/api.ts'
import { createConnection } from './api/connection.ts'
import { createQueryClient } from './api/queries.ts'
import { type Services, ServicesContext } from './api/services.ts'
import { App } from './app.tsx'
import { createLiveMoves } from './live/moves.ts'

const connection = createConnection()
const sessionListeners = new Set<() => void>()
const services: Services = {
  connection,
  moves: createLiveMoves(),
  session: {
    subscribe(listener) {
      sessionListeners.add(listener)
      return () => sessionListeners.delete(listener)
    },
  },
  api: createApi({
    onAway: connection.markAway,
    onSessionEnded() {
      for (const listener of sessionListeners) listener()
    },
  }),
}

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    {/* The variables come as a file (styles.ts): a policy without inline styles stops the provider's own. */}
    <MantineProvider defaultColorScheme="auto" withCssVariables={false} withGlobalClasses={false}>
      <QueryClientProvider client={createQueryClient()}>
        <ServicesContext value={services}>
          <Router base="/app">
            <App />
          </Router>
        </ServicesContext>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
