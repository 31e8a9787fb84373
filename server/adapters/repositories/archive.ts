import { PassThrough, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { describe } from './commits.ts'
import { askGit, runGit } from './git.ts'
import { giveUpMirror, type Mirror } from './mirror.ts'
import { quote } from './source.ts'

export type ArchiveRequest = {
  hash: string
  /** Relative and inside the repository; null or empty for all of it. */
  rootDirectory: string | null
  signal: AbortSignal
}

/** For people: the tree cannot be had, and why. */
export class ArchiveError extends Error {
  override name = 'ArchiveError'
}

/**
 * The tree of a commit as a tar stream. It ends only after git has said that all of it was written; in every other
 * case it fails, so that a cut archive is never taken for a whole one. Destroying it ends git.
 */
export function archiveTree(mirror: Mirror, { hash, rootDirectory, signal }: ArchiveRequest): Readable {
  const archive = new PassThrough()
  const unwanted = new AbortController()
  archive.once('close', () => unwanted.abort())
  const place = { repository: mirror.repository, signal: AbortSignal.any([signal, unwanted.signal]) }

  async function write(): Promise<void> {
    const commit = await findFiles(place, hash, rootDirectory)
    const { code } = await runGit({ ...place, args: ['archive', '--format=tar', commit] }, (output) =>
      pipeline(output, archive, { end: false, signal: place.signal }),
    )
    if (code === 0) return
    if (code > 0) await giveUpMirror(mirror).catch(() => {})
    throw new ArchiveError(
      'Git could not read all files of the commit: the next fetch makes the mirror anew.',
    )
  }

  write().then(
    () => archive.end(),
    (fault) => archive.destroy(signal.aborted ? signal.reason : fault),
  )
  return archive
}

type Place = { repository: string; signal: AbortSignal }

/** The commit itself, or for a folder of it a commit that holds that folder alone. */
async function findFiles(place: Place, hash: string, rootDirectory: string | null): Promise<string> {
  const short = hash.slice(0, 8)
  if (!/^[0-9a-f]{40,64}$/.test(hash)) throw new ArchiveError('That is not the hash of a commit.')
  const [commit] = await describe(place, [hash])
  if (commit?.type !== 'commit') {
    throw new ArchiveError(`The commit ${short} is not in the mirror of this application.`)
  }
  const path = readFolder(rootDirectory ?? '')
  if (path === '') return hash
  if (path === undefined)
    throw new ArchiveError(`${quote(rootDirectory!)} is no folder inside the repository.`)
  const [folder] = await describe(place, [`${hash}:${path}`])
  if (folder?.type !== 'tree') throw new ArchiveError(`The commit ${short} has no folder ${quote(path)}.`)
  return commitOf(place, folder.hash, hash)
}

/** Git dates the files of a bare tree with the present: other times on every server, for the same files. */
async function commitOf(place: Place, tree: string, hash: string): Promise<string> {
  const dated = await askGit({ ...place, args: ['log', '-1', '--format=%ct', hash, '--'] })
  const date = `@${Math.min(Number(dated.output) || 0, LATEST)} +0000`
  const { code, output } = await askGit({
    ...place,
    args: ['commit-tree', '-m', hash, tree],
    environment: { ...NOBODY, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date },
  })
  if (code !== 0) throw new ArchiveError('The mirror of the repository cannot be written.')
  return output.trim()
}

const LATEST = 4_102_444_800 // the year 2100
const NOBODY = {
  GIT_AUTHOR_NAME: 'Gantry',
  GIT_AUTHOR_EMAIL: 'gantry@localhost',
  GIT_COMMITTER_NAME: 'Gantry',
  GIT_COMMITTER_EMAIL: 'gantry@localhost',
}

/** `./apps/shop/` → `apps/shop`; undefined when it leads outside. */
export function readFolder(text: string): string | undefined {
  const parts = text.split('/').filter((part) => part !== '' && part !== '.')
  return text.startsWith('/') || parts.includes('..') || /[\0-\x1f\x7f]/.test(text)
    ? undefined
    : parts.join('/')
}
