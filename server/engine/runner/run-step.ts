import type { Readable } from 'node:stream'
import type { CommandEnd, Executor } from '#adapters/executors/executor.ts'
import type { ReasonCode } from '#platform/database/tables.ts'
import { AbortedError } from '#platform/queue/run-attempt.ts'
import type { Run } from './load-run.ts'
import type { StepDefinition } from './step-definition.ts'

/** How a step ended. `message` is the last line of its log. */
export type StepOutcome =
  | { kind: 'done' }
  | { kind: 'failed'; reason: ReasonCode; message: string | null }
  /** The signal aborted; whoever aborted it knows what follows. */
  | { kind: 'stopped' }

/** What a step has at hand while it runs. */
export type StepTools = {
  run: Run
  step: StepDefinition
  attempt: number
  /** The first step of an attempt that goes on where a lost one was. */
  isResumed: boolean
  executor: Executor
  /** What is left of the step's time, whatever it was spent on. It runs from the first time that somebody asks. */
  leftMs(): number
  signal: AbortSignal
  /** Output of commands, as it comes. */
  write(chunk: Buffer): Promise<void>
  /** A line of Gantry's own. */
  line(text: string): Promise<void>
}

/** How long what a command started has between being asked to end and being ended. */
const GRACE_MS = 10_000
/** When the worker stops: it has been waited for already, and must be gone soon. */
const STOPPING_GRACE_MS = 1_000

export type Command = {
  command: string
  environment: Record<string, string>
  workingFolder?: string | null
  runAsUser?: string | null
  input?: Readable
  onOutput?: (chunk: Buffer) => Promise<void> | void
}

/** For `StepTools`. */
export function countDown(timeoutSeconds: number, clock = () => performance.now()): () => number {
  let begunAt: number | undefined
  return () => {
    const now = clock()
    begunAt ??= now
    return Math.max(0, Math.ceil(timeoutSeconds * 1_000 - (now - begunAt)))
  }
}

/** Runs a command as the step, or as a part of it. */
export async function runCommand(tools: StepTools, command: Command): Promise<StepOutcome> {
  const timeoutMs = tools.leftMs()
  if (timeoutMs === 0) return timedOut(tools.step.timeoutSeconds)
  const end = await tools.executor.run({
    workingFolder: null,
    runAsUser: tools.step.runAsUser,
    onOutput: tools.write,
    signal: tools.signal,
    timeoutMs,
    graceMs: () => (isStopping(tools.signal) ? STOPPING_GRACE_MS : GRACE_MS),
    ...command,
  })
  return outcomeOf(end, tools.step.timeoutSeconds)
}

export function outcomeOf(end: CommandEnd, timeoutSeconds: number): StepOutcome {
  switch (end.kind) {
    case 'exited':
      if (end.code === 0) return { kind: 'done' }
      return failed('FAILED', `The command exited with code ${end.code}.`)
    case 'signalled':
      return failed('FAILED', `The command was ended by ${end.signal}.`)
    case 'timed-out':
      return timedOut(timeoutSeconds)
    case 'cancelled':
      return { kind: 'stopped' }
    case 'unreachable':
      return failed('FAILED_UNREACHABLE', end.message)
    case 'impossible':
      return failed('FAILED', end.message)
  }
}

export function timedOut(timeoutSeconds: number): StepOutcome {
  return failed('FAILED_TIMEOUT', `Timed out after ${timeoutSeconds} s; what the step had started was ended.`)
}

export function failed(reason: ReasonCode, message: string | null): StepOutcome {
  return { kind: 'failed', reason, message }
}

function isStopping({ reason }: AbortSignal): boolean {
  return reason instanceof AbortedError && reason.why === 'stopping'
}
