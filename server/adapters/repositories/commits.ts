import type { Provider, Remote } from './address.ts'
import { type CommitLinks, linkCommit } from './commit-links.ts'
import { type Repo, readGit } from './git.ts'
import { quote, type Source, type Wanted } from './source.ts'

// From a branch, tag or hash to one commit of the mirror.

/** What `action_data.commit` holds. */
export type CommitRecord = CommitLinks &
  Record<'repository' | 'author_name' | 'author_email' | 'hash' | 'message', string> & {
    committed_at: string | null
  }

/** broken: the mirror is incomplete. */
export type Found =
  | { kind: 'found'; hash: string }
  | { kind: 'not-found'; message: string }
  | { kind: 'broken' }

/** `resolvedBefore`: the commit may have left all branches since. */
export async function findCommit(
  repo: Repo,
  wanted: Wanted,
  { source, resolvedBefore }: { source: Source; resolvedBefore?: boolean },
): Promise<Found> {
  if (wanted.kind === 'ref') return findByName(repo, wanted.name, source)
  const found = await findByHash(repo, wanted.digits)
  return found.kind !== 'found' || resolvedBefore ? found : isReachable(repo, found.hash)
}

async function findByName(repo: Repo, name: string, source: Source): Promise<Found> {
  // Exactly this name: rev-parse would also look for a tag named refs/heads/….
  const shown = await readGit({ ...repo, args: ['show-ref', '--verify', '--hash', '--', name] })
  if (shown.code !== 0) return notFound(`The repository has no ${source.type} ${quote(source.ref)}.`)
  const [object] = await inspectObjects(repo, [`${shown.output.trim()}^{}`])
  if (object?.type === 'commit') return { kind: 'found', hash: object.hash }
  return object ? notFound(`The ${source.type} ${quote(source.ref)} does not point to a commit.`) : BROKEN
}

async function findByHash(repo: Repo, digits: string): Promise<Found> {
  const [hash, ...others] = await findCommits(repo, digits)
  if (hash === undefined) return notFound(`The repository has no commit ${digits}.`)
  if (others.length === 0) return { kind: 'found', hash }
  return notFound(`Several commits begin with ${digits}: use more of its digits.`)
}

/** Objects only: rev-parse would prefer a branch with that name. */
export async function findCommits(repo: Repo, digits: string): Promise<string[]> {
  const { output } = await readGit({ ...repo, args: ['rev-parse', `--disambiguate=${digits}`] })
  const objects = await inspectObjects(repo, output.split('\n').filter(Boolean))
  return objects.filter(({ type }) => type === 'commit').map(({ hash }) => hash)
}

async function isReachable(repo: Repo, hash: string): Promise<Found> {
  const args = ['for-each-ref', '--count=1', `--contains=${hash}`, '--format=%(refname)']
  const { code, output } = await readGit({ ...repo, args: [...args, 'refs/heads', 'refs/tags'] })
  if (code !== 0) return BROKEN
  return output === '' ? notFound(`The commit ${hash} is not on any branch or tag.`) : { kind: 'found', hash }
}

/** Those that exist. `names` must be validated first: they are sent one per line. */
export async function inspectObjects(repo: Repo, names: string[]): Promise<{ hash: string; type: string }[]> {
  const args = ['cat-file', '--batch-check=%(objectname) %(objecttype)']
  const { output } = await readGit({ ...repo, args, input: names.map((name) => `${name}\n`).join('') })
  return [...output.matchAll(/^([0-9a-f]{40,64}) (commit|tree|blob|tag)$/gm)].map((match) => ({
    hash: match[1]!,
    type: match[2]!,
  }))
}

export async function readCommit(
  repo: Repo,
  hash: string,
  from: { repository: string; remote: Remote; provider: Provider | null },
): Promise<CommitRecord | undefined> {
  const format = '--format=tformat:%H%x00%an%x00%ae%x00%ct%x00%B'
  const args = ['log', '-1', '--no-mailmap', '--no-show-signature', '--encoding=UTF-8', format, hash, '--']
  const { code, output } = await readGit({ ...repo, args })
  const [full, name, email, seconds, ...message] = output.split('\0')
  if (code !== 0 || full !== hash || seconds === undefined) return undefined
  return {
    // As typed, when it is a short form; the parsed address never contains a secret, the typed one might.
    repository: /[:@]/.test(from.repository) ? from.remote.address : from.repository.trim(),
    author_name: cut(name!, 255),
    author_email: cut(email!, 255),
    committed_at: timestamp(Number(seconds)),
    hash,
    message: cut(message.join('').trim(), 16_384),
    ...linkCommit(from.remote, from.provider, hash),
  }
}

export function timestamp(seconds: number): string | null {
  const time = new Date(seconds * 1_000)
  return Number.isNaN(time.getTime()) ? null : time.toISOString()
}

/** By characters: half of one could not be stored in the database. */
export function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length).toWellFormed()}…`
}

const BROKEN: Found = { kind: 'broken' }

function notFound(message: string): Found {
  return { kind: 'not-found', message }
}
