import { createWriteStream, existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { pathToFileURL } from 'node:url'
import { readGit, runGit } from '#adapters/repositories/git.ts'

// The sample repository is the only one that exists only in the home. It is saved as a git bundle, which is
// consistent during a push, and contains commits and branches but no settings and no hooks.

/** How applications refer to it. */
export function sampleUrl(home: string): string {
  return pathToFileURL(pathIn(home)).href
}

/** Passes the bundle to `save`, unless there is no repository, or one without commits. */
export async function bundleSample(
  home: string,
  signal: AbortSignal,
  save: (bundle: Readable) => Promise<void>,
): Promise<void> {
  const repository = pathIn(home)
  if (!existsSync(repository)) return
  const refs = await readGit({ repository, signal, args: ['for-each-ref', '--count=1'] })
  if (refs.code === 0 && refs.output === '') return
  const args = ['bundle', 'create', '--quiet', '-', '--all']
  const { code, errors } = await runGit({ repository, signal, args }, save)
  if (code !== 0) throw new Error(`git could not read ${repository}: ${errors.trim()}`)
}

/** Keeps an existing repository. Created under another name and renamed when complete. */
export async function unbundleSample(
  home: string,
  signal: AbortSignal,
  openBundle: () => Readable,
): Promise<void> {
  const target = pathIn(home)
  if (existsSync(target)) return
  const draft = `${target}.draft`
  const bundle = `${target}.bundle`
  for (const path of [draft, bundle]) await rm(path, { recursive: true, force: true })
  await mkdir(dirname(target), { recursive: true, mode: 0o700 })
  try {
    await pipeline(openBundle(), createWriteStream(bundle, { flags: 'wx', mode: 0o600 }), { signal })
    await createRepository(draft, bundle, signal)
    await rename(draft, target)
  } finally {
    for (const path of [draft, bundle]) await rm(path, { recursive: true, force: true })
  }
}

async function createRepository(repository: string, bundle: string, signal: AbortSignal): Promise<void> {
  // For git, a bundle is a remote with the `file` protocol.
  const environment = { GIT_ALLOW_PROTOCOL: 'file' }
  const commands = [
    ['init', '--quiet', '--bare', '--initial-branch=main'],
    ['fetch', '--quiet', '--end-of-options', bundle, '+refs/*:refs/*'],
  ]
  for (const args of commands) {
    const { code, errors } = await readGit({ repository, signal, args, environment })
    if (code !== 0) throw new Error(`git could not restore the sample repository: ${errors.trim()}`)
  }
}

function pathIn(home: string): string {
  return join(home, 'repositories', 'sample', 'hello-gantry.git')
}
