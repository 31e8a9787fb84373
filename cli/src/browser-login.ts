// Signing in through the browser, as RFC 8252 describes it for native programs: the browser comes back to a port on this
// machine with a code, which only the holder of the verifier can trade for a token.
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { EXIT } from './exit-codes.ts'
import { Failure, Interrupted } from './failure.ts'

const TIMEOUT_MS = 5 * 60_000

export type Approval = { code: string; code_verifier: string; redirect_uri: string }

/** Resolves when a person has approved in the browser. `onReady` gets the address to open. */
export async function awaitApproval(
  instance: string,
  name: string,
  { onReady, signal }: { onReady(url: string): void; signal: AbortSignal },
): Promise<Approval> {
  const code_verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(16).toString('base64url')
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const redirect_uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`
  const query = new URLSearchParams({
    redirect_uri,
    state,
    code_challenge: createHash('sha256').update(code_verifier).digest('base64url'),
    name,
  })
  try {
    const code = awaitCode(server, state, signal)
    onReady(`${instance}/app/authorize?${query}`)
    return { code: await code, code_verifier, redirect_uri }
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

function awaitCode(
  server: ReturnType<typeof createServer>,
  state: string,
  signal: AbortSignal,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const failure = (message: string, hint: string) =>
      reject(new Failure(message, { exit: EXIT.notAllowed, hint }))
    const timer = setTimeout(
      () =>
        failure(
          'The request was not approved within 5 minutes.',
          'Try again, or use `gantry login --with-token`.',
        ),
      TIMEOUT_MS,
    )
    const onAbort = () => reject(new Interrupted())
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    server.on('close', () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    })
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1')
      const isOurs = pathname === '/callback' && searchParams.get('state') === state
      // Another page may guess the port, but not the state.
      if (!isOurs) return respond(response, 404, 'This address is only for signing in.')
      const code = searchParams.get('code')
      if (code) {
        respond(response, 200, 'You are signed in. You can close this window and return to the terminal.')
        return resolve(code)
      }
      respond(response, 200, 'You did not sign in. You can close this window.')
      failure('The request was denied in the browser.', 'Run `gantry login` again to start over.')
    })
  })
}

function respond(response: ServerResponse, status: number, text: string): void {
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    connection: 'close',
    'cache-control': 'no-store',
  }
  response.writeHead(status, headers)
  response.end(`<!doctype html><meta charset="utf-8"><title>Gantry</title><p>${text}</p>`)
}
