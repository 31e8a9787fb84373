// Single sign-on: people sign in through an OpenID Connect provider, and link who they are there to their accounts.
// This file talks to the provider. Whatever it answers, the result is an outcome that names no secret.
import * as oidc from 'openid-client'
import { AuthorizationResponseError, ClientError, type CustomFetch, ResponseBodyError } from 'openid-client'
import { isTrustworthy } from '#platform/oidc-settings.ts'
import { type Person, readPerson } from './person.ts'

export type ProviderSettings = {
  issuer: string
  clientId: string
  clientSecret: string
  groupsClaim: string
}

/** What binds the answer of the provider to one attempt. */
export type Checks = { state: string; nonce: string; verifier: string }

/** The provider does not answer, or nothing that makes sense. */
export type Unavailable = { kind: 'unavailable'; reason: string }
/** The provider, or a check of what it answered, turns the person away. */
export type Rejected = { kind: 'rejected'; reason: string }

export type Provider = {
  /** Where to send the browser. */
  authorizationUrl(redirectUri: string, checks: Checks): Promise<{ kind: 'ready'; url: string } | Unavailable>
  /** Who came back. `callback` is the redirect URI with the query that the browser brought. */
  identify(
    callback: URL,
    checks: Checks,
  ): Promise<{ kind: 'identified'; person: Person } | Rejected | Unavailable>
}

const TIMEOUT_SECONDS = 10
const DISCOVERY_MS = 60 * 60 * 1_000
const SCOPES = ['openid', 'profile', 'email']

/** Nothing is requested before the first sign-in, so Gantry starts without the provider. */
export function createProvider(settings: ProviderSettings, now: () => number = Date.now): Provider {
  let discovered: { configuration: Promise<oidc.Configuration>; until: number } | undefined

  /** Concurrent calls share a request; a failure is not remembered. */
  function discover(): Promise<oidc.Configuration> {
    if (discovered && now() < discovered.until) return discovered.configuration
    const configuration = requestConfiguration(settings)
    const entry = { configuration, until: now() + DISCOVERY_MS }
    discovered = entry
    configuration.catch(() => {
      if (discovered === entry) discovered = undefined
    })
    return configuration
  }

  return {
    async authorizationUrl(redirectUri, { state, nonce, verifier }) {
      try {
        const configuration = await discover()
        const { scopes_supported = [] } = configuration.serverMetadata()
        const groups = scopes_supported.filter((scope) => scope === settings.groupsClaim)
        const url = oidc.buildAuthorizationUrl(configuration, {
          redirect_uri: redirectUri,
          scope: [...SCOPES, ...groups].join(' '),
          state,
          nonce,
          code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
        })
        return { kind: 'ready', url: url.href }
      } catch (error) {
        return { kind: 'unavailable', reason: reasonOf(error) }
      }
    },

    async identify(callback, { state, nonce, verifier }) {
      let configuration: oidc.Configuration
      try {
        configuration = await discover()
      } catch (error) {
        return { kind: 'unavailable', reason: reasonOf(error) }
      }
      try {
        const tokens = await oidc.authorizationCodeGrant(configuration, callback, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        })
        const idToken = tokens.claims()!
        // Many providers put names and groups only there.
        const userinfo = configuration.serverMetadata().userinfo_endpoint
          ? await oidc.fetchUserInfo(configuration, tokens.access_token, idToken.sub)
          : {}
        return { kind: 'identified', person: readPerson({ idToken, userinfo }, settings.groupsClaim) }
      } catch (error) {
        return { kind: isRejection(error) ? 'rejected' : 'unavailable', reason: reasonOf(error) }
      }
    },
  }
}

function requestConfiguration({ issuer, clientId, clientSecret }: ProviderSettings) {
  const server = new URL(issuer)
  // `boundedFetch` allows plain HTTP on loopback only.
  const insecure = server.protocol === 'http:' ? [oidc.allowInsecureRequests] : []
  return oidc.discovery(server, clientId, undefined, authenticateBy(clientSecret), {
    timeout: TIMEOUT_SECONDS,
    [oidc.customFetch]: boundedFetch,
    // Without these checks the library relies on TLS, and does not verify the signature of the ID token.
    execute: [...insecure, oidc.enableNonRepudiationChecks],
  })
}

/** The method that the provider supports; a provider that lists none supports the first one. */
function authenticateBy(clientSecret: string): oidc.ClientAuth {
  const [basic, post] = [oidc.ClientSecretBasic(clientSecret), oidc.ClientSecretPost(clientSecret)]
  return (server, ...request) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    return (methods.includes('client_secret_basic') ? basic : post)(server, ...request)
  }
}

// Errors of the library carry tokens and whole responses in their causes and messages. What is logged and recorded
// about them comes from here: a word that contains nothing of that.

/** Checks of the library that an answer has failed; other errors mean that the provider is not working. */
const FAILED_CHECKS: Record<string, string> = {
  OAUTH_INVALID_RESPONSE: 'invalid_response',
  OAUTH_JWT_CLAIM_COMPARISON_FAILED: 'wrong_claim',
  OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED: 'wrong_subject',
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: 'expired_token',
  OAUTH_KEY_SELECTION_FAILED: 'unknown_key',
  OAUTH_UNSUPPORTED_OPERATION: 'unsupported_algorithm',
}

/** Pure: the provider works, and what it answered is not acceptable. */
function isRejection(error: unknown): boolean {
  if (error instanceof AuthorizationResponseError) return !OUTAGES.includes(error.error)
  // Other errors of the token endpoint, such as a wrong client secret, are not about this person.
  if (error instanceof ResponseBodyError) return error.error === 'invalid_grant'
  return error instanceof ClientError && error.code !== undefined && error.code in FAILED_CHECKS
}

const OUTAGES = ['server_error', 'temporarily_unavailable']

/** Pure: why, in one word. */
function reasonOf(error: unknown): string {
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError)
    return `provider_${wordOf(error.error)}`
  if (!(error instanceof ClientError)) return 'unreachable'
  if (error.cause instanceof RefusedRequest) return error.cause.message
  if (error.code === undefined) return 'unreachable'
  const check = FAILED_CHECKS[error.code]
  return check === 'wrong_claim' ? `wrong_${claimOf(error)}` : (check ?? wordOf(error.code.toLowerCase()))
}

/** `nonce`, `aud` or another claim of the ID token. */
function claimOf(error: ClientError): string {
  const { cause } = error.cause as { cause?: { claim?: unknown } }
  return wordOf(cause?.claim)
}

function wordOf(value: unknown): string {
  return typeof value === 'string' && /^[a-z_]{1,60}$/.test(value) ? value : 'error'
}

const MAX_BYTES = 512 * 1024
const NO_BODY = [101, 204, 205, 304]

/** The message is one word, for the log. */
class RefusedRequest extends Error {}

/**
 * A request to the provider. Its answer is read whole within the time limit of the request, up to a size, so that a
 * provider that never ends one cannot fill the memory. Redirects are answers like any other: none is followed.
 */
const boundedFetch: CustomFetch = async (url, options) => {
  if (!isTrustworthy(new URL(url))) throw new RefusedRequest('insecure_endpoint')
  const response = await fetch(url, { ...options, redirect: 'manual' } as RequestInit)
  const body = NO_BODY.includes(response.status) ? null : await readBounded(response)
  const { status, statusText, headers } = response
  return new Response(body, { status, statusText, headers })
}

async function readBounded(response: Response): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    // Leaving the loop cancels the rest.
    if (size > MAX_BYTES) throw new RefusedRequest('answer_too_large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
