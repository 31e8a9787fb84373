import { type ClientRequest, type IncomingMessage, request as requestPlainly } from 'node:http'
import { request as requestSafely } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import { PROVIDERS } from '#platform/vocabulary.ts'
import type { CredentialProvider } from './schemas.ts'

export type TokenToTry = {
  provider: Exclude<CredentialProvider, 'ssh' | 'git'>
  baseUrl: string | null
  username: string | null
  token: string
}

export type Tried = { ok: boolean; message: string; details: Record<string, unknown> }

const WITHIN_MS = 10_000
const MOST_BYTES = 256 * 1024

/** Asks the provider of a token whose it is. The token goes to the host of its own provider, and to no other. */
export async function askProvider(credential: TokenToTry, guard: AddressGuard): Promise<Tried> {
  const url = apiOf(credential)
  const verdict = await guard.check(url.hostname)
  if (verdict.kind !== 'allowed') return { ok: false, message: verdict.message, details: {} }
  const deadline = AbortSignal.timeout(WITHIN_MS)
  try {
    const headers = { ...headersOf(credential), accept: 'application/json', 'user-agent': 'gantry' }
    const answer = await get(url, headers, verdict.addresses, deadline)
    return judge(credential, url, answer)
  } catch (error) {
    return { ok: false, message: whyNoAnswer(url, error as NodeJS.ErrnoException, deadline), details: {} }
  }
}

function apiOf({ provider, baseUrl }: TokenToTry): URL {
  switch (provider) {
    case 'github':
      return new URL(baseUrl === null ? 'https://api.github.com/user' : `${baseUrl}/api/v3/user`)
    case 'gitlab':
      return new URL(`${baseUrl ?? 'https://gitlab.com'}/api/v4/user`)
    case 'bitbucket':
      return new URL(`${baseUrl ?? 'https://api.bitbucket.org'}/2.0/user`)
    case 'gitea':
      return new URL(`${baseUrl}/api/v1/user`)
  }
}

function headersOf({ provider, username, token }: TokenToTry): Record<string, string> {
  if (provider === 'gitea') return { authorization: `token ${token}` }
  if (username === null) return { authorization: `Bearer ${token}` }
  return { authorization: `Basic ${Buffer.from(`${username}:${token}`).toString('base64')}` }
}

type HttpAnswer = { status: number; text: string }

/** One GET to one of the judged addresses. Redirects are not followed: they would take the token along. */
function get(
  url: URL,
  headers: Record<string, string>,
  addresses: string[],
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const request = url.protocol === 'https:' ? requestSafely : requestPlainly
  const options = { headers, signal, agent: false as const, lookup: onlyTo(addresses) }
  return new Promise((resolve, reject) => {
    const asking: ClientRequest = request(url, options, (response) => {
      read(response).then((text) => resolve({ status: response.statusCode ?? 0, text }), reject)
    })
    asking.on('error', reject).end()
  })
}

/** As much as an answer about one account may need; a longer one is cut off. */
async function read(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response) {
    chunks.push(chunk)
    size += chunk.length
    if (size > MOST_BYTES) break
  }
  return Buffer.concat(chunks).toString('utf8')
}

function onlyTo(addresses: string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, options, done) => {
    if (options.all) done(null, found)
    else done(null, found[0]!.address, found[0]!.family)
  }
}

/** Pure. */
function judge({ provider, token }: TokenToTry, url: URL, { status, text }: HttpAnswer): Tried {
  const name = PROVIDERS[provider]
  const account = status === 200 ? accountIn(text)?.replaceAll(token, '********') : undefined
  const tried = (ok: boolean, message: string): Tried => ({
    ok,
    message,
    details: { status, account: account ?? null },
  })
  if (account !== undefined) return tried(true, `${name} accepts the token: it belongs to ${account}.`)
  if (status === 401) return tried(false, `${name} does not accept the token.`)
  if (status === 403) {
    return tried(
      false,
      `${name} knows the token but does not tell whose it is: name a repository to try it with.`,
    )
  }
  if (status === 429 || status >= 500) return tried(false, `${name} cannot answer at the moment (${status}).`)
  return tried(
    false,
    `${url.host} does not answer like the API of ${name} (status ${status}): is base_url right?`,
  )
}

/** The name of an account, made harmless; undefined when the answer is not about one. */
function accountIn(text: string): string | undefined {
  try {
    const { login, username, nickname } = Object(JSON.parse(text)) as Record<string, unknown>
    const name = [login, username, nickname].find((one) => typeof one === 'string')
    return (name as string | undefined)?.replace(/[^\p{L}\p{N}\p{P}\p{S} ]+/gu, ' ').slice(0, 100)
  } catch {
    return undefined
  }
}

function whyNoAnswer(url: URL, error: NodeJS.ErrnoException, deadline: AbortSignal): string {
  if (deadline.aborted) return `${url.host} did not answer within ${WITHIN_MS / 1_000} seconds.`
  switch (error.code) {
    case 'ECONNREFUSED':
      return `${url.host} takes no connection.`
    case 'ECONNRESET':
    case 'EPIPE':
    case 'HPE_INVALID_CONSTANT':
      return `${url.host} ended the connection, or does not speak HTTP.`
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return `There is no route to ${url.host}.`
    default:
      return /cert|ssl|tls/i.test(`${error.code} ${error.message}`)
        ? `There is no safe connection to ${url.host}: its certificate or its encryption is not accepted.`
        : `${url.host} could not be asked (${error.code ?? 'no reason given'}).`
  }
}
