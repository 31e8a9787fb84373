export type SendRequest = {
  method: string
  /** http or https. The fragment is not sent. */
  url: string
  /** Those that belong to the connection are ours: given ones are left out. */
  headers: Record<string, string>
  body: Buffer | null
  /** For everything together: waiting for a free connection, lookup, connecting, sending, the whole answer. */
  timeoutMs: number
  verifySsl: boolean
}

export type SendOutcome =
  /** The answer came, whatever it says. Of a long one the beginning is kept and the rest is not waited for. */
  | {
      kind: 'answered'
      status: number
      headers: Record<string, string | string[]>
      /** As it came, not decoded. */
      body: Buffer
      retryAfter: string | null
      ipAddress: string | null
      durationMs: number
    }
  /** `blocked`: nothing was sent, nor will the same request ever be. The message is for people. */
  | { kind: Failure; message: string; ipAddress: string | null; durationMs: number }

export type Failure = 'timed-out' | 'unreachable' | 'blocked'
