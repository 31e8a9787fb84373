import { styleOf } from '../actions.ts'
import type { Screen } from '../screen.ts'
import { cut, oneLine, widthOf } from '../table.ts'
import { duration } from '../times.ts'
import { type Progress, secondsOf } from './run-state.ts'

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const SPIN_MS = 100
const ICONS: Record<Exclude<Progress['status'], 'in-progress'>, string> = {
  pending: '·',
  waiting: '·',
  queued: '·',
  completed: '✓',
  failed: '✗',
  skipped: '-',
}
const MIN_TEXT = 4
const MIN_DETAILS = 8

export type Surface = { columns: number; now: number; style: Screen['style'] }

/** An icon, the text, and how long it has taken; the text gives way when it is narrow. `width`: of the text, if aligned. */
export function progressLine(
  { columns, now, style }: Surface,
  progress: Progress,
  { indent, text, width = 0 }: { indent: string; text: string; width?: number },
): string {
  const icon = progress.status === 'in-progress' ? spinnerAt(now) : ICONS[progress.status]
  const room = columns - indent.length - 3
  const details = cut(detailsOf(progress, now), Math.max(MIN_DETAILS, room - 12))
  const textRoom = details === '' ? room : room - widthOf(details) - 2
  const left = cut(text, Math.max(MIN_TEXT, textRoom))
  const gap = ' '.repeat(Math.max(0, Math.min(width, textRoom) - widthOf(left)) + 2)
  const color = styleOf(progress)
  const paint = (part: string) => (color === undefined ? part : style(color, part))
  const start = `${indent}${paint(icon)} ${color === 'dim' ? paint(left) : left}`
  return details === '' ? start : `${start}${gap}${style('dim', details)}`
}

function detailsOf(progress: Progress, now: number): string {
  const seconds = secondsOf(progress, now)
  return [
    ...(isOrdinary(progress) ? [] : [oneLine(progress.state)]),
    // While it runs, whole seconds: milliseconds would flicker.
    ...(seconds === null
      ? []
      : [duration(progress.status === 'in-progress' ? Math.floor(seconds) : seconds)]),
  ].join('  ')
}

/** The icon says it already. */
const isOrdinary = ({ status, state }: Progress) =>
  ['in-progress', 'completed', 'skipped'].includes(status) || ['Pending', 'Failed'].includes(state)

const spinnerAt = (now: number) => SPINNER[Math.floor(now / SPIN_MS) % SPINNER.length]!
