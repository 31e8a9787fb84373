import { explainFetch, explainLimited, type FetchFailure } from './failures.ts'
import { readGit } from './git.ts'
import type { Fetch } from './mirror.ts'

// A look at the top folder of a commit, without its history and, where the host supports it, without most of its
// files. Nothing is checked out: names and contents are read from the objects, so that links, odd names and
// attributes have no effect.

/** What is in the top folder. */
export type Snapshot = {
  files: ReadonlySet<string>
  folders: ReadonlySet<string>
  /** Those of the requested files that are there, are text, and are not too large. */
  contents: ReadonlyMap<string, string>
}

type SnapshotRequest = Fetch & {
  repository: string
  address: string
  branch: string
  /** The algorithm of the repository. */
  hashes: 'sha1' | 'sha256'
  /** Files to read. */
  wanted: readonly string[]
}

export type Taken = { kind: 'taken'; snapshot: Snapshot } | { kind: 'failed'; failure: FetchFailure }

const MAX_FILE_BYTES = 256 * 1024
const FETCH = [
  // More threads would need more memory than the limit.
  ...['-c', 'pack.threads=1'],
  // A host that knows which commit is here would leave out its files.
  ...['-c', 'fetch.negotiationAlgorithm=noop'],
  ...['fetch', '--progress', '--depth=1', '--no-tags', '--no-write-fetch-head'],
  ...['--no-recurse-submodules', '--no-auto-maintenance'],
]
/** The top folder, and its small files. GitHub has no such filter. */
const TOP_ONLY = `combine:tree:2+blob:limit=${MAX_FILE_BYTES}`
const NO_FILES = 'blob:none'
const FETCHED = 'refs/inspected/branch'

/** `repository` must be an empty folder. */
export async function takeSnapshot(request: SnapshotRequest): Promise<Taken> {
  const { branch, hashes: format, wanted } = request
  const init = ['init', '--quiet', '--bare', '--template=', `--object-format=${format}`]
  const { code, errors } = await callGit(request, init)
  if (code !== 0) return failed(explainFetch(errors, request))
  // It may have moved since it was listed.
  const refspec = `+refs/heads/${branch}:${FETCHED}`
  let failure = await fetchObjects(request, TOP_ONLY, [refspec])
  if (failure?.kind === 'unknown') failure = await fetchObjects(request, NO_FILES, [refspec])
  if (failure) return failed(failure)
  const entries = await readTopFolder(request)
  const hashes = [...new Set(wanted.flatMap((name) => entries.files.get(name) ?? []))]
  const contents = await readBlobs(request, hashes)
  const missing = hashes.filter((hash) => !contents.has(hash))
  // Hosts with partial clones hand out single files; where one does not, only the names count.
  if (missing.length > 0 && !(await fetchObjects(request, NO_FILES, missing)))
    for (const [hash, text] of await readBlobs(request, missing)) contents.set(hash, text)
  return { kind: 'taken', snapshot: describe(entries, wanted, contents) }
}

async function fetchObjects(request: SnapshotRequest, filter: string, names: readonly string[]) {
  const args = [...FETCH, `--filter=${filter}`, '--end-of-options', request.address, ...names]
  const { code, errors } = await callGit(request, args, request.environment)
  if (code === 0) return undefined
  return explainLimited(errors, request)
}

type Entries = { files: Map<string, string>; folders: Set<string> }

/** Files by name, with their hashes. Links and submodules are neither. */
async function readTopFolder(request: SnapshotRequest): Promise<Entries> {
  const { output } = await callGit(request, ['ls-tree', '-z', '--full-tree', FETCHED])
  const found: Entries = { files: new Map(), folders: new Set() }
  for (const [, mode, hash, name] of output.matchAll(/(\d{6}) \w+ ([0-9a-f]{40,64})\t([^\0]+)\0/g)) {
    if (mode === '040000') found.folders.add(name!)
    else if (mode === '100644' || mode === '100755') found.files.set(name!, hash!)
  }
  return found
}

/** One by one: git ends at the first that is missing. */
async function readBlobs(request: SnapshotRequest, hashes: readonly string[]): Promise<Map<string, string>> {
  const contents = new Map<string, string>()
  for (const hash of hashes) {
    const { code, output } = await callGit(request, ['cat-file', 'blob', hash])
    if (code === 0) contents.set(hash, output)
  }
  return contents
}

function describe(entries: Entries, wanted: readonly string[], blobs: Map<string, string>): Snapshot {
  const contents = new Map<string, string>()
  for (const name of wanted) {
    const text = blobs.get(entries.files.get(name) ?? '')
    if (text !== undefined && text.length <= MAX_FILE_BYTES && !text.includes('\0')) contents.set(name, text)
  }
  return { files: new Set(entries.files.keys()), folders: entries.folders, contents }
}

/** Without `environment`, git contacts no remote: not even for what is missing. */
function callGit(request: SnapshotRequest, args: string[], environment?: Record<string, string>) {
  const { repository, limits, signal } = request
  return readGit({ args, repository, limits, signal, environment })
}

const failed = (failure: FetchFailure): Taken => ({ kind: 'failed', failure })
