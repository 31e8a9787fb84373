// How a run ended, in words: what failed where, the end of its log, and what to do next.
import type { Gantry } from '@gantry/client'
import { type Action, exitCodeFor, stateOf } from '../actions.ts'
import type { Cli } from '../cli.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Screen, Style } from '../screen.ts'
import { oneLine } from '../table.ts'
import { took } from '../times.ts'
import { readChecks } from './checks-gate.ts'
import { logLine } from './log-text.ts'
import { createTail } from './tail.ts'

type Target = Action['targets'][number]
type Step = Target['steps'][number]

const SHOWN_FAILURES = 3
const LOOKS: { [code in ExitCode]?: [icon: string, Style] } = {
  [EXIT.completed]: ['✓', 'green'],
  [EXIT.failed]: ['✗', 'red'],
  [EXIT.ended]: ['-', 'yellow'],
}

/** Says how it ended, and makes it the exit code of the command. */
export async function reportEnd(
  cli: Cli,
  gantry: Gantry,
  action: Action,
  write: (line: string) => void,
): Promise<void> {
  const { screen } = cli
  cli.exitCode = exitCodeFor(action)
  const [icon, style] = LOOKS[cli.exitCode]!
  write(screen.style(style, `${icon} ${headline(action)}`))
  if (cli.exitCode === EXIT.failed) await explainFailures(screen, gantry, action, write)
  write(action.url_web_permalink)
}

async function explainFailures(
  screen: Screen,
  gantry: Gantry,
  action: Action,
  write: (line: string) => void,
): Promise<void> {
  const checks = await readChecks(gantry, action)
  if (checks !== null) write(checks)
  // No server was reached: each would say the same.
  const failures = checks === null ? failuresOf(action) : []
  for (const { target, step } of failures.slice(0, SHOWN_FAILURES)) {
    write(describeFailure(target, step))
    if (step)
      for (const line of await lastLines(gantry, action.id, target.id, step)) write(quoted(screen, line))
  }
  if (failures.length > SHOWN_FAILURES) write(`${failures.length - SHOWN_FAILURES} more servers failed.`)
  for (const hint of hintsFor(
    action,
    failures.some(({ step }) => step !== undefined),
  ))
    write(hint)
}

/** '#42 completed in 12 s' */
function headline(action: Action): string {
  const { id, status, status_reason_code } = action
  const time = took(action)
  if (status === 'completed') return `#${id} completed${time && ` in ${time}`}`
  if (status_reason_code === 'FAILED_CANCELLED') return `#${id} was canceled${time && ` after ${time}`}`
  if (status_reason_code === 'SKIPPED_UNCHANGED')
    return `#${id} was skipped: no file that the paths of its hook match has changed since what is live`
  if (status_reason_code === 'SKIPPED_EXPIRED') return `#${id} was skipped: it was not approved in time`
  if (status_reason_code === 'FAILED_CHECKS') return `#${id} never started: the checks of its commit failed`
  if (status_reason_code === 'FAILED_REJECTED') return `#${id} was rejected`
  if (status_reason_code === 'SKIPPED_OUTDATED')
    return `#${id} was skipped: a newer run of its branch has started, or continues instead`
  if (status === 'skipped')
    return `#${id} was skipped: a run it depends on failed, or a newer run superseded it`
  const reason = status_reason_code === 'FAILED' ? '' : ` (${oneLine(stateOf(action))})`
  return `#${id} failed${time && ` after ${time}`}${reason}`
}

/** Each server that failed, with the step that did. */
function failuresOf({ targets }: Action): { target: Target; step: Step | undefined }[] {
  return targets
    .filter(({ status }) => status === 'failed')
    .map((target) => ({ target, step: target.steps.find(({ status }) => status === 'failed') }))
}

function describeFailure({ resource_data, ...target }: Target, step: Step | undefined): string {
  const server = oneLine(resource_data.name)
  if (!step) return `Failed on ${server}: ${oneLine(stateOf(target))}`
  const reason = step.status_reason_code === 'FAILED' ? '' : `: ${oneLine(stateOf(step))}`
  return `Step "${oneLine(step.name)}" failed on ${server}${reason}`
}

function hintsFor({ id, status_reason_code, action_data }: Action, hasLog: boolean): string[] {
  const { source_type, source_ref } = action_data.deployment ?? {}
  const other = source_type === 'branch' ? 'tags' : 'heads'
  const isNameOfRef = source_type === 'branch' || source_type === 'tag'
  return [
    ...(status_reason_code === 'FAILED_SOURCE' && isNameOfRef && source_ref
      ? [
          `"${oneLine(source_ref)}" was read as a ${source_type}. If it is a ${source_type === 'branch' ? 'tag' : 'branch'}: --ref ${other}/${oneLine(source_ref)}`,
        ]
      : []),
    ...(hasLog ? [`See the whole log: gantry logs ${id} --failed`] : []),
    `Run it again: gantry retry ${id}`,
  ]
}

const TAIL_BYTES = 16 * 1024

/** What the step printed last. A log that cannot be read is no reason to hide how the run ended. */
async function lastLines(
  gantry: Gantry,
  actionId: number,
  targetId: number,
  { order }: Step,
): Promise<string[]> {
  const step = { actionId, targetId, order }
  const tail = createTail()
  try {
    const { offset } = await gantry.readLog(step, { after: Number.MAX_SAFE_INTEGER })
    const { text } = await gantry.readLog(step, { after: Math.max(0, offset - TAIL_BYTES) })
    tail.append(text)
  } catch {}
  return tail.lines()
}

const quoted = (screen: Screen, line: string) =>
  `${screen.style('dim', '  │')} ${logLine(line, screen.hasColor)}`
