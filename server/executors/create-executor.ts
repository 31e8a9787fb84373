import { randomBytes } from 'node:crypto'
import { conduct, type LaunchedCommand } from './conduct.ts'
import type { CommandEnd, CommandRequest, Executor } from './executor.ts'
import { whyImpossible } from './preamble.ts'

type Parts = {
  /** Starts bash for a command, or tells why that is not to be. Its processes carry the mark. */
  launch(request: CommandRequest, mark: string): Promise<LaunchedCommand | CommandEnd>
  /** Called once, when no command runs any more. */
  shutDown(): Promise<void>
}

/** What the marks of one executor's commands begin with. Nobody else's do, on any machine. */
export function newMarks(): string {
  return `${randomBytes(8).toString('hex')}.`
}

/** An executor out of its particular parts. */
export function createExecutor(marks: string, { launch, shutDown }: Parts): Executor {
  const running = new Set<Promise<CommandEnd>>()
  const closing = new AbortController()
  let commands = 0
  let closed: Promise<void> | undefined

  async function run(request: CommandRequest): Promise<CommandEnd> {
    try {
      if (request.signal.aborted) return { kind: 'cancelled' }
      const refusal = whyImpossible(request)
      if (refusal) return refusal
      // The dot at the end keeps number 1 from being found in number 10.
      const mark = `${marks}${++commands}.`
      const launched = await launch(request, mark)
      return 'kind' in launched ? launched : await conduct(request, launched)
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
