// The table in docs/configuration.md, generated from the settings: run `node scripts/configuration-table.ts` after a
// change of server/platform/config.ts.
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

/** The text between the two markers. */
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
  if (begin === -1 || end < begin) throw new Error(`docs/configuration.md has no ${BEGIN} … ${END}`)
  return { begin: begin + BEGIN.length, end }
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}

if (import.meta.main) {
  const file = new URL('../docs/configuration.md', import.meta.url)
  const page = await readFile(file, 'utf8')
  await writeFile(file, withConfiguration(page, renderConfiguration()))
}
