import { plain, type Screen, type Style } from './screen.ts'

/** A resource in full: a label and its text per line. Empty ones are left out. */
export function printDetails(
  screen: Screen,
  details: readonly (readonly [label: string, text: string | null | undefined, style?: Style | undefined])[],
): void {
  const given = details.filter(([, text]) => text !== null && text !== undefined && text !== '')
  if (given.length === 0) return
  const width = Math.max(...given.map(([label]) => label.length)) + 2
  for (const [label, text, style] of given) {
    const lines = plain(text!)
      .split('\n')
      .map((line) => (style ? screen.style(style, line) : line))
    screen.print(`${screen.style('dim', label.padEnd(width))}${lines.join(`\n${' '.repeat(width)}`)}`)
  }
}
