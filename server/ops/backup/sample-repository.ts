import { createWriteStream } from 'node:fs'
import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { pathToFileURL } from 'node:url'
import { readGit, runGit } from '#adapters/repositories/git.ts'

// The one repository that lives nowhere but in the home: the sample's. It travels as a git bundle, which is
// consistent while somebody pushes, and carries commits and branches but no settings and no hooks.

/** How applications name it. */
export function sampleAddress(home: string): string {
  return pathToFileURL(placeIn(home)).href
}

/** Hands the bundle to `take`, unless there is no repository, or one without commits. */
export async function bundleSample(
  home: string,
  signal: AbortSignal,
  take: (bundle: Readable) => Promise<void>,
): Promise<void> {
  const repository = placeIn(home)
  if (!(await exists(repository))) return
  const refs = await readGit({ repository, signal, args: ['for-each-ref', '--count=1'] })
  if (refs.code === 0 && refs.output === '') return
  const args = ['bundle', 'create', '--quiet', '-', '--all']
  const { code, errors } = await runGit({ repository, signal, args }, take)
  if (code !== 0) throw new Error(`git could not read ${repository}: ${errors.trim()}`)
}

/** Leaves a repository alone that is there already. Made beside its place and renamed. */
export async function unbundleSample(
  home: string,
  signal: AbortSignal,
  openBundle: () => Readable,
): Promise<void> {
  const place = placeIn(home)
  if (await exists(place)) return
  const draft = `${place}.draft`
  const bundle = `${place}.bundle`
  for (const path of [draft, bundle]) await rm(path, { recursive: true, force: true })
  await mkdir(dirname(place), { recursive: true, mode: 0o700 })
  try {
    await pipeline(openBundle(), createWriteStream(bundle, { flags: 'wx', mode: 0o600 }), { signal })
    await makeRepository(draft, bundle, signal)
    await rename(draft, place)
  } finally {
    for (const path of [draft, bundle]) await rm(path, { recursive: true, force: true })
  }
}

async function makeRepository(repository: string, bundle: string, signal: AbortSignal): Promise<void> {
  // To git a bundle is a remote of the kind `file`.
  const environment = { GIT_ALLOW_PROTOCOL: 'file' }
  const commands = [
    ['init', '--quiet', '--bare', '--initial-branch=main'],
    ['fetch', '--quiet', '--end-of-options', bundle, '+refs/*:refs/*'],
  ]
  for (const args of commands) {
    const { code, errors } = await readGit({ repository, signal, args, environment })
    if (code !== 0) throw new Error(`git could not bring the sample repository back: ${errors.trim()}`)
  }
}

function placeIn(home: string): string {
  return join(home, 'repositories', 'sample', 'hello-gantry.git')
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
