import { setTimeout as pause } from 'node:timers/promises'
import type { CommandEnd } from '#adapters/executors/executor.ts'
import { askHttp, askTcp, readHttpAnswer, type Tried, unhealthy } from '#model/deploy/check-health.ts'
import { judgeTry, NO_TRIES, type Progress } from '#model/deploy/health-progress.ts'
import type { HealthCheck } from '#platform/database/tables.ts'
import {
  type Command,
  DONE,
  execute,
  failed,
  outcomeOf,
  prepareCustomCommand,
  type StepContext,
  type StepOutcome,
  timedOut,
} from './step.ts'

/** A try that was timed out has no more to say: what it started ends soon. */
const GRACE_MS = 1_000
/** The command that asks ends a moment after curl's own timeout. */
const OVERHEAD_MS = 2_000

/** Asks from the target until the release is healthy, or can no longer be in time. May be repeated. */
export async function checkHealth(context: StepContext): Promise<StepOutcome> {
  const check = context.step.healthCheck
  if (check === null) return failed('FAILED', 'This step has no health check.')
  const attempt = await prepareTry(context, check)
  if ('kind' in attempt) return attempt
  await context.line(describeCheck(check))
  const beganAt = performance.now()
  const elapsed = () => performance.now() - beganAt
  let progress: Progress = NO_TRIES
  for (;;) {
    const startedAt = elapsed()
    const tried = await attempt()
    if ('kind' in tried) return tried
    const judged = judgeTry(check, progress, { ...tried, startedAt, endedAt: elapsed() })
    progress = judged.progress
    await context.line(judged.line)
    if (judged.kind === 'healthy') return DONE
    if (judged.kind === 'unhealthy') return failed('FAILED_UNHEALTHY', judged.message)
    await pause(Math.max(0, judged.at - elapsed()), undefined, { signal: context.signal }).catch(() => {})
    if (context.signal.aborted) return { kind: 'stopped' }
  }
}

function describeCheck(check: HealthCheck): string {
  if (check.type === 'http') return `Asking ${check.url} from this server.`
  return check.type === 'tcp'
    ? `Connecting to port ${check.port} of this server.`
    : 'Running the check command.'
}

/** One try; anything but an answer ends the step. */
type Try = () => Promise<Tried | StepOutcome>

async function prepareTry(context: StepContext, check: HealthCheck): Promise<Try | StepOutcome> {
  const timeoutMs = check.timeout_seconds * 1_000
  switch (check.type) {
    case 'http':
      return () => tryHttp(context, check, timeoutMs)
    case 'tcp':
      return () =>
        tryCommand(context, { ...askTcp(check.port), timeoutMs, onOutput: () => {} }, (end) =>
          end.kind === 'exited' && end.code === 0
            ? { isHealthy: true, text: `port ${check.port} is open` }
            : unhealthy(
                end.kind === 'timed-out'
                  ? `port ${check.port} did not answer within ${check.timeout_seconds} s`
                  : `cannot connect to port ${check.port}`,
              ),
        )
    case 'command': {
      const prepared = await prepareCustomCommand(context, check.command)
      if (prepared.kind !== 'ready') return prepared
      return () => tryCommand(context, { ...prepared.command, timeoutMs }, (end) => describeEnd(end, check))
    }
  }
}

async function tryHttp(
  context: StepContext,
  check: Extract<HealthCheck, { type: 'http' }>,
  timeoutMs: number,
): Promise<Tried | StepOutcome> {
  const chunks: Buffer[] = []
  const startedAt = performance.now()
  const command = {
    ...askHttp(check, timeoutMs),
    timeoutMs: timeoutMs + OVERHEAD_MS,
    onOutput: (chunk: Buffer) => void chunks.push(chunk),
  }
  return tryCommand(context, command, (end) =>
    end.kind === 'timed-out'
      ? unhealthy(`no answer within ${check.timeout_seconds} s`)
      : readHttpAnswer(Buffer.concat(chunks), check, performance.now() - startedAt),
  )
}

/** What it leaves behind is ended by the executor. */
async function tryCommand(
  context: StepContext,
  command: Command & { timeoutMs: number },
  read: (end: CommandEnd) => Tried,
): Promise<Tried | StepOutcome> {
  const leftMs = context.leftMs()
  if (leftMs === 0) return timedOut(context.step)
  const timeoutMs = Math.min(command.timeoutMs, leftMs)
  const end = await execute(context, { ...command, timeoutMs, graceMs: GRACE_MS })
  if (end.kind === 'cancelled' || end.kind === 'unreachable' || end.kind === 'impossible')
    return outcomeOf(end, context.step)
  return read(end)
}

function describeEnd(end: CommandEnd, { timeout_seconds }: HealthCheck): Tried {
  if (end.kind === 'exited')
    return end.code === 0
      ? { isHealthy: true, text: 'the command succeeded' }
      : unhealthy(`the command exited with code ${end.code}`)
  if (end.kind === 'signalled') return unhealthy(`the command was killed by ${end.signal}`)
  return unhealthy(`the command did not end within ${timeout_seconds} s; its processes were ended`)
}
