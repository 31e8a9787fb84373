// Which instance a command talks to, and as whom: GANTRY_URL and GANTRY_TOKEN, then --context, then the current context.
import { createFetch, createGantry, type Gantry } from '@gantry/client'
import { type Config, configFolder, readConfig } from './config.ts'
import { EXIT } from './exit-codes.ts'
import { Failure, usage } from './failure.ts'
import { httpFetch } from './http-fetch.ts'
import { noticeVersion } from './server-version.ts'
import { VERSION } from './version.ts'

const HEADERS = { 'user-agent': `gantry-cli/${VERSION}` }

declare global {
  /** Set by the copy that an instance hands out: its own address. */
  var gantryInstance: string | undefined
}

const DEFAULT_URL = globalThis.gantryInstance ?? 'http://127.0.0.1:7070'

/**
 * `source` says where the choice comes from: a context's name, or the environment. `expiresAt`: null when it is not known.
 */
export type Target = { url: string; token: string | null; source: string; expiresAt: string | null }

export type Connection = Target & {
  gantry: Gantry
  /** A call to any path of the instance, as `gantry api` makes it. */
  request(method: string, path: string, init: Omit<RequestInit, 'method'>): Promise<Response>
}

/** A token is only ever sent to the address that it was issued by. */
export function chooseTarget(
  config: Config,
  env: NodeJS.ProcessEnv,
  contextName: string | undefined,
): Target {
  const name = contextName ?? config.current
  const context = name === null || name === undefined ? undefined : config.contexts[name]
  if (contextName !== undefined && !context) {
    const known = Object.keys(config.contexts)
    throw usage(
      `There is no context "${contextName}".`,
      known.length > 0 ? `Known: ${known.join(', ')}.` : 'Sign in with `gantry login <url>`.',
    )
  }
  const envToken = env.GANTRY_TOKEN?.trim()
  if (env.GANTRY_URL && contextName === undefined) {
    const url = normalizeUrl(env.GANTRY_URL)
    const known = Object.values(config.contexts).find((other) => other.url === url)
    if (envToken) return { url, token: envToken, source: 'GANTRY_URL', expiresAt: null }
    return { url, token: known?.token ?? null, source: 'GANTRY_URL', expiresAt: known?.expires_at ?? null }
  }
  if (envToken && contextName === undefined)
    return {
      url: context?.url ?? DEFAULT_URL,
      token: envToken,
      source: 'GANTRY_TOKEN',
      expiresAt: null,
    }
  if (context) return { url: context.url, token: context.token, source: name!, expiresAt: context.expires_at }
  return { url: DEFAULT_URL, token: null, source: 'default', expiresAt: null }
}

/** The address of an instance, without a trailing slash; people leave the scheme out. */
export function normalizeUrl(given: string): string {
  const isLocal = /^(localhost|127\.|\[::1\])/.test(given)
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(given) ? given : `${isLocal ? 'http' : 'https'}://${given}`
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username || url.password)
    throw usage(
      url?.password
        ? 'The URL of an instance must not contain a user name or password.'
        : `"${given}" is not the address of an instance.`,
      'For example: https://gantry.example.com',
    )
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

export async function connect(env: NodeJS.ProcessEnv, contextName: string | undefined): Promise<Connection> {
  const target = chooseTarget(await readConfig(configFolder(env)), env, contextName)
  if (target.token === null)
    throw new Failure('You are not signed in.', {
      exit: EXIT.notAllowed,
      hint: `Run \`gantry login ${target.url}\`, or set GANTRY_URL and GANTRY_TOKEN.`,
    })
  if (!isToken(target.token))
    throw new Failure(`${env.GANTRY_TOKEN ? 'GANTRY_TOKEN' : 'What is saved'} is not a token.`, {
      exit: EXIT.notAllowed,
      hint: 'A token is one word, such as gty_pat_…; sign in with `gantry login` to get one.',
    })
  return {
    ...target,
    gantry: clientFor(target),
    request: (method, path, init) =>
      createFetch(optionsFor(target))(
        new Request(`${target.url}${path}`, {
          method,
          ...init,
          headers: {
            ...(init.body && { 'content-type': 'application/json' }),
            ...(init.headers as Record<string, string>),
          },
        }),
      ),
  }
}

/** Anything else cannot stand in a header, and the error about that would show it. */
export const isToken = (text: string) => /^[\x21-\x7e]+$/.test(text)

export function clientFor({ url, token }: Pick<Target, 'url' | 'token'>): Gantry {
  return createGantry({ url, ...optionsFor({ url, token }) })
}

function optionsFor({ url, token }: Pick<Target, 'url' | 'token'>) {
  return {
    headers: HEADERS,
    fetch: async (request: Request) => noticeVersion(url, await httpFetch(request)),
    ...(token !== null && { token }),
  }
}
