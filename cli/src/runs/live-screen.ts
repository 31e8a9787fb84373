// Lines that are redrawn in place. What is below the cursor belongs to them until `end`.
import type { WriteStream } from 'node:tty'
import { stripVTControlCharacters } from 'node:util'
import { widthOf } from '../table.ts'

const HIDE_CURSOR = '\u001b[?25l'
const SHOW_CURSOR = '\u001b[?25h'
/** Terminals that know it show a whole frame at once. */
const BEGIN_FRAME = '\u001b[?2026h'
const END_FRAME = '\u001b[?2026l'

export function createLiveScreen(stdout: WriteStream) {
  let drawn: string[] = []
  const showCursor = () => void stdout.write(SHOW_CURSOR)
  process.once('exit', showCursor)

  /** A terminal that has become narrower has wrapped the lines that are too long now. */
  function rowsDrawn(): number {
    const columns = Math.max(1, stdout.columns)
    return drawn.reduce(
      (rows, line) => rows + Math.max(1, Math.ceil(widthOf(stripVTControlCharacters(line)) / columns)),
      0,
    )
  }

  function draw(lines: string[]): void {
    const up = rowsDrawn()
    const text = lines.map((line) => `${line}\u001b[K\n`).join('')
    stdout.write(`${BEGIN_FRAME}${HIDE_CURSOR}${up > 0 ? `\u001b[${up}A` : ''}\r${text}\u001b[J${END_FRAME}`)
    drawn = lines
  }

  return {
    draw,
    /** The lines stay on the screen, and output goes on below them. */
    end(lines: string[]): void {
      draw(lines)
      drawn = []
      showCursor()
      process.off('exit', showCursor)
    },
  }
}
