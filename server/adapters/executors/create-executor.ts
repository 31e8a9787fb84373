import { randomBytes } from 'node:crypto'
import type { CommandEnd, CommandRequest, Executor } from './executor.ts'
import { whyImpossible } from './preamble.ts'
import { type LaunchedCommand, supervise } from './supervise.ts'

type Parts = {
  /** Starts bash for a command, or tells why that is not to be. */
  launch(request: CommandRequest): Promise<LaunchedCommand | CommandEnd>
  /** Called once, when no command runs any more. */
  shutDown(): Promise<void>
}

/** The marks of one executor's commands begin alike, and nobody else's do, on any machine. */
export type Marks = { beginning: string; next(): string }

export function createMarks(): Marks {
  const beginning = `${randomBytes(8).toString('hex')}.`
  let count = 0
  // The dot at the end keeps number 1 from being found in number 10.
  return { beginning, next: () => `${beginning}${++count}.` }
}

/** An executor out of its particular parts. */
export function createExecutor({ launch, shutDown }: Parts): Executor {
  const running = new Set<Promise<CommandEnd>>()
  const closing = new AbortController()
  let closed: Promise<void> | undefined

  async function run(request: CommandRequest): Promise<CommandEnd> {
    try {
      if (request.signal.aborted) return { kind: 'cancelled' }
      const refusal = whyImpossible(request)
      if (refusal) return refusal
      const launched = await launch(request)
      return 'kind' in launched ? launched : await supervise(request, launched)
    } finally {
      request.input?.destroy()
    }
  }

  return {
    async run(request) {
      const signal = AbortSignal.any([request.signal, closing.signal])
      const end = run({ ...request, signal })
      running.add(end)
      return end.finally(() => running.delete(end))
    },
    close() {
      closing.abort()
      closed ??= Promise.allSettled(running).then(shutDown)
      return closed
    },
  }
}
