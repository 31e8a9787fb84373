import type { Dispatcher } from 'undici'
import type { ExchangeHandler } from './connections.ts'
import { exchangeError, type Failure, RequestError } from './errors.ts'

export type SendOutcome =
  /** A response came, whatever it says. Only the beginning of a long one is read. */
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
  /** `blocked`: nothing was sent, and the same request never will be. The message is for people. */
  | { kind: Failure; message: string; ipAddress: string | null; durationMs: number }

/** More than is recorded: a secret that is cut in two could not be masked (record-attempt.ts). */
export const MAX_BODY_BYTES = 20 * 1024

export const STOPPED = 'The request was aborted.'

/** Callbacks that abort requests in flight. */
export type Stops = Set<() => void>

type Common = { ipAddress: string | null; durationMs: number }
type Head = { status: number; headers: Record<string, string | string[]> }

/**
 * One request and its response: undici calls `handler`, and `outcome` resolves with the first of: the whole
 * response, as much of its body as is wanted, an error, the timeout, a stop. Whatever comes after that is ignored,
 * and the connection is abandoned.
 */
export function startExchange(options: {
  timeoutMs: number
  maxBodyBytes?: number
  stops?: Stops | undefined
}): { handler: ExchangeHandler; outcome: Promise<SendOutcome> } {
  const { timeoutMs, maxBodyBytes = MAX_BODY_BYTES, stops } = options
  const { promise, resolve } = Promise.withResolvers<SendOutcome>()
  const startedAt = performance.now()
  const timer = setTimeout(() => fail(timedOut(timeoutMs, head !== null)), timeoutMs)
  const chunks: Buffer[] = []
  let size = 0
  let head: Head | null = null
  let controller: Dispatcher.DispatchController | null = null
  let isOver = false
  let isFree = false

  function free(): void {
    if (isFree) return
    isFree = true
    afterThisTurn(() => handler.onFree())
  }

  const stop = () => fail(new RequestError('unreachable', STOPPED))

  function end(outcome: (common: Common) => SendOutcome, deliver = resolve): void {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    stops?.delete(stop)
    const durationMs = Math.round(performance.now() - startedAt)
    // Before the request is in flight, its connection is being opened, perhaps again: then nobody was reached.
    deliver(outcome({ ipAddress: controller ? handler.peer.address : null, durationMs }))
  }

  function fail(error: RequestError): void {
    const { kind, message, address } = error
    end(({ ipAddress, durationMs }) => ({ kind, message, ipAddress: address ?? ipAddress, durationMs }))
    if (!controller) return
    controller.abort(error)
    free()
  }

  function answer({ status, headers }: Head, deliver = resolve): void {
    const retryAfter = [headers['retry-after']].flat()[0] ?? null
    const body = Buffer.concat(chunks, Math.min(size, maxBodyBytes))
    end((common) => ({ kind: 'answered', status, headers, body, retryAfter, ...common }), deliver)
  }

  const handler: ExchangeHandler = {
    peer: { address: null },
    isOver: () => isOver,
    abandon: free,
    onFree: () => {},
    onRequestStart(given) {
      controller = given
      // The timeout passed while the request waited for a connection: nothing of it may be sent any more.
      if (isOver) fail(new RequestError('unreachable', STOPPED))
    },
    onResponseStart(_controller, status, headers) {
      // 1xx: the response is still to come.
      if (status >= 200) head = { status, headers: headers as Head['headers'] }
    },
    onResponseData(_controller, chunk) {
      chunks.push(chunk)
      size += chunk.length
      if (size < maxBodyBytes) return
      answer(head!)
      controller!.abort(new RequestError('unreachable', 'The rest of the response is not wanted.'))
      free()
    },
    onResponseEnd() {
      free()
      answer(head!, (outcome) => afterThisTurn(() => resolve(outcome)))
    },
    onResponseError(_controller, error) {
      fail(exchangeError(error, head !== null))
      free()
    },
  }

  stops?.add(stop)
  return { handler, outcome: promise }
}

/** Undici takes a connection back in the next turn of the event loop; the next request should find it. */
function afterThisTurn(work: () => void): void {
  queueMicrotask(() => setImmediate(work))
}

function timedOut(timeoutMs: number, hasStatus: boolean): RequestError {
  const time = `${timeoutMs / 1000} s`
  return new RequestError(
    'timed-out',
    hasStatus ? `The response was not complete after ${time}.` : `No response after ${time}.`,
  )
}
