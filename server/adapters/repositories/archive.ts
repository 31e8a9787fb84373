import { PassThrough, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { inspectObjects } from './commits.ts'
import { type Repo, readGit, runGit } from './git.ts'
import { invalidateMirror, type Mirror } from './mirror.ts'
import { quote } from './source.ts'

export type ArchiveRequest = {
  hash: string
  /** Relative and inside the repository; null or empty for all of it. */
  rootDirectory: string | null
  signal: AbortSignal
}

/** Why the tree is not available. The message is for people. */
export class ArchiveError extends Error {
  override name = 'ArchiveError'
}

/**
 * The tree of a commit as a tar stream. It ends only after git reports success, and fails in every other case, so
 * that a truncated archive never looks complete. Destroying it ends git.
 */
export function archiveTree(mirror: Mirror, { hash, rootDirectory, signal }: ArchiveRequest): Readable {
  const archive = new PassThrough()
  const unwanted = new AbortController()
  archive.once('close', () => unwanted.abort())
  const repo = { repository: mirror.repository, signal: AbortSignal.any([signal, unwanted.signal]) }

  async function write(): Promise<void> {
    const commit = await findFiles(repo, hash, rootDirectory)
    const { code } = await runGit({ ...repo, args: ['archive', '--format=tar', commit] }, (output) =>
      pipeline(output, archive, { end: false, signal: repo.signal }),
    )
    if (code === 0) return
    if (code > 0) await invalidateMirror(mirror).catch(() => {})
    throw new ArchiveError('Git could not read all files of the commit: the next fetch recreates the mirror.')
  }

  write().then(
    () => archive.end(),
    (error) => archive.destroy(signal.aborted ? signal.reason : error),
  )
  return archive
}

/** The commit itself, or for a subfolder a commit that contains only that folder. */
async function findFiles(repo: Repo, hash: string, rootDirectory: string | null): Promise<string> {
  const short = hash.slice(0, 8)
  if (!/^[0-9a-f]{40,64}$/.test(hash)) throw new ArchiveError('This is not a commit hash.')
  const [commit] = await inspectObjects(repo, [hash])
  if (commit?.type !== 'commit') {
    throw new ArchiveError(`The commit ${short} is not in the mirror of this application.`)
  }
  const path = readFolder(rootDirectory ?? '')
  if (path === '') return hash
  if (path === undefined)
    throw new ArchiveError(`${quote(rootDirectory!)} is not a folder inside the repository.`)
  const [folder] = await inspectObjects(repo, [`${hash}:${path}`])
  if (folder?.type !== 'tree') throw new ArchiveError(`The commit ${short} has no folder ${quote(path)}.`)
  return commitOf(repo, folder.hash, hash)
}

/** Git would date the files of a bare tree with the current time, differently on every server. */
async function commitOf(repo: Repo, tree: string, hash: string): Promise<string> {
  const dated = await readGit({ ...repo, args: ['log', '-1', '--format=%ct', hash, '--'] })
  const date = `@${Math.min(Number(dated.output) || 0, LATEST)} +0000`
  const { code, output } = await readGit({
    ...repo,
    args: ['commit-tree', '-m', hash, tree],
    environment: { ...NOBODY, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date },
  })
  if (code !== 0) throw new ArchiveError('The mirror of the repository is not writable.')
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
