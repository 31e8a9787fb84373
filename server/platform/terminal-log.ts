// The log for a person at a terminal: warnings and errors as text, and one line per run.
import { type ReasonCode, reasonName, type Status } from '#platform/vocabulary.ts'

const LEVELS: Record<number, string> = { 40: 'warning', 50: 'error', 60: 'error' }
/** What pino adds to every line, and what the text says already. */
const UNSHOWN = new Set(['level', 'time', 'pid', 'hostname', 'msg', 'err', 'reqId'])

type Line = Record<string, unknown> & {
  level: number
  time: number
  msg?: string
  err?: { message?: string }
}

/** A line of JSON as text. Pure, but for the time zone. */
export function describeLine(json: string): string {
  const line: Line = JSON.parse(json)
  const details = Object.entries(line).filter(([name, value]) => !UNSHOWN.has(name) && value != null)
  const reason = line.err?.message === undefined ? '' : `: ${line.err.message}`
  const text = `${timeOfDay(line.time)} ${LEVELS[line.level] ?? 'note'}: ${line.msg ?? ''}${reason}`
  return printable(details.length === 0 ? text : `${text} (${details.map(describeDetail).join(', ')})`)
}

function describeDetail([name, value]: [string, unknown]): string {
  return `${name} ${typeof value === 'object' ? JSON.stringify(value) : value}`
}

const timeOfDay = (time: number) => new Date(time).toTimeString().slice(0, 8)

/** What others send must not move the cursor, or turn text around. */
const printable = (text: string) =>
  text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g, ' ')

export function openTerminalLog(print: (text: string) => void): { write(line: string): void } {
  return { write: (line) => print(describeLine(line)) }
}

export type EndedRun = { id: number; status: Status; reason: ReasonCode; ranSeconds: number | null }

/** 'run #3 completed in 4.2 s: http://…/app/actions/3'. Pure. */
export function describeRun({ id, status, reason, ranSeconds }: EndedRun, baseUrl: string): string {
  const time = ranSeconds === null ? '' : ` ${status === 'completed' ? 'in' : 'after'} ${seconds(ranSeconds)}`
  const isPlain = reason.toLowerCase() === status
  return `run #${id} ${status}${time}${isPlain ? '' : ` (${reasonName(reason)})`}: ${baseUrl}/app/actions/${id}`
}

const seconds = (count: number) =>
  count < 1 ? `${Math.round(count * 1_000)} ms` : `${count < 10 ? count.toFixed(1) : Math.round(count)} s`
