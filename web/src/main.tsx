// The dashboard: what is running, what failed and why, and who was notified. It shows what the API returns and sends
// what a person requests; every rule is enforced by the API.
import './styles.ts'
import { createTheme, MantineProvider, Paper } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Router } from 'wouter'
import { App } from './app.tsx'
import { createApi } from './base/api/api.ts'
import { createConnection } from './base/api/connection.ts'
import { shareChanges } from './base/api/other-tabs.ts'
import { queryKeys } from './base/api/queries.ts'
import { createQueryClient } from './base/api/query-client.ts'
import { type Services, ServicesContext } from './base/api/services.ts'
import { createEmitter } from './base/api/signals.ts'
import { createActionEvents } from './base/api/streams.ts'
import { importQuestion } from './base/form/leave-dialog.tsx'
import { askBeforeNavigating, watchLeaving } from './base/form/watch-leaving.ts'
import { importToastList, Toasts } from './base/ui/toasts.tsx'
import { captureLinkToken } from './pages/sign-in/link-token.ts'
import { importSignInAgain } from './pages/sign-in/session-gate.tsx'

const theme = createTheme({
  components: {
    Paper: Paper.extend({ defaultProps: { radius: 'md' } }),
    Notification: { defaultProps: { closeButtonProps: { 'aria-label': 'Dismiss' } } },
    // It would be a child of the menu that is no item.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    // Most inputs take names, addresses and commands: no browser should complete or correct those.
    TextInput: { defaultProps: { autoComplete: 'off', spellCheck: false } },
    Textarea: { defaultProps: { autoComplete: 'off', spellCheck: false } },
    PasswordInput: { defaultProps: { autoComplete: 'off' } },
    NumberInput: { defaultProps: { allowDecimal: false, allowNegative: false } },
  },
})
const queries = createQueryClient()
const connection = createConnection()
const sessionEnded = createEmitter()
const truncatedLists = new Set<string>()
const services: Services = {
  connection,
  actionEvents: createActionEvents(),
  onSessionEnded: sessionEnded.subscribe,
  api: createApi(location.origin, {
    onUnreachable: connection.markUnreachable,
    onSessionEnded: sessionEnded.emit,
    onForbidden: () => void queries.invalidateQueries({ queryKey: queryKeys.permissions }),
    onTruncated({ url, shown, total }) {
      if (truncatedLists.has(url)) return
      truncatedLists.add(url)
      const message = `Showing the first ${shown} of ${total} items of ${url}. Use the API for the rest.`
      notifications.show({ title: 'List truncated', message, color: 'orange', autoClose: false })
    },
  }),
}

/** Must be there without the network: loaded once the first page is. */
const LATER = [importToastList, importQuestion, importSignInAgain]
const LATER_MS = 5_000
setTimeout(() => {
  for (const load of LATER) load().catch(() => {})
}, LATER_MS)

captureLinkToken()
watchLeaving()
shareChanges(queries)
// Another link opened in this tab: only the fragment changes.
addEventListener('hashchange', captureLinkToken)

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    {/* The CSS variables come from a file (styles.ts): the content security policy blocks the provider's own. */}
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      withCssVariables={false}
      withGlobalClasses={false}
    >
      <Toasts />
      <QueryClientProvider client={queries}>
        <ServicesContext value={services}>
          <Router base="/app" aroundNav={askBeforeNavigating}>
            <App />
          </Router>
        </ServicesContext>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
