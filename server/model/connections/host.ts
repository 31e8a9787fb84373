// The connections room: webhooks that Gantry creates at repository hosts. What to ask a host for (github, gitlab, gitea), what
// its answers mean (read-answer, judge), which hooks can be connected (fit), and what is stored of a connection. Requests are
// sent by engine/connecting.

/** A webhook, as a host describes it. */
export type Webhook = {
  id: string
  url: string
  active: boolean
  /** As the host names them. */
  events: string[]
  /** Null: the host has no such setting per webhook. */
  verifiesTls: boolean | null
  /** Whether its calls can be verified in the format that they are sent in. */
  isReadable: boolean
  /** The host stopped it because calls failed. */
  isSuspended: boolean
  disabledUntil: string | null
  /** What else a replacement has to keep. */
  kept: Record<string, unknown>
}

/** A webhook, as Gantry wants it. */
export type WantedWebhook = Pick<Webhook, 'url' | 'events' | 'active'> & {
  secret: string
  verifiesTls: boolean
  /** Of the webhook that it replaces. */
  kept?: Record<string, unknown>
}

export type HostRequest = { method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'; path: string; body?: object }

/** A call that a host has tried to deliver. */
export type TriedCall = { at: number; status: number | null }

/** What a host offers to deliver failed calls again. */
export type Redelivery = {
  /** Newest first. */
  list: (repository: string, id: string, cursor: string | null) => HostRequest
  /** Null: no delivery. */
  read: (entry: Record<string, unknown>) => Attempt | null
  /** One with its payload. */
  show: (repository: string, id: string, attemptId: string) => HostRequest
  readPayload: (json: unknown) => unknown
  /** It keeps its id. */
  repeat: (repository: string, id: string, attemptId: string) => HostRequest
}

/** One attempt of a host to deliver a call. Those of one call have the same `deliveryId`, which the call carries. */
export type Attempt = { id: string; deliveryId: string; event: string; at: number; isDelivered: boolean }

/** Paths begin at the API of the host; `repository` is like `acme/shop`. */
export type RepositoryHost = {
  name: string
  /** Where its API is, below the address that `apiBase` finds. */
  root: string
  /** What the token needs, for messages. */
  permission: string
  /** What makes the host call addresses that it refuses, for messages. */
  addressHint: string
  /** The events that a sender of this kind needs; the same as in the catalog. */
  defaultEvents: readonly string[]
  /** What says that checks of a commit have changed. */
  checksEvents: readonly string[]
  /** Those of them that not every version of the host offers. */
  optionalEvents: readonly string[]
  isEvent: (name: string) => boolean
  /** Headers that it signs in, or sends the secret in, in lower case. */
  signatureHeaders: Readonly<Record<string, { scheme: 'body' | 'token'; algorithm: string | null }>>
  headers: (token: string) => Record<string, string>
  list: (repository: string, page: number) => HostRequest
  pageSize: number
  create: (repository: string, wanted: WantedWebhook) => HostRequest
  /** Null: it cannot change what `wanted` says, the secret included, so the webhook is replaced. */
  update: ((repository: string, id: string, wanted: WantedWebhook) => HostRequest) | null
  remove: (repository: string, id: string) => HostRequest
  /** Null: no webhook. */
  read: (entry: Record<string, unknown>) => Webhook | null
  settingsUrl: (home: string, repository: string, id: string) => string
  /** Null: it does not list them. */
  tried: ((repository: string, id: string) => HostRequest) | null
  readTried: (entry: Record<string, unknown>) => TriedCall | null
  /** Null: what it could not deliver is found by the commits of branches. */
  redelivery: Redelivery | null
}

export const encodePath = (path: string) => path.split('/').map(encodeURIComponent).join('/')

export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/** Ids are numbers at every host. Those that are too large for a number are read as text (read-answer). */
export function idOf(value: unknown): string | null {
  if (typeof value === 'string') return LARGE_ID.test(value) ? value : null
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? String(value) : null
}

export const LARGE_ID = /^[1-9]\d{15,18}$/

export function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

export function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {}
}

/** An ISO date, or null. */
export function timeOf(value: unknown): string | null {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(ms) ? null : new Date(ms).toISOString()
}
