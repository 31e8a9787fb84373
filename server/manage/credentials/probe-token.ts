import type { HttpClient, SendOutcome } from '#adapters/http-client/client.ts'
import { discordAgent } from '#model/hooks/presets/parts.ts'
import { createMask } from '#platform/masking/mask.ts'
import { PROVIDERS } from '#platform/vocabulary.ts'
import type { CredentialProvider } from './schemas.ts'

export type TokenToProbe = {
  provider: Exclude<CredentialProvider, 'ssh' | 'git'>
  baseUrl: string | null
  username: string | null
  token: string
}

export type ProbeResult = { ok: boolean; message: string; details: Record<string, unknown> }

const LIMITS = { timeoutMs: 10_000, maxBodyBytes: 256 * 1024 }

/** Asks the provider who owns a token. The token goes to the host of its own provider, and to no other. */
export async function probeToken(credential: TokenToProbe, http: HttpClient, ownUrl: string) {
  const url = userUrl(credential)
  const headers = {
    authorization: authorization(credential),
    accept: 'application/json',
    ...(credential.provider === 'discord' && { 'user-agent': discordAgent(ownUrl) }),
  }
  const method = credential.provider === 'slack' ? 'POST' : 'GET'
  const request = { method, url: url.href, headers, body: null, verifySsl: true, ...LIMITS }
  return describe(credential, url, await http.send(request))
}

function userUrl({ provider, baseUrl }: TokenToProbe): URL {
  switch (provider) {
    case 'github':
      return new URL(baseUrl === null ? 'https://api.github.com/user' : `${baseUrl}/api/v3/user`)
    case 'gitlab':
      return new URL(`${baseUrl ?? 'https://gitlab.com'}/api/v4/user`)
    case 'bitbucket':
      return new URL(`${baseUrl ?? 'https://api.bitbucket.org'}/2.0/user`)
    case 'gitea':
      return new URL(`${baseUrl}/api/v1/user`)
    case 'slack':
      return new URL(`${baseUrl ?? 'https://slack.com'}/api/auth.test`)
    case 'discord':
      return new URL(`${baseUrl ?? 'https://discord.com'}/api/v10/users/@me`)
  }
}

function authorization({ provider, username, token }: TokenToProbe): string {
  if (provider === 'gitea') return `token ${token}`
  if (provider === 'discord') return `Bot ${token}`
  if (username === null) return `Bearer ${token}`
  return `Basic ${Buffer.from(`${username}:${token}`).toString('base64')}`
}

function describe({ provider, token }: TokenToProbe, url: URL, outcome: SendOutcome): ProbeResult {
  if (outcome.kind !== 'answered') return { ok: false, message: outcome.message, details: {} }
  const { status, body } = outcome
  const name = PROVIDERS[provider]
  const answer = status === 200 ? readObject(createMask([token]).bytes(body)) : {}
  const account = accountIn(answer)
  const result = (ok: boolean, message: string): ProbeResult => ({
    ok,
    message,
    details: { status, account: account ?? null },
  })
  // Slack answers 200 to everything.
  if (provider === 'slack' && answer.ok === false)
    return result(false, `Slack does not accept the token: ${plain(answer.error) || 'no reason given'}.`)
  if (account !== undefined) return result(true, `${name} accepts the token: it belongs to ${account}.`)
  if (status === 401) return result(false, `${name} does not accept the token.`)
  if (status === 403) {
    return result(
      false,
      `${name} accepts the token but does not reveal its owner: specify a repository to check it with.`,
    )
  }
  if (status === 429 || status >= 500) return result(false, `${name} is unavailable right now (${status}).`)
  return result(
    false,
    `${url.host} does not respond like the API of ${name} (status ${status}): check base_url.`,
  )
}

/** The name of an account; undefined when the response is not about an account. */
function accountIn({ login, username, nickname, user, team }: Record<string, unknown>): string | undefined {
  const name = [login, username, nickname, user].find((one) => typeof one === 'string')
  if (name === undefined) return undefined
  return typeof team === 'string' ? plain(`${name} in ${team}`) : plain(name)
}

function readObject(body: Buffer): Record<string, unknown> {
  try {
    return Object(JSON.parse(body.toString('utf8'))) as Record<string, unknown>
  } catch {
    return {}
  }
}

/** Without control characters. */
function plain(value: unknown): string {
  return typeof value === 'string' ? value.replace(/[^\p{L}\p{N}\p{P}\p{S} ]+/gu, ' ').slice(0, 100) : ''
}
