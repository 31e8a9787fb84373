import type { Dispatcher } from 'undici'
import { exchangeFault, SendFault } from './faults.ts'
import type { LineHandler } from './line.ts'
import type { SendOutcome } from './outcome.ts'

/** More than is recorded: a secret that is cut in two could not be masked (record-attempt.ts). */
export const MOST_BODY_BYTES = 20 * 1024

export const STOPPED = 'The sending was stopped.'

/** What has to be called for everything under way to end. */
export type Stops = Set<() => void>

type Common = { ipAddress: string | null; durationMs: number }
type Head = { status: number; headers: Record<string, string | string[]> }

/**
 * One request and its answer, seen from undici's side: `handler` is told what happens, and `outcome` comes
 * with the first of: the whole answer, as much of its body as is kept, a fault, the end of the time, its
 * stop. Whatever happens after that is nobody's business, and the connection is given up.
 */
export function startExchange(options: { timeoutMs: number; stops?: Stops | undefined }): {
  handler: LineHandler
  outcome: Promise<SendOutcome>
} {
  const { promise, resolve } = Promise.withResolvers<SendOutcome>()
  const startedAt = performance.now()
  const timer = setTimeout(() => fail(timedOut(options.timeoutMs, head !== null)), options.timeoutMs)
  const chunks: Buffer[] = []
  let kept = 0
  let head: Head | null = null
  let controller: Dispatcher.DispatchController | null = null
  let isOver = false

  const stop = () => fail(new SendFault('unreachable', STOPPED))

  function end(outcome: (common: Common) => SendOutcome, give = resolve): void {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    options.stops?.delete(stop)
    const durationMs = Math.round(performance.now() - startedAt)
    // Before the request is under way its connection is being opened, perhaps anew: then nobody was reached.
    give(outcome({ ipAddress: controller ? handler.line.address : null, durationMs }))
  }

  function fail(fault: SendFault): void {
    const { kind, message, address } = fault
    end(({ ipAddress, durationMs }) => ({ kind, message, ipAddress: address ?? ipAddress, durationMs }))
    controller?.abort(fault)
  }

  function answer({ status, headers }: Head, give = resolve): void {
    const retryAfter = firstOf(headers['retry-after'])
    const body = Buffer.concat(chunks, Math.min(kept, MOST_BODY_BYTES))
    end((common) => ({ kind: 'answered', status, headers, body, retryAfter, ...common }), give)
  }

  const handler: LineHandler = {
    line: { address: null },
    isOver: () => isOver,
    onRequestStart(given) {
      controller = given
      // The time ended while the request waited for a connection: nothing of it may be sent any more.
      if (isOver) controller.abort(new SendFault('unreachable', STOPPED))
    },
    onResponseStart(_controller, status, headers) {
      // 1xx: the answer is still to come.
      if (status >= 200) head = { status, headers: headers as Head['headers'] }
    },
    onResponseData(_controller, chunk) {
      chunks.push(chunk)
      kept += chunk.length
      if (kept < MOST_BODY_BYTES) return
      answer(head!)
      controller!.abort(new SendFault('unreachable', 'The rest of the answer is not wanted.'))
    },
    onResponseEnd() {
      // Undici takes the connection back in the next turn of the loop; whoever sends next shall find it.
      answer(head!, (outcome) => queueMicrotask(() => setImmediate(resolve, outcome)))
    },
    onResponseError(_controller, error) {
      fail(exchangeFault(error, head !== null))
    },
  }

  options.stops?.add(stop)
  return { handler, outcome: promise }
}

function timedOut(timeoutMs: number, hasStatus: boolean): SendFault {
  const time = `${timeoutMs / 1000} s`
  return new SendFault(
    'timed-out',
    hasStatus ? `The answer had not ended after ${time}.` : `There was no answer after ${time}.`,
  )
}

function firstOf(value: string | string[] | undefined): string | null {
  return (Array.isArray(value) ? value[0] : value) ?? null
}
