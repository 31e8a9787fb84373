// A real OpenID Connect provider on loopback, and what a browser does there.
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import { later } from './later.ts'

type Closer = { after(fn: () => Promise<void>): void }
type Claims = { email?: string; email_verified?: unknown; name?: string; groups?: unknown }

export type IdentityProvider = {
  issuer: string
  /** Claims by login; logins are subjects. Addresses are verified unless they say otherwise. */
  people: Map<string, Claims>
  /** The settings that make Gantry its client. */
  environment: Record<string, string>
  /** Codes, verifiers and tokens that it has seen or issued. */
  secrets: string[]
}

const CLIENT_SECRET = 'client secret of the tests'

/** `host`: for a browser `localhost` and `127.0.0.1` are different sites. */
export async function startIdentityProvider(
  t: Closer,
  redirectUri: string,
  host = '127.0.0.1',
  port = 0,
): Promise<IdentityProvider> {
  const server = createServer((request, response) => provider.callback()(request, response))
  server.listen(port, host)
  await once(server, 'listening')
  later(t, () => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://${host}:${(server.address() as AddressInfo).port}`
  const people: IdentityProvider['people'] = new Map()
  const secrets: string[] = [CLIENT_SECRET]
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'gantry', client_secret: CLIENT_SECRET, redirect_uris: [redirectUri] }],
    claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'], groups: ['groups'] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'test', use: 'sig', alg: 'RS256' }] },
    findAccount: (_, login) => ({
      accountId: login,
      claims: () => ({ sub: login, email_verified: true, ...people.get(login) }),
    }),
  })
  provider.on('grant.success', ({ oidc, body }) => {
    const { code, code_verifier } = oidc.params as Record<string, string>
    const { access_token, id_token } = body as Record<string, string>
    secrets.push(code!, code_verifier!, access_token!, id_token!)
  })
  return {
    issuer,
    people,
    secrets,
    environment: {
      GANTRY_OIDC_ISSUER: issuer,
      GANTRY_OIDC_CLIENT_ID: 'gantry',
      GANTRY_OIDC_CLIENT_SECRET: CLIENT_SECRET,
    },
  }
}

/** Signs in at the provider like a person with a fresh browser. Returns the URL that it sends the browser back to. */
export async function signInAt(authorizationUrl: string, login: string): Promise<string> {
  return browse(authorizationUrl, (page) => {
    const fields: Record<string, string> = page.includes('value="login"')
      ? { prompt: 'login', login, password: 'x' }
      : { prompt: 'consent' }
    return { url: /<form[^>]* action="([^"]+)"/.exec(page)![1]!, fields }
  })
}

/** Leaves without signing in. */
export async function cancelAt(authorizationUrl: string): Promise<string> {
  return browse(authorizationUrl, (page) => ({ url: /href="([^"]+\/abort)"/.exec(page)![1]! }))
}

type Step = { url: string; fields?: Record<string, string> }

async function browse(start: string, next: (page: string) => Step): Promise<string> {
  const { origin } = new URL(start)
  const cookies = new Map<string, string>()
  let step: Step = { url: start }
  for (let requests = 0; requests < 20; requests++) {
    const response = await fetch(step.url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(step.fields && { method: 'POST', body: new URLSearchParams(step.fields) }),
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!
      cookies.set(name!, value!)
    }
    const page = await response.text()
    const location = response.headers.get('location')
    if (location === null && response.status !== 200) throw new Error(`${response.status} ${page}`)
    step = location === null ? next(page) : { url: new URL(location, step.url).href }
    if (new URL(step.url).origin !== origin) return step.url
  }
  throw new Error('The provider never sends the browser back')
}
