import type { Provider, Remote } from './address.ts'
import { linkCommit } from './commit-links.ts'
import { askGit } from './git.ts'
import { quote, type Source, type Wanted } from './source.ts'

// From a branch, tag or hash to one commit of the mirror.

/** What `action_data.commit` holds. */
export type CommitRecord = {
  repository: string
  author_name: string
  author_email: string
  committed_at: string | null
  hash: string
  message: string
  url: string | null
  clone_url: string | null
  download_url: string | null
}

/** broken: the mirror lacks what it should have. */
export type Found =
  | { kind: 'found'; hash: string }
  | { kind: 'not-found'; message: string }
  | { kind: 'broken' }

type Place = { repository: string; signal: AbortSignal }

export async function findCommit(
  place: Place,
  wanted: Wanted,
  source: Source,
  options: { mayBeUnreachable: boolean },
): Promise<Found> {
  if (wanted.kind === 'ref') return findByName(place, wanted.name, source)
  const found = await findByHash(place, wanted.digits)
  if (found.kind !== 'found' || options.mayBeUnreachable) return found
  return isReachable(place, found.hash)
}

async function findByName(place: Place, name: string, source: Source): Promise<Found> {
  // Exactly this name: rev-parse would go on to look for a tag that is called refs/heads/….
  const shown = await askGit({ ...place, args: ['show-ref', '--verify', '--hash', '--', name] })
  if (shown.code !== 0) return notFound(`The repository has no ${source.type} ${quote(source.ref)}.`)
  const [object] = await describe(place, [`${shown.output.trim()}^{}`])
  if (object?.type === 'commit') return { kind: 'found', hash: object.hash }
  return object ? notFound(`The ${source.type} ${quote(source.ref)} does not point to a commit.`) : BROKEN
}

async function findByHash(place: Place, digits: string): Promise<Found> {
  // Objects only: rev-parse would prefer a branch of that name.
  const { output } = await askGit({ ...place, args: ['rev-parse', `--disambiguate=${digits}`] })
  const objects = await describe(place, output.split('\n').filter(Boolean))
  const commits = objects.filter((object) => object.type === 'commit')
  if (commits.length > 1) return notFound(`Several commits begin with ${digits}: give more of its digits.`)
  return commits[0]
    ? { kind: 'found', hash: commits[0].hash }
    : notFound(`The repository has no commit ${digits}.`)
}

async function isReachable(place: Place, hash: string): Promise<Found> {
  const args = [
    'for-each-ref',
    '--count=1',
    `--contains=${hash}`,
    '--format=%(refname)',
    'refs/heads',
    'refs/tags',
  ]
  const { code, output } = await askGit({ ...place, args })
  if (code !== 0) return BROKEN
  return output === '' ? notFound(`The commit ${hash} is on no branch and no tag.`) : { kind: 'found', hash }
}

export type GitObject = { hash: string; type: string }

/** Those that are there. `names` must not come from outside unchecked: a line each. */
export async function describe(place: Place, names: string[]): Promise<GitObject[]> {
  const args = ['cat-file', '--batch-check=%(objectname) %(objecttype)']
  const { output } = await askGit({ ...place, args, input: names.map((name) => `${name}\n`).join('') })
  return [...output.matchAll(/^([0-9a-f]{40,64}) (commit|tree|blob|tag)$/gm)].map((match) => ({
    hash: match[1]!,
    type: match[2]!,
  }))
}

export async function readCommit(
  place: Place,
  hash: string,
  from: { repository: string; remote: Remote; provider: Provider | null },
): Promise<CommitRecord | undefined> {
  const format = '--format=tformat:%H%x00%an%x00%ae%x00%ct%x00%B'
  const args = ['log', '-1', '--no-mailmap', '--no-show-signature', '--encoding=UTF-8', format, hash, '--']
  const { code, output } = await askGit({ ...place, args })
  const [full, name, email, seconds, ...message] = output.split('\0')
  if (code !== 0 || full !== hash || seconds === undefined) return undefined
  return {
    // What people typed, when it is a short form; the address never holds a secret, what they typed might.
    repository: /[:@]/.test(from.repository) ? from.remote.address : from.repository.trim(),
    author_name: cut(name!, 255),
    author_email: cut(email!, 255),
    committed_at: timestamp(Number(seconds)),
    hash,
    message: cut(message.join('').trim(), 16_384),
    ...linkCommit(from.remote, from.provider, hash),
  }
}

function timestamp(seconds: number): string | null {
  const time = new Date(seconds * 1_000)
  return Number.isNaN(time.getTime()) ? null : time.toISOString()
}

/** By characters: half of one could not be stored. */
function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length).toWellFormed()}…`
}

const BROKEN: Found = { kind: 'broken' }

function notFound(message: string): Found {
  return { kind: 'not-found', message }
}
