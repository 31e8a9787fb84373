import { plain, type Screen } from './screen.ts'

/** One thing in full: a label and its text per line. Empty ones are left out. */
export function printDetails(
  screen: Screen,
  details: readonly (readonly [label: string, text: string | null | undefined])[],
): void {
  const given = details.filter(([, text]) => text !== null && text !== undefined && text !== '')
  if (given.length === 0) return
  const width = Math.max(...given.map(([label]) => label.length)) + 2
  for (const [label, text] of given) {
    const lines = plain(text!).split('\n')
    screen.print(`${screen.style('dim', label.padEnd(width))}${lines.join(`\n${' '.repeat(width)}`)}`)
  }
}
