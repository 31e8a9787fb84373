// Signing in on a machine without a browser, as RFC 8628 describes it: a person enters a short code on any other machine,
// and this one asks until it gets its token.
import { setTimeout as pause } from 'node:timers/promises'
import { type Data, GantryError, UnreachableError } from '@gantry/client'
import type { clientFor } from './connection.ts'
import { EXIT } from './exit-codes.ts'
import { Failure, Interrupted } from './failure.ts'

/** What asking too often adds to the time between two questions. */
const SLOWER_SECONDS = 5

type Gantry = ReturnType<typeof clientFor>
type Login = Data<'post', '/session/device-codes'>
type SignedIn = Data<'post', '/session/device-codes/token'>

/** Resolves when a person has approved. `onReady` gets the code to show, and where to enter it. */
export async function awaitDevice(
  gantry: Gantry,
  name: string,
  { onReady, signal }: { onReady(login: Login): void; signal: AbortSignal },
): Promise<SignedIn> {
  const login = await gantry.post('/session/device-codes', { body: { name } })
  onReady(login)
  const giveUpAt = performance.now() + login.expires_in * 1_000
  let seconds = login.interval
  while (performance.now() < giveUpAt) {
    await pause(seconds * 1_000, undefined, { signal }).catch(() => {
      throw new Interrupted()
    })
    try {
      return await gantry.post('/session/device-codes/token', { body: { device_code: login.device_code } })
    } catch (error) {
      if (error instanceof UnreachableError) continue
      const code = error instanceof GantryError ? error.code : undefined
      if (code === 'slow_down') seconds += SLOWER_SECONDS
      else if (code === 'access_denied')
        throw failure('The request was denied in the browser.', 'Run `gantry login` again to start over.')
      else if (code === 'expired_token') break
      else if (code !== 'authorization_pending') throw error
    }
  }
  const minutes = Math.round(login.expires_in / 60)
  throw failure(
    `The request was not approved within ${minutes} minutes.`,
    'Try again, or use `gantry login --with-token`.',
  )
}

const failure = (message: string, hint: string) => new Failure(message, { exit: EXIT.notAllowed, hint })
