// Links to lines of a step's log: `#step:12.3:120` is line 120 of step 3 on target 12, `…:120-140` a range. Pure.

export type LineRange = { from: number; to: number }
export type LogLink = { targetId: number; order: number } & LineRange

const PATTERN = /^#step:(\d{1,15})\.(\d{1,6}):(\d{1,9})(?:-(\d{1,9}))?$/

/** Lines are counted from 1. Anything else after the # is no link to a line. */
export function readLogLink(hash: string): LogLink | undefined {
  const match = PATTERN.exec(hash)
  if (!match) return undefined
  const [targetId, order, one, other = one] = match.slice(1).map((digits) => digits && Number(digits))
  const [from, to] = [Number(one), Number(other)].toSorted((a, b) => a - b)
  if (from! < 1) return undefined
  return { targetId: Number(targetId), order: Number(order), from: from!, to: to! }
}

export function logLinkHash({ targetId, order, from, to }: LogLink): string {
  return `#step:${targetId}.${order}:${from}${to === from ? '' : `-${to}`}`
}

/** What a click on a line marks: this line, everything up to it when a range is extended, nothing the second time. */
export function markLine(
  marked: LineRange | undefined,
  line: number,
  isExtending: boolean,
): LineRange | undefined {
  if (marked?.from === line && marked.to === line) return undefined
  if (!isExtending || !marked) return { from: line, to: line }
  return line < marked.from ? { from: line, to: marked.to } : { from: marked.from, to: line }
}

export function rangeLabel({ from, to }: LineRange): string {
  return from === to ? `Line ${from}` : `Lines ${from}–${to}`
}
