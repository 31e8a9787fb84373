import { setTimeout as pause } from 'node:timers/promises'
import { type HealthTry, healthTry, TRY_GRACE_MS, type Tried } from '#model/deploy/check-health.ts'
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
  const { asks, timeoutMs, read } = healthTry(check)
  if (check.type !== 'command') return () => tryOnce(context, asks, timeoutMs, read)
  const prepared = await prepareCustomCommand(context, check.command)
  if (prepared.kind !== 'ready') return prepared
  return () => tryOnce(context, { ...prepared.command, onOutput: context.write }, timeoutMs, read)
}

/** What it leaves behind is ended by the executor. */
async function tryOnce(
  context: StepContext,
  command: Command,
  timeoutMs: number,
  read: HealthTry['read'],
): Promise<Tried | StepOutcome> {
  const leftMs = context.leftMs()
  if (leftMs === 0) return timedOut(context.step)
  const chunks: Buffer[] = []
  const startedAt = performance.now()
  const end = await execute(context, {
    onOutput: (chunk) => void chunks.push(chunk),
    ...command,
    timeoutMs: Math.min(timeoutMs, leftMs),
    graceMs: TRY_GRACE_MS,
  })
  if (end.kind === 'cancelled' || end.kind === 'unreachable' || end.kind === 'impossible')
    return outcomeOf(end, context.step)
  return read(end, Buffer.concat(chunks), performance.now() - startedAt)
}
