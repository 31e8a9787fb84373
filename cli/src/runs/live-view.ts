// A run as lines on a terminal of a certain size. Pure.
import { cut, oneLine, widthOf } from '../table.ts'
import { logLine } from './log-text.ts'
import { progressLine, type Surface } from './progress-line.ts'
import type { Progress, RunState, StepState, TargetState } from './run-state.ts'

const NAME_WIDTH = 32

/** `notice` is shown below everything else. */
export type Frame = Surface & { rows: number; notice?: string | undefined }

/** How much is shown: lines of running steps' logs, and the steps of which servers. */
type Level = { tail: number; steps: 'all' | 'open' | 'none' }

/** From everything to one line per server: the first of these that fits. */
const LEVELS: Level[] = [
  { tail: 5, steps: 'all' },
  { tail: 2, steps: 'all' },
  { tail: 0, steps: 'all' },
  { tail: 2, steps: 'open' },
  { tail: 0, steps: 'open' },
  { tail: 0, steps: 'none' },
]

export function renderRun(run: RunState, frame: Frame): string[] {
  const notice =
    frame.notice === undefined ? [] : [frame.style('yellow', cut(frame.notice, frame.columns - 1))]
  const held = run.heldBy === null ? [] : [frame.style('dim', cut(`  ${run.heldBy}`, frame.columns - 1))]
  const room = frame.rows - notice.length - held.length - 1
  const level = LEVELS.find(
    (one) => run.targets.reduce((sum, target) => sum + heightOf(target, one), 0) <= room,
  )
  const targets = level
    ? run.targets.flatMap((target) => targetLines(target, frame, level))
    : mostInteresting(run.targets, frame, room - 1)
  return [headLine(run, frame), ...held, ...targets, ...notice]
}

/** When it is over, nothing has to fit: it scrolls. Servers where all went well take one line if there are many. */
export function renderEnded(run: RunState, frame: Frame): string[] {
  const isShort = run.targets.length > 5
  const level = ({ status }: TargetState): Level => ({
    tail: 0,
    steps: isShort && status === 'completed' ? 'none' : 'all',
  })
  return [headLine(run, frame), ...run.targets.flatMap((target) => targetLines(target, frame, level(target)))]
}

function headLine(run: RunState, frame: Frame): string {
  return progressLine(frame, run, { indent: '', text: `#${run.id} ${oneLine(run.title)}` })
}

const isRunning = ({ status }: Progress) => status === 'in-progress'

function shownSteps(target: TargetState, { steps }: Level): StepState[] {
  const isOpen = isRunning(target) || target.status === 'failed'
  return steps === 'all' || (steps === 'open' && isOpen) ? target.steps : []
}

const tailOf = (step: StepState, { tail }: Level) =>
  tail > 0 && isRunning(step) ? step.tail.lines(tail) : []

function heightOf(target: TargetState, level: Level): number {
  return shownSteps(target, level).reduce((sum, step) => sum + 1 + tailOf(step, level).length, 1)
}

function targetLines(target: TargetState, frame: Frame, level: Level): string[] {
  const steps = shownSteps(target, level)
  const done = target.steps.filter(({ status }) => status === 'completed').length
  const current = steps.length > 0 ? undefined : target.steps.find(isRunning)
  const text = `${oneLine(target.name)}  ${done}/${target.steps.length}${current ? ` ${oneLine(current.name)}` : ''}`
  const width = Math.min(NAME_WIDTH, Math.max(0, ...steps.map(({ name }) => widthOf(oneLine(name)))))
  return [
    progressLine(frame, target, { indent: '  ', text }),
    ...steps.flatMap((step) => [
      progressLine(frame, step, { indent: '    ', text: oneLine(step.name), width }),
      ...tailOf(step, level).map((line) => quoteLine(line, frame)),
    ]),
  ]
}

function quoteLine(line: string, { columns, style }: Frame): string {
  const text = logLine(line, false).slice(0, columns).replaceAll('\t', '    ')
  return style('dim', cut(`      │ ${text}`, columns - 1))
}

/** The servers that fit: those that run, then failed ones, then the rest in their order; and how many are left out. */
function mostInteresting(targets: TargetState[], frame: Frame, room: number): string[] {
  const rankOf = (target: TargetState) => (isRunning(target) ? 0 : target.status === 'failed' ? 1 : 2)
  const kept = new Set(
    targets.toSorted((one, other) => rankOf(one) - rankOf(other)).slice(0, Math.max(0, room)),
  )
  const left = targets.filter((target) => !kept.has(target))
  const completed = left.filter(({ status }) => status === 'completed').length
  const level: Level = { tail: 0, steps: 'none' }
  return [
    ...targets.filter((target) => kept.has(target)).flatMap((target) => targetLines(target, frame, level)),
    frame.style('dim', cut(`  and ${left.length} more, ${completed} completed`, frame.columns - 1)),
  ]
}
