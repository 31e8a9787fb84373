// The configuration table of README.md, made from the settings themselves: `node scripts/readme-config.ts`
// writes it anew after a change of server/platform/config.ts.
import { readFile, writeFile } from 'node:fs/promises'
import { settings } from '#platform/config.ts'

const BEGIN = '<!-- configuration -->'
const END = '<!-- /configuration -->'

export function renderConfiguration(): string {
  const rows = Object.values(settings).map(
    ({ variable, about, shown }) => `| \`${variable}\` | ${cell(about)} | ${cell(shown)} |`,
  )
  return ['| variable | what it sets | default |', '|---|---|---|', ...rows].join('\n')
}

/** What stands between the two markers. */
export function configurationIn(page: string): string {
  const { begin, end } = markers(page)
  return page.slice(begin, end).trim()
}

export function withConfiguration(page: string, table: string): string {
  const { begin, end } = markers(page)
  return `${page.slice(0, begin)}\n\n${table}\n\n${page.slice(end)}`
}

function markers(page: string): { begin: number; end: number } {
  const begin = page.indexOf(BEGIN)
  const end = page.indexOf(END)
  if (begin === -1 || end < begin) throw new Error(`README.md has no ${BEGIN} … ${END}`)
  return { begin: begin + BEGIN.length, end }
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}

if (import.meta.main) {
  const readme = new URL('../README.md', import.meta.url)
  const page = await readFile(readme, 'utf8')
  await writeFile(readme, withConfiguration(page, renderConfiguration()))
}
