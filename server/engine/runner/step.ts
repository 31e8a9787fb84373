import type { CommandEnd, CommandRequest, Executor } from '#adapters/executors/executor.ts'
import type { TargetAttempt } from '#engine/scheduling/target-lifecycle.ts'
import { baseFolder, releasePaths } from '#model/deploy/layout.ts'
import { stepEnvironment } from '#model/deploy/variables.ts'
import type { ReasonCode } from '#platform/database/tables.ts'
import { AbortedError } from '#platform/queue/run-attempt.ts'
import type { Run, StepDefinition } from './load-run.ts'

/** How a step ended. `message` is the last line of its log. */
export type StepOutcome =
  | { kind: 'done' }
  /** `isFinal`: also when the server can be reached again. */
  | { kind: 'failed'; reason: ReasonCode; message: string | null; isFinal: boolean }
  /** The signal aborted; the code that aborted it knows what follows. */
  | { kind: 'stopped' }

export const DONE: StepOutcome = { kind: 'done' }

/** What a step handler gets. */
export type StepContext = {
  run: Run
  step: StepDefinition
  attempt: Pick<TargetAttempt, 'actionId' | 'targetId' | 'attempt' | 'locked'>
  /** The first step of an attempt that continues a lost one. */
  isResumed: boolean
  executor: Executor
  /** What is left of the step's timeout. It runs from the first call on. */
  leftMs(): number
  signal: AbortSignal
  /** Output of commands, as it comes. */
  write(chunk: Buffer): Promise<void>
  /** A line from Gantry. */
  line(text: string): Promise<void>
  /** Null: the step runs attached to the connection. */
  detached: DetachedRun | null
}

type PreparedCommand = { kind: 'ready'; command: Command } | StepOutcome

/** A step that runs on its server by itself; see detached-step.ts. */
export type DetachedRun = {
  /** Follows what an earlier attempt has started. `void`: nothing has run, and nothing will: `run` starts it. */
  attach(context: StepContext): Promise<StepOutcome | { kind: 'void' }>
  /** Whether something was started under its token. */
  isRunning: boolean
  /** Runs it under its token; attached to the connection where the server, or a worker, cannot do more. */
  run(context: StepContext, prepare: () => Promise<PreparedCommand>): Promise<StepOutcome>
}

export type StepHandler = (context: StepContext) => Promise<StepOutcome>

/** How long the processes of a command have between SIGTERM and SIGKILL. */
export const GRACE_MS = 10_000
/** When the worker stops: it has waited already, and must exit soon. */
const STOPPING_GRACE_MS = 1_000

export type Command = Partial<CommandRequest> & Pick<CommandRequest, 'command' | 'environment'>

/** For `StepContext.leftMs`. */
export function countDown(timeoutSeconds: number, clock = () => performance.now()): () => number {
  let startedAt: number | undefined
  return () => {
    const now = clock()
    startedAt ??= now
    return Math.max(0, Math.ceil(timeoutSeconds * 1_000 - (now - startedAt)))
  }
}

/** Runs a command as the step, or as a part of it. */
export async function runCommand(context: StepContext, command: Command): Promise<StepOutcome> {
  const timeoutMs = context.leftMs()
  if (timeoutMs === 0) return timedOut(context.step)
  return outcomeOf(await execute(context, { timeoutMs, ...command }), context.step)
}

/** What the command prints goes to the log, too, unless `write` leaves it out. */
export async function runAndRead(context: StepContext, command: Command, write = context.write) {
  const chunks: Buffer[] = []
  const outcome = await runCommand(context, {
    ...command,
    onOutput(chunk) {
      chunks.push(chunk)
      return write(chunk)
    },
  })
  return { outcome, output: Buffer.concat(chunks).toString() }
}

/** For `runAndRead`: the output is not for people. */
export const unlogged = async () => {}

/** For a step that reads the end of a command itself. */
export function execute(
  { step, signal, executor, write }: StepContext,
  command: Command & Pick<CommandRequest, 'timeoutMs'>,
): Promise<CommandEnd> {
  return executor.run({
    workingFolder: null,
    runAsUser: step.runAsUser,
    onOutput: write,
    signal,
    graceMs: () => (isStopping(signal) ? STOPPING_GRACE_MS : GRACE_MS),
    ...command,
  })
}

export function outcomeOf(end: CommandEnd, step: StepDefinition): StepOutcome {
  switch (end.kind) {
    case 'exited':
      return end.code === 0 ? DONE : failed('FAILED', `The command exited with code ${end.code}.`)
    case 'signalled':
      return failed('FAILED', `The command was killed by ${end.signal}.`)
    case 'timed-out':
      return timedOut(step)
    case 'cancelled':
      return { kind: 'stopped' }
    case 'unreachable':
      return failed('FAILED_UNREACHABLE', end.message)
    case 'impossible':
      return failed('FAILED', end.message)
  }
}

export function timedOut({ timeoutSeconds }: StepDefinition): StepOutcome {
  return failed(
    'FAILED_TIMEOUT',
    `Timed out after ${timeoutSeconds} s; all processes of the step were ended.`,
  )
}

export function failed(reason: ReasonCode, message: string | null, { isFinal = false } = {}): StepOutcome {
  return { kind: 'failed', reason, message, isFinal }
}

function isStopping({ reason }: AbortSignal): boolean {
  return reason instanceof AbortedError && reason.why === 'stopping'
}

/** The folder of the application on the target. */
export function baseOf({ server, application }: Run): string {
  return baseFolder(server.rootDirectory, application!.folder)
}

/** The run on one target, as the server knows it. */
export const runIdOf = ({ installation, targetId }: Run) => `${installation}-${targetId}`

/** The attempt, as the lock on the server knows it. */
export const attemptOf = ({ run, attempt }: StepContext) => ({ run: runIdOf(run), number: attempt.attempt })

/** Runs a command that a user wrote, in the folder of the release when there is one. */
export async function runCustomCommand(context: StepContext, command: string): Promise<StepOutcome> {
  const { detached } = context
  if (detached) return detached.run(context, () => prepareCustomCommand(context, command))
  const prepared = await prepareCustomCommand(context, command)
  return prepared.kind === 'ready' ? runCommand(context, prepared.command) : prepared
}

/** Writes to the log which variables it leaves out. */
export async function prepareCustomCommand(context: StepContext, command: string): Promise<PreparedCommand> {
  const { run } = context
  const { application, deployment } = run
  const release = run.hasRelease ? run.releaseName : null
  const paths = release === null ? null : releasePaths(baseOf(run), release)
  const prepared = stepEnvironment({
    hookVariables: run.hookVariables,
    applicationVariables: application?.variables ?? [],
    facts: {
      actionId: run.actionId,
      targetId: run.targetId,
      environment: run.environmentName,
      server: run.server.name,
      application: application?.name ?? null,
      source: deployment?.source_ref
        ? { type: deployment.source_type as 'branch' | 'tag' | 'commit', ref: deployment.source_ref }
        : null,
      commit: run.commit?.hash ?? null,
      release,
      paths,
    },
  })
  if (prepared.kind === 'too-large') return failed('FAILED', prepared.message)
  for (const note of prepared.notes) await context.line(note)
  const { environment } = prepared
  return { kind: 'ready', command: { command, environment, workingFolder: paths?.release ?? null } }
}
