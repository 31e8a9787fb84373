// What git knows about the folder.
import { execFile } from 'node:child_process'
import { isAbsolute, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

type GitFacts = { repository: string | null; branch: string | null }

/** Null where there is no git, no repository or no remote. */
export async function readGit(folder: string): Promise<GitFacts> {
  const git = (...args: string[]) =>
    new Promise<string | null>((done) => {
      execFile('git', args, { cwd: folder, timeout: 5_000 }, (error, stdout) =>
        done(error ? null : stdout.trim() || null),
      )
    })
  const remotes = (await git('remote'))?.split('\n') ?? []
  const remote = remotes.includes('origin') ? 'origin' : remotes[0]
  if (remote === undefined) return { repository: null, branch: await git('branch', '--show-current') }
  const [address, head, current] = await Promise.all([
    git('remote', 'get-url', remote),
    git('symbolic-ref', '--quiet', '--short', `refs/remotes/${remote}/HEAD`),
    git('branch', '--show-current'),
  ])
  return {
    repository: address && cleanAddress(address, folder),
    branch: head?.slice(remote.length + 1) ?? current,
  }
}

/** As Gantry takes it: never with a password or token in it, and a folder as a file: URL. */
function cleanAddress(address: string, folder: string): string {
  if (isAbsolute(address) || /^\.{1,2}(\/|$)/.test(address))
    return pathToFileURL(resolve(folder, address)).href
  if (!URL.canParse(address) || !address.includes('://')) return address
  const url = new URL(address)
  url.password = ''
  if (url.protocol !== 'ssh:') url.username = ''
  return url.href
}

export type Origin = {
  /** Whether git signs in with a key rather than a token. */
  isSsh: boolean
  host: string | null
  owner: string | null
  name: string | null
}

/** 'git@github.com:acme/shop.git' → github.com, acme, shop. */
export function parseOrigin(repository: string): Origin {
  const scp = /^(?:[^@/]+@)?([^:/]+):(?!\/)(.+)$/.exec(repository)
  const url = scp || !URL.canParse(repository) ? null : new URL(repository)
  const path = (scp?.[2] ?? url?.pathname ?? repository)
    .replace(/\.git\/?$/, '')
    .split('/')
    .filter(Boolean)
  return {
    isSsh: scp !== null || url?.protocol === 'ssh:',
    host: scp?.[1] ?? (url?.hostname || null),
    owner: path.length > 1 ? path.at(-2)! : null,
    name: path.at(-1) ?? null,
  }
}
