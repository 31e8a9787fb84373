import type { Readable } from 'node:stream'
import { cut, timestamp } from './commits.ts'
import { type GitCall, type Repo, runGit } from './git.ts'
import { readFields } from './read-fields.ts'

// The commits and files of a comparison. Messages, names and paths are written by anyone who may push: git separates
// them by NUL, each is cut, and the lists are limited.

export type ShippedCommit = {
  sha: string
  subject: string
  author_name: string
  committed_at: string | null
}

export type FileStatus = 'added' | 'modified' | 'deleted' | 'renamed'

/** `old_path` only of renamed files. Bytes that are not UTF-8 are replaced. */
export type ChangedFile = { path: string; status: FileStatus; old_path: string | null }

/** The first of `total`. */
export type Listed<Item> = { total: number; items: Item[] }

type FilesRequest = { from: string; to: string; maxFiles: number; withinMs: number }

/** Of all paths that are kept. */
const MAX_PATH_BYTES = 1024 * 1024
const MAX_FIELD_BYTES = 4_096

/** Children before their parents; otherwise by time. */
const ORDER = '--date-order'
const FORMAT = '--format=tformat:%H%x00%ct%x00%an%x00%s'

export async function listCommits(repo: Repo, without: string, tip: string, total: number, max: number) {
  const items: ShippedCommit[] = []
  if (total === 0) return { total, items }
  const options = ['-z', ORDER, `--max-count=${max}`, '--no-mailmap', '--no-show-signature', '--no-decorate']
  const args = ['log', ...options, '--encoding=UTF-8', FORMAT, `${without}..${tip}`, '--']
  await read({ ...repo, args }, (fields) => {
    for (let at = 0; at + 4 <= fields.length; at += 4) {
      const [sha, seconds, author, subject] = fields.slice(at, at + 4) as [string, string, string, string]
      if (!/^[0-9a-f]{40,64}$/.test(sha)) throw new Unreadable()
      const committed_at = timestamp(Number(seconds))
      items.push({ sha, subject: cut(subject, 255), author_name: cut(author, 255), committed_at })
    }
    return fields.length - (fields.length % 4)
  })
  return { total, items }
}

/** Finding renames reads files: within limits, and where those are exceeded, a renamed file is deleted and added. */
const RENAMES = ['--find-renames=50%', '-l400']
const PACK_WINDOWS = ['-c', 'core.packedGitWindowSize=32m', '-c', 'core.packedGitLimit=256m']
const RENAME_LIMITS = { fileBytes: 1024 * 1024, memoryBytes: 1024 * 1024 * 1024 }

/** `withinMs`: for finding renames. */
export async function listFiles(repo: Repo, request: FilesRequest): Promise<Listed<ChangedFile>> {
  const deadline = AbortSignal.timeout(request.withinMs)
  const signal = AbortSignal.any([repo.signal, deadline])
  try {
    const limited = { ...repo, signal, limits: RENAME_LIMITS }
    return await diffTrees(limited, request, RENAMES)
  } catch (error) {
    repo.signal.throwIfAborted()
    if (!deadline.aborted && !(error instanceof Unreadable)) throw error
  }
  return diffTrees(repo, request, ['--no-renames'])
}

async function diffTrees(
  call: Omit<GitCall, 'args'>,
  { from, to, maxFiles }: FilesRequest,
  renames: string[],
): Promise<Listed<ChangedFile>> {
  const files: Listed<ChangedFile> = { total: 0, items: [] }
  let left = MAX_PATH_BYTES
  const add = (file: ChangedFile) => {
    files.total += 1
    left -= file.path.length + (file.old_path?.length ?? 0)
    if (files.items.length < maxFiles && left >= 0) files.items.push(file)
  }
  const args = ['diff-tree', '-r', '-z', '--name-status', '--no-ext-diff', ...renames, from, to, '--']
  await read({ ...call, args: [...PACK_WINDOWS, ...args] }, (fields) => {
    let at = 0
    for (;;) {
      const letter = fields[at]?.[0]
      const used = letter === 'R' ? 3 : 2
      if (letter === undefined || at + used > fields.length) return at
      const path = fields[at + used - 1]!
      const status = STATUSES[letter]
      if (!status) throw new Unreadable()
      add({ path, status, old_path: letter === 'R' ? fields[at + 1]! : null })
      at += used
    }
  })
  return files
}

/** `T`: what was a file is a link now, for example. */
const STATUSES: Record<string, FileStatus | undefined> = {
  A: 'added',
  M: 'modified',
  T: 'modified',
  D: 'deleted',
  R: 'renamed',
}

/** Gives the fields as they come to `take`, which returns how many it used: the others come again, with more. */
async function read(call: GitCall, take: (fields: string[]) => number): Promise<void> {
  const { code } = await runGit(call, async (output: Readable) => {
    let rest: string[] = []
    for await (const fields of readFields(output, MAX_FIELD_BYTES)) {
      const all = [...rest, ...fields]
      rest = all.slice(take(all))
    }
    if (rest.length > 0) throw new Unreadable()
  })
  if (code !== 0) throw new Unreadable()
}

/** Git failed, or printed something else than was expected of it. */
export class Unreadable extends Error {
  override name = 'Unreadable'
}
