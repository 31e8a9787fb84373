import type { CommandEnd, Executor } from '#adapters/executors/executor.ts'
import { LOCK_LOST, settleRelease } from '#model/deploy/commands.ts'
import type { DeployCommand } from '#model/deploy/layout.ts'
import { type LiveReading, parseLive } from '#model/deploy/live-reading.ts'
import type { Database } from '#platform/database/connect.ts'
import { retryOutage } from '#platform/database/outages.ts'
import type { Verdict } from './judge-reading.ts'
import { type Disk, readVersion } from './live-record.ts'
import { storeReading } from './store-reading.ts'

// After a switch whose outcome is not known, because the connection, the worker or the run ended in the middle of it: what
// does the server serve, and can the switch still happen?

/** A switch whose outcome is not known. */
export type InterruptedSwitch = {
  disk: Disk
  /** The folder of the application on the server. */
  base: string
  targetId: number
  /** `<installation>-<target>`, as the server knows the run. */
  run: string
  /** Higher than that of every command that the run has sent before. */
  attempt: number
  /** The run continues, and stores what it made live itself. */
  isRunning: boolean
}

/** `before`: what was live before this run. `isLost`: the connection was lost, so that another one may bring an answer. */
export type Settled =
  | { kind: 'this-run'; releaseName: string; before: string | null }
  | { kind: 'other'; releaseName: string }
  | { kind: 'nothing' }
  | { kind: 'unknown'; reason: string; isLost?: boolean }

/**
 * Asks the server, and stores what it serves. After this, no earlier command of the run can switch. What a run that
 * continues made live is not stored: it does that itself, with what follows from it.
 */
export async function settle(
  db: Database,
  executor: Executor,
  { disk, base, targetId, run, attempt, isRunning }: InterruptedSwitch,
  signal: AbortSignal,
): Promise<Settled> {
  const version = await retryOutage(() => readVersion(db, disk), signal)
  const asked = await askServer(executor, settleRelease(base, { run, number: attempt }), signal)
  if (asked.kind === 'failed') return { ...asked, kind: 'unknown' }
  const { reading } = asked
  const interrupted = { targetId, isRunning }
  const { verdict } = await retryOutage(
    () => storeReading(db, { ...disk, reading, version, interrupted }),
    signal,
  )
  const mark = reading.kind === 'release' && reading.mark.kind === 'run' ? reading.mark : null
  return settledAs(verdict, { targetId, before: mark?.before ?? null })
}

function settledAs(verdict: Verdict, own: { targetId: number; before: string | null }): Settled {
  if (verdict.kind !== 'known') return verdict
  const { releaseName } = verdict.release
  return verdict.targetId === own.targetId
    ? { kind: 'this-run', releaseName, before: own.before }
    : { kind: 'other', releaseName }
}

/** Longer than a command waits for the lock on the server. */
const WITHIN_MS = 75_000
const MAX_OUTPUT = 64 * 1024
const MAX_REASON = 500

export type Asked =
  | { kind: 'read'; reading: LiveReading }
  | { kind: 'failed'; reason: string; isLost: boolean }

/** Runs a command that prints what is live. */
export async function askServer(
  executor: Executor,
  command: DeployCommand,
  signal: AbortSignal,
  timeoutMs = WITHIN_MS,
): Promise<Asked> {
  const chunks: Buffer[] = []
  let size = 0
  const end = await executor.run({
    ...command,
    workingFolder: null,
    runAsUser: null,
    onOutput(chunk) {
      size += chunk.length
      if (size <= MAX_OUTPUT) chunks.push(chunk)
    },
    signal,
    timeoutMs,
    graceMs: 1_000,
  })
  const output = Buffer.concat(chunks).toString()
  const reading = end.kind === 'exited' && end.code === 0 ? parseLive(output) : undefined
  if (reading) return { kind: 'read', reading }
  return { kind: 'failed', reason: failure(end, output), isLost: end.kind === 'unreachable' }
}

/** The last line of a command that failed says why. */
function failure(end: CommandEnd, output: string): string {
  switch (end.kind) {
    case 'exited': {
      if (end.code === LOCK_LOST) return 'A later attempt of the run is finding out.'
      const line = output.trimEnd().split('\n').at(-1)!
      return printable(line) || `The command that reads it exited with code ${end.code}.`
    }
    case 'signalled':
      return `The command that reads it was killed by ${end.signal}.`
    case 'timed-out':
    case 'cancelled':
      return 'The server did not answer in time.'
    case 'unreachable':
    case 'impossible':
      return `The server could not be asked: ${printable(end.message)}.`
  }
}

function printable(text: string): string {
  return text.replace(/\p{C}+/gu, ' ').slice(0, MAX_REASON)
}
