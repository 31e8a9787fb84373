// An OpenID Connect provider that misbehaves as a test says: a small HTTP server with real keys.
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { later } from './later.ts'

type Closer = { after(fn: () => Promise<void>): void }
type Json = Record<string, unknown>
type Answer = (response: ServerResponse, honest: Json) => void

/** What differs from an honest provider. */
export type Misbehavior = {
  discovery?: Answer
  keys?: Answer
  token?: Answer
  userinfo?: Answer
  claims?: Json
  /** Replaces the whole ID token, which an honest provider signs with its key. */
  idToken?: (claims: Json) => string
}

export type HostileProvider = {
  issuer: string
  environment: Record<string, string>
  behave(how: Misbehavior): void
  /** The nonce that the next ID token contains. */
  nonce: string
  /** Paths of the requests so far. */
  requests: string[]
}

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 })

export const CLIENT_SECRET = 'client secret of the hostile tests'

export async function startHostileProvider(t: Closer): Promise<HostileProvider> {
  let how: Misbehavior = {}
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  later(t, () => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider: HostileProvider = {
    issuer,
    environment: {
      GANTRY_OIDC_ISSUER: issuer,
      GANTRY_OIDC_CLIENT_ID: 'gantry',
      GANTRY_OIDC_CLIENT_SECRET: CLIENT_SECRET,
      GANTRY_OIDC_SIGNUP: 'true',
    },
    behave: (next) => {
      how = next
    },
    nonce: '',
    requests: [],
  }

  function answer({ url }: IncomingMessage, response: ServerResponse): void {
    provider.requests.push(url!)
    const [kind, honest] = honestAnswer(url!)
    const dishonest = kind && how[kind]
    if (dishonest) dishonest(response, honest)
    else sendJson(response, honest, kind ? 200 : 404)
  }

  function honestAnswer(url: string): ['discovery' | 'keys' | 'token' | 'userinfo' | null, Json] {
    const now = Math.floor(Date.now() / 1_000)
    const claims = {
      iss: issuer,
      sub: 'somebody',
      aud: 'gantry',
      iat: now,
      exp: now + 60,
      nonce: provider.nonce,
      email: 'somebody@example.com',
      email_verified: true,
      ...how.claims,
    }
    switch (url) {
      case '/.well-known/openid-configuration':
        return [
          'discovery',
          {
            issuer,
            authorization_endpoint: `${issuer}/authorize`,
            token_endpoint: `${issuer}/token`,
            jwks_uri: `${issuer}/keys`,
            id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
            ...(how.userinfo && { userinfo_endpoint: `${issuer}/userinfo` }),
          },
        ]
      case '/keys':
        return ['keys', { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig' }] }]
      case '/token': {
        const id_token = how.idToken ? how.idToken(claims) : signed(claims)
        return ['token', { access_token: 'access token', token_type: 'bearer', id_token }]
      }
      case '/userinfo':
        return ['userinfo', { sub: 'somebody', email: 'somebody@example.com', email_verified: true }]
      default:
        return [null, {}]
    }
  }
  return provider
}

export function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const encode = (value: Json) => Buffer.from(JSON.stringify(value)).toString('base64url')
const unsigned = (header: Json, claims: Json) => `${encode(header)}.${encode(claims)}`

export function signed(claims: Json, key = privateKey, kid = 'one'): string {
  const input = unsigned({ alg: 'RS256', kid }, claims)
  return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`
}

export const signedByStranger = (claims: Json) => signed(claims, stranger.privateKey)
export const withUnknownKey = (claims: Json) => signed(claims, stranger.privateKey, 'two')
export const withoutSignature = (claims: Json) => `${unsigned({ alg: 'none' }, claims)}.`

/** With what both sides know, and with what everybody knows. */
export const signedWithSecret = (claims: Json) => withHmac(claims, CLIENT_SECRET)
export const signedWithPublicKey = (claims: Json) =>
  withHmac(claims, publicKey.export({ format: 'pem', type: 'spki' }))

function withHmac(claims: Json, key: string | Buffer): string {
  const input = unsigned({ alg: 'HS256', kid: 'one' }, claims)
  return `${input}.${createHmac('sha256', key).update(input).digest('base64url')}`
}
