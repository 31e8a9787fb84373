// The load generator, a separate process so that it shares no event loop with the server. It speaks just enough
// HTTP/1.1 over plain sockets to stay cheap: it shares two cores with the server and the database.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { answerQuestions } from './child.ts'

export type LoadOptions = {
  port: number
  /** Whole requests as they go over the wire, sent in turn; no bodies are pipelined. */
  requests: string[]
  connections: number
  ms: number
  /** A placeholder in each request, replaced by a unique number of the same length. */
  numbered?: string
  /** Stops after this many requests, or after `ms`, whichever comes first. */
  most?: number
  /** Sends at this rate instead of as fast as responses arrive. */
  perSecond?: number
}

export type LoadOutcome = {
  answers: number
  perSecond: number
  p50Ms: number
  p95Ms: number
  p99Ms: number
  /** CPU time that this process took. */
  cpuMs: number
  wallMs: number
}

/** The run fails when the server stops responding. */
const RESPONSE_TIMEOUT_MS = 30_000

answerQuestions<LoadOptions>(runLoad)

async function runLoad(options: LoadOptions): Promise<LoadOutcome> {
  const { port, requests, connections, ms, most = Number.POSITIVE_INFINITY } = options
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)))
  const raw = requests.map((request) => Buffer.from(request, 'latin1'))
  const latencies: number[] = []
  let sent = 0
  const cpuBefore = process.cpuUsage()
  const begin = performance.now()
  const end = begin + ms
  const runId = `${process.pid}${begin.toFixed(0)}`
  const next = async () => {
    if (performance.now() >= end || sent >= most) return undefined
    const number = sent++
    const request = raw[number % raw.length]!
    if (options.perSecond !== undefined)
      await pause(Math.max(0, begin + (number * 1_000) / options.perSecond - performance.now()))
    return options.numbered === undefined
      ? request
      : withNumber(request, options.numbered, `${runId}${number}`)
  }
  try {
    await Promise.all(sockets.map((socket) => exchange(socket, next, latencies)))
  } finally {
    for (const socket of sockets) socket.destroy()
  }
  const wallMs = performance.now() - begin
  const cpu = process.cpuUsage(cpuBefore)
  const sorted = Float64Array.from(latencies).sort()
  return {
    answers: sorted.length,
    perSecond: (sorted.length / wallMs) * 1_000,
    p50Ms: percentile(sorted, 0.5),
    p95Ms: percentile(sorted, 0.95),
    p99Ms: percentile(sorted, 0.99),
    cpuMs: (cpu.user + cpu.system) / 1_000,
    wallMs,
  }
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true })
  await once(socket, 'connect')
  return socket
}

/** One request at a time until `next` has no more; rejects on any response other than 2xx. */
function exchange(
  socket: Socket,
  next: () => Promise<Buffer | undefined>,
  latencies: number[],
): Promise<void> {
  return new Promise((resolve, reject) => {
    let head: Buffer | undefined
    let missing = 0
    let sentAt = 0
    const send = async () => {
      const request = await next()
      if (request === undefined) return resolve()
      sentAt = performance.now()
      socket.write(request)
    }
    // Only one request is in flight, so no chunk contains parts of two responses.
    socket.on('data', (chunk: Buffer) => {
      if (missing > 0) {
        missing -= chunk.length
      } else {
        const begun: Buffer = head ? Buffer.concat([head, chunk]) : chunk
        const headEnd = begun.indexOf('\r\n\r\n')
        if (headEnd < 0) {
          head = begun
          return
        }
        head = undefined
        const text = begun.toString('latin1', 0, headEnd)
        const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1]
        if (length === undefined || text[9] !== '2') return reject(new Error(`unexpected response: ${text}`))
        missing = headEnd + 4 + Number(length) - begun.length
      }
      if (missing > 0) return
      latencies.push(performance.now() - sentAt)
      send()
    })
    socket.setTimeout(RESPONSE_TIMEOUT_MS, () => reject(new Error('the server stopped responding')))
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the server closed the connection')))
    send()
  })
}

function withNumber(request: Buffer, mark: string, number: string): Buffer {
  const copy = Buffer.from(request)
  copy.write(number.padStart(mark.length, '0'), copy.indexOf(mark), 'latin1')
  return copy
}

/** Of sorted values. */
function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
