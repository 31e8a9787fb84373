// A run as lines on a terminal of a certain size. Pure.
import { styleOf } from '../actions.ts'
import { plain, type Screen } from '../screen.ts'
import { cut, widthOf } from '../table.ts'
import { duration } from '../times.ts'
import { logLine } from './log-text.ts'
import { type Progress, type RunState, type StepState, secondsOf, type TargetState } from './run-state.ts'

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const ICONS: Record<Progress['status'], string> = {
  pending: '·',
  waiting: '·',
  queued: '·',
  'in-progress': FRAMES[0]!,
  completed: '✓',
  failed: '✗',
  skipped: '-',
}
const FRAME_MS = 100
const NAME_WIDTH = 32

export type Frame = {
  columns: number
  rows: number
  now: number
  style: Screen['style']
  /** Shown below everything else. */
  notice?: string | undefined
}

/** From everything to one line per server: the first of these that fits. */
const LEVELS: { tail: number; steps: 'all' | 'open' | 'none' }[] = [
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
  const room = frame.rows - notice.length
  for (const { tail, steps } of LEVELS) {
    const shown = run.targets.map((target) => targetLines(target, frame, steps, tail))
    const lines = [headLine(run, frame), ...shown.flat()]
    if (lines.length <= room) return [...lines, ...notice]
  }
  return [headLine(run, frame), ...mostInteresting(run.targets, frame, room - 2), ...notice]
}

/** When it is over, nothing has to fit: it scrolls. Servers where all went well take one line if there are many. */
export function renderEnded(run: RunState, frame: Frame): string[] {
  const isShort = run.targets.length > 5
  const steps = ({ status }: TargetState) => (isShort && status === 'completed' ? 'none' : 'all')
  return [
    headLine(run, frame),
    ...run.targets.flatMap((target) => targetLines(target, frame, steps(target), 0)),
  ]
}

function headLine(run: RunState, frame: Frame): string {
  return progressLine('', `#${run.id} ${plain(run.title)}`, run, frame, 0)
}

function targetLines(
  target: TargetState,
  frame: Frame,
  shown: 'all' | 'open' | 'none',
  tail: number,
): string[] {
  const done = target.steps.filter(({ status }) => status === 'completed').length
  const isOpen = target.status === 'in-progress' || target.status === 'failed'
  const steps = shown === 'none' || (shown === 'open' && !isOpen) ? [] : target.steps
  const current = steps.length > 0 ? undefined : target.steps.find(({ status }) => status === 'in-progress')
  const width = Math.min(NAME_WIDTH, Math.max(0, ...target.steps.map(({ name }) => widthOf(plain(name)))))
  return [
    progressLine(
      '  ',
      `${plain(target.name)}  ${done}/${target.steps.length}${current ? ` ${plain(current.name)}` : ''}`,
      target,
      frame,
      0,
    ),
    ...steps.flatMap((step) => [
      progressLine('    ', plain(step.name), step, frame, width),
      ...(step.status === 'in-progress' ? tailLines(step, frame, tail) : []),
    ]),
  ]
}

function tailLines({ tail }: StepState, frame: Frame, count: number): string[] {
  if (count === 0) return []
  return tail
    .lines(count)
    .map((line) => frame.style('dim', cut(`      │ ${expandTabs(logLine(line, false))}`, frame.columns - 1)))
}

/** An icon, the text, and how long it has taken; the text gives way when it is narrow. */
function progressLine(indent: string, text: string, progress: Progress, frame: Frame, width: number): string {
  const { style, now, columns } = frame
  const icon = progress.status === 'in-progress' ? spinnerAt(now) : ICONS[progress.status]
  const seconds = secondsOf(progress, now)
  const details = [
    ...(isOrdinary(progress) ? [] : [plain(progress.state)]),
    ...(seconds === null ? [] : [duration(seconds)]),
  ].join('  ')
  const room = columns - 1 - indent.length - 2
  const right = cut(details, Math.max(8, room - 12))
  const left = cut(text, Math.max(4, room - (right === '' ? 0 : widthOf(right) + 2)))
  const color = styleOf(progress)
  const paint = (part: string) => (color === undefined ? part : style(color, part))
  const isQuiet = color === 'dim'
  return [
    indent,
    paint(icon),
    ' ',
    isQuiet ? paint(left) : left,
    ...(right === ''
      ? []
      : [
          ' '.repeat(Math.max(0, Math.min(width, room - widthOf(right) - 2) - widthOf(left))),
          '  ',
          style('dim', right),
        ]),
  ].join('')
}

/** The icon says it already. */
const isOrdinary = ({ status, state }: Progress) =>
  status === 'in-progress' ||
  status === 'completed' ||
  status === 'skipped' ||
  state === 'Pending' ||
  state === 'Failed'

const spinnerAt = (now: number) => FRAMES[Math.floor(now / FRAME_MS) % FRAMES.length]!

/** The servers that fit: those that run, then failed ones, then the rest in their order; and how many are left out. */
function mostInteresting(targets: TargetState[], frame: Frame, room: number): string[] {
  const RANKS: Partial<Record<Progress['status'], number>> = { 'in-progress': 0, failed: 1 }
  const kept = new Set(
    targets
      .toSorted((one, other) => (RANKS[one.status] ?? 2) - (RANKS[other.status] ?? 2))
      .slice(0, Math.max(0, room)),
  )
  const left = targets.filter((target) => !kept.has(target))
  const completed = left.filter(({ status }) => status === 'completed').length
  return [
    ...targets
      .filter((target) => kept.has(target))
      .flatMap((target) => targetLines(target, frame, 'none', 0)),
    frame.style('dim', cut(`  and ${left.length} more, ${completed} completed`, frame.columns - 1)),
  ]
}

const expandTabs = (text: string) => text.replaceAll('\t', '    ')
