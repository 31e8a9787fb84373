import { explainLimited, type FetchContext, type FetchFailure } from './failures.ts'
import { type GitCall, readGit } from './git.ts'
import { withSuffix } from './mirror.ts'
import { readSource } from './source.ts'

export type Branches = {
  /** The default branch first, then by name. Only names that a run accepts. */
  names: string[]
  /** Whether there are more than these. */
  hasMore: boolean
  default: { name: string; hash: string } | null
}

/** The branches of a remote, and the address that answered. */
export type Listed =
  | { kind: 'listed'; branches: Branches; address: string }
  | { kind: 'failed'; failure: FetchFailure }

const MAX_BRANCHES = 200

export async function listBranches(
  call: Omit<GitCall, 'args' | 'repository'>,
  context: FetchContext,
): Promise<Listed> {
  const listAt = async (address: string): Promise<Listed> => {
    const args = ['ls-remote', '--symref', '--end-of-options', address, 'HEAD', 'refs/heads/*']
    const { code, output, errors } = await readGit({ ...call, args, repository: '/nonexistent' })
    if (code === 0) return { kind: 'listed', branches: parseBranches(output), address }
    return { kind: 'failed', failure: explainLimited(errors, context) }
  }
  const listed = await listAt(context.remote.address)
  if (listed.kind === 'listed' || listed.failure.kind !== 'moved') return listed
  const suffixed = withSuffix(context.remote)
  const again = suffixed === undefined ? listed : await listAt(suffixed)
  return again.kind === 'listed' ? again : listed
}

/** What `git ls-remote --symref` prints. The last line may be cut off. Pure. */
export function parseBranches(output: string): Branches {
  const hashes = new Map<string, string>()
  for (const [, hash, name] of output.matchAll(/^([0-9a-f]{40,64})\trefs\/heads\/(.+)\n/gm))
    if (readSource({ type: 'branch', ref: name! }).kind === 'ref' && !name!.includes('\ufffd'))
      hashes.set(name!, hash!)
  const head = /^ref: refs\/heads\/(.+)\tHEAD\n/m.exec(output)?.[1]
  const headHash = /^([0-9a-f]{40,64})\tHEAD\n/m.exec(output)?.[1]
  const sorted = [...hashes.keys()].sort()
  // Old servers do not say which branch HEAD is; and HEAD may name one that does not exist.
  const name = [head, 'main', 'master', sorted.find((one) => hashes.get(one) === headHash), sorted[0]].find(
    (one) => one !== undefined && hashes.has(one),
  )
  const names = name === undefined ? [] : [name, ...sorted.filter((one) => one !== name)]
  return {
    names: names.slice(0, MAX_BRANCHES),
    hasMore: names.length > MAX_BRANCHES,
    default: name === undefined ? null : { name, hash: hashes.get(name)! },
  }
}
