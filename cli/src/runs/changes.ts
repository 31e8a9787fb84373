// What a run ships, as text.
import type { components } from '@gantry/client'
import { plain, type Screen } from '../screen.ts'
import { type Column, oneLine, printTable } from '../table.ts'

type Schemas = components['schemas']
type ActionChanges = Schemas['ActionChanges']
type ReleaseComparison = Schemas['ReleaseComparison']
type Commits = NonNullable<ReleaseComparison['commits']>
type File = NonNullable<ReleaseComparison['files']>['items'][number]

export function printChanges(screen: Screen, { comparisons, reason_human_readable }: ActionChanges): void {
  if (comparisons.length === 0) screen.print(reason_human_readable ?? 'Nothing to compare.')
  printComparisons(screen, comparisons)
}

export function printComparisons(screen: Screen, comparisons: readonly ReleaseComparison[]): void {
  comparisons.forEach((comparison, index) => {
    if (index > 0) screen.print()
    printComparison(screen, comparison)
  })
}

function printComparison(screen: Screen, comparison: ReleaseComparison): void {
  screen.print(screen.style('bold', headline(comparison)))
  if (comparison.state === 'pending') screen.print('Known once the source is fetched.')
  if (comparison.reason_human_readable !== null) screen.print(plain(comparison.reason_human_readable))
  if (comparison.rewritten) screen.print('The history was rewritten: the live commit has left its branch.')
  const { commits, removed_commits, files } = comparison
  if (commits) printCommits(screen, 'ships', commits)
  if (removed_commits && removed_commits.total > 0) printCommits(screen, 'goes away', removed_commits)
  if (!files) return
  screen.print()
  screen.print(`${count(files.total, 'file')} changed${more(files)}`)
  printTable(screen, files.items, FILES, 'No files.')
}

/** `web-1, web-2: 1a2b3c4d → 5e6f7a8b` */
export function headline({ servers, from, to }: ReleaseComparison): string {
  const names = servers.map(({ name }) => oneLine(name)).join(', ')
  const before = from === null ? 'nothing' : (from.commit_sha?.slice(0, 8) ?? oneLine(from.release_name))
  return `${names}: ${before} → ${to.commit_sha?.slice(0, 8) ?? 'unknown'}`
}

const COMMITS: Column<Commits['items'][number]>[] = [
  { title: 'commit', text: ({ sha }) => sha.slice(0, 8) },
  { title: 'author', text: ({ author_name }) => author_name },
  { title: 'subject', text: ({ subject }) => subject },
]

const FILES: Column<File>[] = [
  { title: 'change', text: ({ status }) => status },
  {
    title: 'file',
    text: ({ path, old_path }) => (old_path === null ? path : `${old_path} → ${path}`),
  },
]

function printCommits(screen: Screen, verb: string, commits: Commits): void {
  screen.print()
  screen.print(
    `${count(commits.total, 'commit')} that ${commits.total === 1 ? verb : plural(verb)}${more(commits)}`,
  )
  printTable(screen, commits.items, COMMITS, 'No commits.')
}

const plural = (verb: string) => (verb === 'ships' ? 'ship' : 'go away')
const count = (total: number, noun: string) => `${total} ${noun}${total === 1 ? '' : 's'}`
const more = ({ total, items }: { total: number; items: unknown[] }) =>
  items.length < total ? `, the first ${items.length}:` : ''
