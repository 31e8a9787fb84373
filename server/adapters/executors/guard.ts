// A guard is a small bash (guard.sh) under the account of the commands, on the same machine, connected to Gantry. It finds the
// processes of a command by the mark in their environment, including those that left its process group. When the
// connection ends or goes silent, it ends every command of this Gantry on its own: so nothing survives the death of
// Gantry, or of the connection.
//
// It does not find a process that clears its environment, leaves the process group and loses its parents. Where
// the system has no /proc, it knows only the process groups.

import { randomBytes } from 'node:crypto'
import type { Readable, Writable } from 'node:stream'
import { readOneLiner } from '#platform/scripts.ts'
import { onLines } from './output.ts'

export type Guard = Exclude<Awaited<ReturnType<typeof openGuard>>, string>

export type GuardSignal = 'TERM' | 'KILL' | '0'

export type GuardSettings = {
  /** What the marks of all commands of this executor begin with. */
  marks: string
  /** How long a silent connection is tolerated. Null: only its end counts, as on one machine. */
  silence: { seconds: number; heartbeatMs: number } | null
}

/** The marks of one executor's commands share a prefix that no other executor has, on any machine. */
export function createMarks() {
  const prefix = `${randomBytes(8).toString('hex')}.`
  let count = 0
  // The dot at the end keeps number 1 from matching number 10.
  return { prefix, next: () => `${prefix}${++count}.` }
}

export const GUARD = readOneLiner('./guard.sh', import.meta.url)

/** Resolves when the guard is ready; when its output ends before that, with what was printed instead. */
export async function openGuard(input: Writable, output: Readable, { marks, silence }: GuardSettings) {
  const waiting = new Map<number, PromiseWithResolvers<number>>()
  const ready = Promise.withResolvers<boolean>()
  const gone = Promise.withResolvers<void>()
  let requests = 0
  let isGone = false
  let noise = ''

  input.on('error', () => {})
  output.on('error', () => {})
  onLines(output, (line) => {
    // A login shell may print something first.
    if (line === `ready ${marks}`) ready.resolve(true)
    else if (requests === 0) noise = `${noise} ${line}`.slice(-500)
    const [id, count] = line.split(' ').map(Number)
    waiting.get(id!)?.resolve(count!)
    waiting.delete(id!)
  })
  output.on('close', () => {
    isGone = true
    ready.resolve(false)
    gone.resolve()
    for (const { reject } of waiting.values()) reject(new Error('the guard has ended'))
  })
  const send = (...words: (string | number)[]) => input.write(`${words.join(' ')}\n`)
  send(marks, silence ? `-t ${silence.seconds}` : '')
  if (!(await ready.promise)) return noise.trim()

  const heartbeat = silence && setInterval(() => send(0, 'beat'), silence.heartbeatMs)
  gone.promise.then(() => clearInterval(heartbeat ?? undefined))
  return {
    /**
     * Signals every process with this mark and, when known, the command's process group. Resolves with the number of
     * processes found; signal 0 only counts. Rejects when the guard has ended.
     */
    signal(name: GuardSignal, mark: string, group: number | undefined): Promise<number> {
      if (isGone) return Promise.reject(new Error('the guard has ended'))
      const id = ++requests
      const response = Promise.withResolvers<number>()
      waiting.set(id, response)
      send(id, name, mark, group ?? '')
      return response.promise
    },
    /** The process group to end when the connection does. */
    watch: (group: number) => void send(0, 'watch', '-', group),
    unwatch: (group: number) => void send(0, 'forget', '-', group),
    /** Resolves when the guard has ended. */
    gone: gone.promise,
    /** Call when commands no longer need it. It leaves other processes alone: root's guard would find them all. */
    close: () => void input.end('0 bye\n'),
  }
}
