// The channel to a supervisor (supervisor.sh): orders in one direction, frames in the other, and a heartbeat that renews the
// leases of the steps that it follows. `detached-steps.ts` makes steps of it.

import type { ClientChannel } from 'ssh2'
import { readScript } from '#platform/scripts.ts'
import { RENEW_MS, type Unavailable } from './detached.ts'
import { createFrameReader } from './frames.ts'
import { BOOTSTRAP, quote, START_WORD } from './preamble.ts'
import { printable } from './ssh-connection.ts'

export type Supervisor = Exclude<Awaited<ReturnType<typeof openSupervisor>>, Unavailable | string>

/** Gets what the supervisor says about one order. */
export type Listener = {
  onLine?(word: string, rest: string[]): void
  onData?(chunk: Buffer, offset: number): void
}

/** What a server runs; a login shell of any kind must pass it on in single quotes. */
export const SUPERVISOR_COMMAND = `bash --norc -c '${BOOTSTRAP}' bash`

const SCRIPT = `unset __n __t __u; eval -- ${quote(readScript('./supervisor.sh', import.meta.url))}`
const PREAMBLE = `${SCRIPT.length}\n${SCRIPT}\n`

/** Orders are obeyed one by one, and none takes longer. Then something is wrong with the supervisor, or the connection. */
const MAX_SILENCE_MS = 60_000
const MAX_NOISE = 64 * 1024
const RENEWALS_PER_LEASE = 5

/** Resolves when the supervisor is ready; with a text, when there is none: what was printed instead. */
export async function openSupervisor(channel: ClientChannel, startTimeoutMs: number) {
  const listeners = new Map<number, Listener>()
  const ready = Promise.withResolvers<string[] | undefined>()
  const gone = Promise.withResolvers<void>()
  let ids = 0
  let tick = '0'
  let acknowledgedAt = performance.now()
  let isGone = false
  let isClosed = false

  const end = () => {
    isGone = true
    ready.resolve(undefined)
    gone.resolve()
    channel.close()
  }
  const read = createFrameReader({
    onLine([word = '', ...rest]) {
      if (word === 'ready' || word === 'unavailable') ready.resolve([word, ...rest])
      else if (word === 'tick') acknowledge(rest[0])
      else listeners.get(Number(rest[0]))?.onLine?.(word, rest.slice(1))
    },
    onData: (id, offset, chunk) => listeners.get(id)?.onData?.(chunk, offset),
  })
  function acknowledge(word = ''): void {
    if (!/^\d{1,15}$/.test(word)) return
    tick = word
    acknowledgedAt = performance.now()
  }
  /** The empty line wakes the supervisor. */
  const sendText = (text: string) => void (isGone || channel.write(`\n${text}`))
  const send = (...words: (string | number)[]) => {
    sendText(`${words.join(' ')}\n`)
  }

  const noise = skipGreeting(
    channel,
    () => channel.write(PREAMBLE),
    (bytes) => read(bytes) || end(),
  )
  channel.on('error', () => {})
  channel.on('close', end)
  const timer = setTimeout(end, startTimeoutMs)
  const [word, ...said] = (await ready.promise) ?? []
  clearTimeout(timer)
  if (word === 'unavailable') {
    end()
    return { kind: 'unavailable', reason: printable(said.join(' ')) } satisfies Unavailable
  }
  const [first, stateFolder] = said
  if (word !== 'ready' || said.length !== 2 || !stateFolder!.startsWith('/')) {
    end()
    return noise()
  }
  acknowledge(first)

  const beat = () => {
    if (performance.now() - acknowledgedAt > MAX_SILENCE_MS) end()
    else send('renew', tick)
  }
  let renewMs = RENEW_MS
  let heartbeat = setInterval(beat, renewMs)
  gone.promise.then(() => clearInterval(heartbeat))

  return {
    /** Absolute, without white space. */
    stateFolder: stateFolder!,
    /** Resolves when the channel has ended. */
    gone: gone.promise,
    isGone: () => isGone,
    /** Whether it is gone because we closed it. */
    isClosed: () => isClosed,
    silentMs: () => Math.round(performance.now() - acknowledgedAt),
    /** The last time of the server that it has told us: what leases count from. */
    tick: () => tick,
    /** Numbers an order. What the supervisor says about that number goes to the listener. */
    listen(listener: Listener): { id: number; close(): void } {
      const id = ++ids
      listeners.set(id, listener)
      return { id, close: () => void listeners.delete(id) }
    },
    send,
    /** An order with lines of ASCII behind it. */
    sendText,
    /** A lease seems older than its last renewal by another one: it has to be several times as long. */
    renewWithin(leaseSeconds: number): void {
      const ms = leaseSeconds * (1_000 / RENEWALS_PER_LEASE)
      if (isGone || ms >= renewMs) return
      renewMs = ms
      clearInterval(heartbeat)
      heartbeat = setInterval(beat, renewMs)
      beat()
    },
    /** For one that does not follow orders. */
    abandon: end,
    /** Steps continue. */
    close(): void {
      isClosed ||= !isGone
      channel.end()
      end()
    },
  }
}

/**
 * Passes on what follows the line that says that bash is ready: a login shell may print something before. Returns what that was.
 */
function skipGreeting(
  channel: ClientChannel,
  onStarted: () => void,
  onBytes: (bytes: Buffer) => void,
): () => string {
  let early: Buffer | undefined = Buffer.alloc(0)
  let errors = ''
  channel.stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString('utf8')).slice(-2_000)
  })
  channel.on('data', (chunk: Buffer) => {
    if (!early) return onBytes(chunk)
    early = Buffer.concat([early, chunk])
    const word = early.indexOf(`${START_WORD} `)
    const end = word === -1 ? -1 : early.indexOf('\n', word)
    if (end === -1) {
      early = early.subarray(-MAX_NOISE)
      return
    }
    const rest = early.subarray(end + 1)
    early = undefined
    onStarted()
    if (rest.length > 0) onBytes(rest)
  })
  return () => printable(errors || early?.toString('utf8') || '')
}
