// A stream of server-sent events that outlives its connections.
import { GantryError, isTransient, UnreachableError } from './errors.ts'
import { childController, pause } from './pause.ts'
import { createEventParser, type ServerSentEvent } from './sse.ts'

export type StreamOptions = {
  signal?: AbortSignal | undefined
  /** The `id` of an event: the stream resumes after it. */
  after?: string | undefined
  /** Called when the connection is open, and each time that it is open again. */
  onConnect?: (() => void) | undefined
  /** Called when the connection was lost; it is reopened after `delayMs`. */
  onReconnect?: ((lost: { error: Error; delayMs: number }) => void) | undefined
  /** A connection that is silent for this long is given up: Gantry sends a heartbeat every 15 seconds. */
  silenceMs?: number | undefined
  /** How long to keep reconnecting to a service that does not respond. */
  giveUpAfterMs?: number | undefined
}

/** Throws what a request throws; responds with 204 when nothing will come anymore. `isFirst`: repeated as any read is. */
type OpenStream = (init: { lastEventId: string; isFirst: boolean; signal: AbortSignal }) => Promise<Response>

const FIRST_RETRY_MS = 1_000
const MAX_RETRY_MS = 30_000

/**
 * The events of all connections, none twice. Ends when the service says that there are no more; throws what makes
 * reconnecting pointless, such as a revoked token, and the reason of the signal when it aborts. Without a first
 * connection there is nothing to resume: then it throws what a read would.
 */
export async function* resumeEvents(
  open: OpenStream,
  { signal, after = '', onConnect, onReconnect, silenceMs = 45_000, giveUpAfterMs = 300_000 }: StreamOptions,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  let lastEventId = after
  let retryMs = FIRST_RETRY_MS
  let failures = 0
  let connectedAt: number | undefined
  for (;;) {
    const connection = childController(signal)
    let error: unknown = new UnreachableError('The stream ended early.')
    try {
      const isFirst = connectedAt === undefined
      const opening = open({ lastEventId, isFirst, signal: connection.signal })
      const response = await unlessSilent(opening, isFirst ? undefined : silenceMs, connection.signal)
      if (response.status === 204) return
      connectedAt = Date.now()
      onConnect?.()
      const parser = createEventParser(lastEventId)
      for await (const text of readText(response, silenceMs, connection.signal)) {
        connectedAt = Date.now()
        for (const event of parser.push(text)) {
          failures = 0
          yield event
        }
        lastEventId = parser.lastEventId
        retryMs = parser.retryMs ?? retryMs
      }
    } catch (reason) {
      error = reason
    } finally {
      connection.abort()
    }
    signal?.throwIfAborted()
    if (!isTransient(error) || connectedAt === undefined || Date.now() - connectedAt > giveUpAfterMs)
      throw error
    const delayMs = delayOf(error, retryMs, failures)
    failures += 1
    onReconnect?.({ error, delayMs })
    await pause(delayMs, signal)
  }
}

async function* readText(response: Response, silenceMs: number, signal: AbortSignal): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  const reader = response.body!.getReader()
  try {
    for (;;) {
      const { done, value } = await unlessSilent(reader.read(), silenceMs, signal)
      if (done) return
      yield decoder.decode(value, { stream: true })
    }
  } catch (cause) {
    throw cause instanceof UnreachableError
      ? cause
      : new UnreachableError('The connection was lost.', { cause })
  } finally {
    // The connection may be gone already.
    reader.cancel().catch(() => {})
  }
}

/**
 * Not one timer for the whole stream: it would also count the time that the consumer takes. Watches the signal itself:
 * `fetch` may miss it, because a cloned request forgets its signal when garbage is collected.
 */
async function unlessSilent<Result>(
  result: Promise<Result>,
  ms: number | undefined,
  signal: AbortSignal,
): Promise<Result> {
  let timer: ReturnType<typeof setTimeout> | undefined
  let onAbort = () => {}
  const silence = new Promise<never>((_, reject) => {
    if (ms !== undefined) {
      const error = new UnreachableError(`The service sent nothing for ${ms / 1_000} s.`)
      timer = setTimeout(reject, ms, error)
    }
    onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([result, silence])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
    // What is abandoned here fails once its connection is closed.
    result.catch(() => {})
  }
}

/** Doubles with every failure; the jitter spreads clients that lost their connections at the same time. */
function delayOf(error: Error, retryMs: number, failures: number): number {
  const asked = error instanceof GantryError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0
  const backoff = Math.min(retryMs * 2 ** failures, MAX_RETRY_MS) * (0.5 + Math.random() / 2)
  return Math.max(asked, backoff)
}
