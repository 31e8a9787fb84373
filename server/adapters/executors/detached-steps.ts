// Steps on a server that survive the connection, as detached.ts promises, in orders to a supervisor.

import type {
  Claimed,
  ConnectionLost,
  DetachedAttach,
  DetachedStart,
  DetachedSteps,
  Follow,
  Left,
  StepEnd,
  Unreadable,
  Void,
} from './detached.ts'
import { type Impossible, impossible } from './executor.ts'
import { buildScript, whyImpossible } from './preamble.ts'
import { printable } from './ssh-connection.ts'
import type { Supervisor } from './supervisor.ts'

type Said = StepEnd | Unreadable | Claimed | Void | Impossible

const TOKEN = /^[0-9a-f]{32}$/
const OWNER = /^[A-Za-z0-9]{1,64}-[0-9]{1,15}$/
const PATH = /^\/[^\s]{1,1000}$/
/** A server that removes thousands of files is slow. */
const REMOVE_TIMEOUT_MS = 30_000

/** `whyLost`: of the connection. */
export function createDetachedSteps(
  supervisor: Supervisor,
  owner: string,
  whyLost: () => string,
): DetachedSteps {
  if (!OWNER.test(owner)) throw new Error(`Not an owner of steps: ${owner}`)
  const nameOf = (token: string) => {
    if (!TOKEN.test(token)) throw new Error('Not a token of a step')
    return `${owner}-${token}`
  }

  /** Sends an order, and passes on output until the step ends, or we leave it. */
  async function follow(
    { onOutput, cancel, leave }: Follow,
    from: number,
    order: (id: number) => void,
  ): Promise<Said | Left | ConnectionLost> {
    if (leave.aborted) return { kind: 'left' }
    if (supervisor.isGone()) return lost()
    const ended = Promise.withResolvers<Said | 'left' | 'lost'>()
    let passing = Promise.resolve()
    let next = from
    let owed = 1
    const line = supervisor.listen({
      onLine(word, rest) {
        if (word === 'end') ended.resolve(readEnd(rest))
      },
      onData(chunk, offset) {
        // Only what we asked for, and nothing twice.
        if (owed-- === 0 || offset < next) return supervisor.abandon()
        next = offset + chunk.length
        passing = passing.then(async () => {
          if (leave.aborted) return
          await onOutput(chunk, offset)
          owed++
          supervisor.send('more', line.id)
        })
        passing.catch(() => ended.resolve('left'))
      },
    })
    const onCancel = () => supervisor.send('cancel', line.id)
    const onLeave = () => ended.resolve('left')
    cancel.addEventListener('abort', onCancel)
    leave.addEventListener('abort', onLeave)
    supervisor.gone.then(() => ended.resolve('lost'))
    try {
      order(line.id)
      if (cancel.aborted) onCancel()
      const end = await ended.promise
      line.close()
      await passing
      if (end === 'lost') return lost()
      if (end !== 'left') return end
      return { kind: 'left' }
    } finally {
      line.close()
      supervisor.send('leave', line.id)
      cancel.removeEventListener('abort', onCancel)
      leave.removeEventListener('abort', onLeave)
    }
  }

  const lost = (): ConnectionLost | Left =>
    supervisor.isClosed()
      ? { kind: 'left' }
      : { kind: 'connection-lost', message: whyLost(), silentMs: supervisor.silentMs() }

  /** Resolves with the last word about an order; with undefined when the supervisor has none. */
  async function ask(word: string, rest: string[], onLine?: (word: string, rest: string[]) => void) {
    const answer = Promise.withResolvers<string | undefined>()
    const line = supervisor.listen({
      onLine(word, rest) {
        if (word === 'finished') answer.resolve(rest[0])
        else onLine?.(word, rest)
      },
    })
    const timer = setTimeout(answer.resolve, REMOVE_TIMEOUT_MS, undefined)
    supervisor.gone.then(() => answer.resolve(undefined))
    supervisor.send(word, line.id, ...rest)
    return answer.promise.finally(() => {
      clearTimeout(timer)
      line.close()
    })
  }

  function isOwn(statePath: string): boolean {
    const token = statePath.slice(-32)
    return PATH.test(statePath) && TOKEN.test(token) && statePath.endsWith(`/${nameOf(token)}`)
  }

  async function remove(...statePaths: string[]): Promise<boolean> {
    return statePaths.every(isOwn) && (await ask('remove', statePaths)) === 'yes'
  }

  return {
    kind: 'detached',
    statePath: (token) => `${supervisor.stateFolder}/${nameOf(token)}`,
    async start(step: DetachedStart, following: Follow) {
      const invalid = whyImpossible(step)
      if (invalid) return invalid
      const script = buildScript(step)
      const hundredths = (ms: number) => Math.min(Math.ceil(ms / 10), 1e12)
      const words = [
        nameOf(step.token),
        supervisor.tick(),
        hundredths(step.leaseSeconds * 1_000),
        hundredths(step.timeoutMs),
        hundredths(step.graceMs),
        script.length,
      ]
      const end = await follow(following, 0, (id) => {
        supervisor.sendText(`start ${id} ${words.join(' ')}\n${script}\n`)
      })
      return end.kind === 'void' ? { kind: 'claimed' } : end
    },
    async attach({ token, statePath, offset }: DetachedAttach, following: Follow) {
      const name = nameOf(token)
      if (!PATH.test(statePath) || !statePath.endsWith(`/${name}`))
        return { kind: 'unreadable', message: 'the stored path is not that of this step' }
      const end = await follow(following, offset, (id) =>
        supervisor.send('attach', id, name, offset, supervisor.tick(), statePath),
      )
      return end.kind === 'claimed' ? { kind: 'void' } : end
    },
    expectStart: () => supervisor.send('expect'),
    remove,
    async sweep(findFinished) {
      const paths = new Map<string, string>()
      await ask('list', [owner], (word, [path = '']) => {
        if (word === 'folder' && PATH.test(path) && TOKEN.test(path.slice(-32)))
          paths.set(path.slice(-32), path)
      })
      if (paths.size === 0) return 0
      let removed = 0
      for (const token of await findFinished([...paths.keys()])) {
        const path = paths.get(token)
        if (path && (await remove(path))) removed++
      }
      return removed
    },
  }
}

/** The server influences all of it. */
function readEnd([word = '', ...rest]: string[]): Said {
  const text = printable(rest.join(' '))
  switch (word) {
    case 'exited':
      return /^\d{1,3}$/.test(text) ? { kind: 'exited', code: Number(text) } : damaged()
    case 'signalled':
      return { kind: 'signalled', signal: /^SIG[A-Z0-9+-]{1,20}$/.test(text) ? text : 'unknown signal' }
    case 'timed-out':
    case 'cancelled':
    case 'lease-expired':
    case 'claimed':
    case 'void':
      return { kind: word }
    case 'supervisor-lost':
      return { kind: word, why: text === 'restarted' ? 'restarted' : 'killed' }
    case 'disk-full':
      return {
        kind: word,
        message: `the disk ${printable(rest[0] ?? '')} on the server ${/space|quota/.test(text) ? 'is full' : `cannot be written to (${text})`}`,
      }
    case 'unreadable':
      return { kind: word, message: text }
    case 'refused':
      return impossible(`the state of the step cannot be kept on the disk ${text}`)
    default:
      return damaged()
  }
}

const damaged = (): Unreadable => ({
  kind: 'unreadable',
  message: 'the server sent a result that makes no sense',
})
