// The way to the API: every call of the pages goes through here, with the cookie of the session.
import type { Error as ApiError, Operations } from '../api-types.ts'

type Given<Name extends string, Value> = Value extends undefined
  ? unknown
  : Partial<Value> extends Value
    ? { [Key in Name]?: Value }
    : { [Key in Name]: Value }
type Input<Call extends keyof Operations> = Given<'path', Operations[Call]['path']> &
  Given<'query', Operations[Call]['query']> &
  Given<'body', Operations[Call]['body']> & { signal?: AbortSignal }

export type Answer<Call extends keyof Operations> = Operations[Call]['answer']

/** A list's page; `total` is what the server counted, `10000+` when it stopped counting. */
export type Page<Item> = { items: Item[]; total: string }

/** The API answered, and the answer is no. */
export class Refusal extends Error {
  readonly status: number
  readonly code: string
  readonly fields: Record<string, string[]>
  constructor(status: number, body: Partial<ApiError>) {
    super(body.message ?? `The service answered with ${status}.`)
    this.status = status
    this.code = body.code ?? ''
    this.fields = (body.errors as Record<string, string[]> | null | undefined) ?? {}
  }
}

/** The API did not answer, or only to say that it cannot work now. */
export class Away extends Error {}

/** What calls tell the rest of the pages, whoever made them. */
export type Listener = { onAway(): void; onSessionEnded(): void }

export type Api = {
  ask<Call extends keyof Operations>(call: Call, input: Input<Call>): Promise<Answer<Call>>
  askPage<Call extends keyof Operations>(
    call: Call,
    input: Input<Call>,
  ): Promise<Page<Answer<Call> extends Array<infer Item> ? Item : never>>
}

type AnyInput = {
  path?: Record<string, string | number>
  query?: Record<string, string | number | boolean | undefined>
  body?: unknown
  signal?: AbortSignal
}

export function createApi(listener: Listener): Api {
  async function send(call: string, input: AnyInput): Promise<Response> {
    const [method, path] = call.split(' ') as [string, string]
    const response = await fetch(addressOf(path, input), {
      method,
      headers: {
        accept: 'application/json',
        ...(method !== 'GET' && { 'x-gantry-request': '1' }),
        ...(input.body !== undefined && { 'content-type': 'application/json' }),
      },
      body: input.body === undefined ? undefined : JSON.stringify(input.body),
      signal: input.signal ?? null,
      credentials: 'same-origin',
    }).catch((error: unknown) => {
      if (input.signal?.aborted) throw error
      listener.onAway()
      throw new Away('Gantry cannot be reached.')
    })
    if (response.ok) return response
    const refusal = new Refusal(response.status, await response.json().catch(() => ({})))
    if ([502, 503, 504].includes(response.status)) {
      listener.onAway()
      throw new Away(refusal.message)
    }
    // Signing in is the one call whose 401 says nothing about a session.
    if (response.status === 401 && call !== 'POST /session') listener.onSessionEnded()
    throw refusal
  }

  return {
    async ask(call, input) {
      const response = await send(call, input as AnyInput)
      return response.status === 204 ? null : await response.json()
    },
    async askPage(call, input) {
      const response = await send(call, input as AnyInput)
      return { items: await response.json(), total: response.headers.get('x-total-count') ?? '' }
    },
  }
}

function addressOf(path: string, { path: names = {}, query = {} }: AnyInput): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(names[name])))
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return search === '' ? filled : `${filled}?${search}`
}
