// The load generator, a process of its own so that it shares no event loop with the server. It speaks just
// enough HTTP/1.1 over bare sockets to cost little: two cores carry it, the server and the database.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { answerQuestions } from './child.ts'

export type LoadWish = {
  port: number
  /** Whole requests as they go over the wire, sent in turn; no bodies are pipelined. */
  requests: string[]
  connections: number
  ms: number
  /** A text in each request that is replaced by a number of its own, as long as the text. */
  numbered?: string
  /** Ends after so many requests, if it comes before `ms`. */
  most?: number
  /** Sends at this pace instead of as fast as answers come. */
  perSecond?: number
}

export type LoadOutcome = {
  answers: number
  perSecond: number
  p50Ms: number
  p99Ms: number
  /** CPU time that this process took. */
  cpuMs: number
  wallMs: number
}

/** A server that has stopped answering ends the run. */
const SILENCE_MS = 30_000

answerQuestions<LoadWish>(runLoad)

async function runLoad(input: LoadWish): Promise<LoadOutcome> {
  const { port, requests, connections, ms, most = Number.POSITIVE_INFINITY } = input
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
    if (input.perSecond !== undefined)
      await pause(Math.max(0, begin + (number * 1_000) / input.perSecond - performance.now()))
    return input.numbered === undefined ? request : withNumber(request, input.numbered, `${runId}${number}`)
  }
  try {
    await Promise.all(sockets.map((socket) => converse(socket, next, latencies)))
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

/** One request at a time until `next` has no more; rejects at any answer that is no 2xx. */
function converse(
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
    // Only one request is under way, so no chunk holds parts of two answers.
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
        if (length === undefined || text[9] !== '2') return reject(new Error(`unexpected answer: ${text}`))
        missing = headEnd + 4 + Number(length) - begun.length
      }
      if (missing > 0) return
      latencies.push(performance.now() - sentAt)
      send()
    })
    socket.setTimeout(SILENCE_MS, () => reject(new Error('the server is silent')))
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the server hung up')))
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
