import { once } from 'node:events'
import { PassThrough, type Readable } from 'node:stream'
import { inspectObjects } from './commits.ts'
import { type Repo, readGit, runGit } from './git.ts'
import { invalidateMirror, type Mirror } from './mirror.ts'
import { quote } from './source.ts'
import { submoduleMirror } from './submodule-mirror.ts'
import { type ArchivePart, archiveParts, readFolder, type Submodule } from './submodule-paths.ts'
import { readEntries, TAR_END } from './tar-entries.ts'

export type ArchiveRequest = {
  hash: string
  /** Relative and inside the repository; null or empty for all of it. */
  rootDirectory: string | null
  /** As `resolve` found them. */
  submodules?: readonly Submodule[]
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
export function archiveTree(mirror: Mirror, request: ArchiveRequest): Readable {
  const archive = new PassThrough()
  const unwanted = new AbortController()
  archive.once('close', () => unwanted.abort())
  const { submodules = [] } = request
  const signal = AbortSignal.any([request.signal, unwanted.signal])

  async function write(): Promise<void> {
    const root = readFolder(request.rootDirectory ?? '')
    if (root === undefined)
      throw new ArchiveError(`${quote(request.rootDirectory!)} is not a folder inside the repository.`)
    const parts = archiveParts(root, submodules)
    const isWhole = parts.length === 1
    for (const part of parts)
      await writePart(mirror, request.hash, part, signal, (output) =>
        pour(isWhole ? output : readEntries(output), archive, signal),
      )
    archive.end(isWhole ? undefined : TAR_END)
  }

  write().catch((error) => archive.destroy(request.signal.aborted ? request.signal.reason : error))
  return archive
}

/** At the pace of its reader. */
async function pour(from: AsyncIterable<Buffer>, into: PassThrough, signal: AbortSignal): Promise<void> {
  for await (const chunk of from) if (!into.write(chunk)) await once(into, 'drain', { signal })
}

async function writePart(
  own: Mirror,
  ownHash: string,
  { submodule, folder, prefix }: ArchivePart,
  signal: AbortSignal,
  read: (output: Readable) => Promise<void>,
): Promise<void> {
  const mirror = submodule ? submoduleMirror(own, submodule.address) : own
  const repo = { repository: mirror.repository, signal }
  const commit = await findFiles(repo, submodule?.hash ?? ownHash, folder)
  const below = prefix === '' ? [] : [`--prefix=${prefix}/`]
  const { code } = await runGit({ ...repo, args: ['archive', '--format=tar', ...below, commit] }, read)
  if (code === 0) return
  if (code > 0) await invalidateMirror(mirror).catch(() => {})
  throw new ArchiveError('Git could not read all files of the commit: the next fetch recreates the mirror.')
}

/** The commit itself, or for a subfolder a commit that contains only that folder. */
async function findFiles(repo: Repo, hash: string, folder: string): Promise<string> {
  const short = hash.slice(0, 8)
  if (!/^[0-9a-f]{40,64}$/.test(hash)) throw new ArchiveError('This is not a commit hash.')
  const [commit] = await inspectObjects(repo, [hash])
  if (commit?.type !== 'commit')
    throw new ArchiveError(`The commit ${short} is not in the mirror of this application.`)
  if (folder === '') return hash
  const [tree] = await inspectObjects(repo, [`${hash}:${folder}`])
  if (tree?.type !== 'tree') throw new ArchiveError(`The commit ${short} has no folder ${quote(folder)}.`)
  return commitOf(repo, tree.hash, hash)
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
