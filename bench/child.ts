import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'

/** A child process that handles requests over IPC. It exits when this process does. */
export type Child = {
  pid: number
  ask<Answer>(question: unknown): Promise<Answer>
  stop(): Promise<void>
}

export type ChildOptions = {
  /** Where its standard error goes; ours by default. */
  logFile?: string
  /** The folder that a CPU profile of the whole process is written to. */
  profileTo?: string
  /** With the memory settings of `npm start`. */
  asStarted?: boolean
}

const ANSWER_WITHIN_MS = 120_000
const END_WITHIN_MS = 10_000

type Reply = { id: number; answer?: unknown; error?: string }

export function startChild(file: string, options: ChildOptions = {}): Child {
  const log = options.logFile === undefined ? undefined : openSync(options.logFile, 'a')
  const profiling =
    options.profileTo === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${options.profileTo}`]
  const { environment, flags } = options.asStarted ? startSettings() : { environment: {}, flags: [] }
  const child = fork(new URL(file, import.meta.url), {
    execArgv: [...flags, ...profiling],
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'inherit', log ?? 'inherit', 'ipc'],
  })
  if (log !== undefined) closeSync(log)
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  let questions = 0
  child.on('message', ({ id, answer, error }: Reply) => {
    const question = waiting.get(id)
    waiting.delete(id)
    if (error === undefined) question?.resolve(answer)
    else question?.reject(new Error(`${file}: ${error}`))
  })
  child.on('exit', (code, signal) => {
    for (const { reject } of waiting.values()) reject(new Error(`${file} ended (${signal ?? code})`))
    waiting.clear()
  })
  return {
    pid: child.pid!,
    ask<Answer>(question: unknown): Promise<Answer> {
      const id = ++questions
      const answered = Promise.withResolvers<unknown>()
      waiting.set(id, answered)
      child.send({ id, question }, (error) => error && answered.reject(error))
      const killTimer = setTimeout(
        () => answered.reject(new Error(`${file} did not answer`)),
        ANSWER_WITHIN_MS,
      )
      return answered.promise.finally(() => clearTimeout(killTimer)) as Promise<Answer>
    },
    stop: () => endOf(child),
  }
}

/** What the start script in package.json says before and after `node`. */
export function startSettings(): { environment: Record<string, string>; flags: string[] } {
  const { scripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  const words: string[] = scripts.start.split(' ')
  const pairs = words.flatMap((word) =>
    [...word.matchAll(/^([A-Z_]+)=(.*)$/g)].map(([, name, value]) => [name, value]),
  )
  return { environment: Object.fromEntries(pairs), flags: words.filter((word) => word.startsWith('--')) }
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  if (child.connected) child.disconnect()
  const killTimer = setTimeout(() => child.kill('SIGKILL'), END_WITHIN_MS)
  await ended
  clearTimeout(killTimer)
}

/** The child's side: handles requests until the parent disconnects, then lets `leave` clean up. */
export function answerQuestions<Question>(
  answer: (question: Question) => Promise<unknown>,
  leave: () => Promise<void> = async () => {},
): void {
  process.on('message', async ({ id, question }: { id: number; question: Question }) => {
    const reply: Reply = await answer(question).then(
      (given) => ({ id, answer: given }),
      (error: Error) => ({ id, error: error.stack ?? error.message }),
    )
    if (process.connected) process.send?.(reply)
  })
  process.on('disconnect', () => {
    leave().finally(() => process.exit())
  })
}
