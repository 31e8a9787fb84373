import { plain } from '../screen.ts'

const COLOR = /(\u001b\[[0-9;]*m)/

/** A line of a log. Colors are the only control sequences that are passed on, and only where they are shown. */
export function logLine(text: string, hasColor: boolean): string {
  const parts = afterReturn(text).split(COLOR)
  if (!hasColor || parts.length === 1)
    return parts.map((part, n) => (n % 2 === 1 ? '' : plain(part))).join('')
  return `${parts.map((part, n) => (n % 2 === 1 ? part : plain(part))).join('')}\u001b[0m`
}

/** A progress bar draws over itself: what it showed last is the line. */
function afterReturn(text: string): string {
  const line = text.replace(/\r+$/, '')
  return line.slice(line.lastIndexOf('\r') + 1)
}
