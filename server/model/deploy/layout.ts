// The deploy room: what the built-in steps of a deploy do on a target, as bash scripts and parsers of their output.
// Pure: the runner executes them. Values reach a command only through its environment. A built-in step is listed in
// `model/pipelines/built-in-steps.ts`, has its commands here, and its handler in the runner.
//
//   <base>/releases/<release name>/    complete releases; `.<name>.part` is being created, `.<name>.gone` removed
//   <base>/current                     a link to the live release
//   <base>/shared/                     what releases share
//   <base>/.gantry/                    the lock, who may switch `current`, which releases have been live

import { posix } from 'node:path'

/** For an executor. Nothing in the environment is secret. */
export type DeployCommand = { command: string; environment: Record<string, string> }

/** The folder of an application on a server. */
export function baseFolder(root: string, folder: string): string {
  if (!root.startsWith('/') || root.includes('\0'))
    throw new Error('The root folder of a server must be absolute.')
  if (/^\.{0,2}$|[/\0]/.test(folder)) throw new Error('The folder of an application must be a single name.')
  return posix.join(root, folder)
}

/** The folders that a release uses. */
export function releasePaths(base: string, release: string) {
  const path = (...names: string[]) => posix.join(base, ...names)
  return { release: path('releases', release), current: path('current'), shared: path('shared') }
}

/** As `is_release` in prelude.sh. */
const RELEASE_NAME = /^[0-9]{14}-[0-9a-f]{8}$/

/** `YYYYMMDDHHMMSS-<8 hex of the commit>`, in UTC. */
export function releaseName(at: Date, hash: string): string {
  if (!/^[0-9a-f]{8,64}$/.test(hash)) throw new Error('A release is named after a commit hash.')
  return `${at.toISOString().replace(/\D/g, '').slice(0, 14)}-${hash.slice(0, 8)}`
}

/** The first name from `at` on whose second is not taken, so that names sort in the order of releases. */
export function freeReleaseName(at: Date, hash: string, taken: Iterable<string>): string {
  const seconds = new Set(Array.from(taken, (name) => name.slice(0, 14)))
  for (let time = at.getTime(); ; time += 1_000) {
    const name = releaseName(new Date(time), hash)
    if (!seconds.has(name.slice(0, 14))) return name
  }
}

export function isReleaseName(text: string): boolean {
  return RELEASE_NAME.test(text)
}

/** Throws on anything else: the name becomes part of a path. */
export function assertReleaseName(text: string): string {
  if (!isReleaseName(text)) throw new Error(`${JSON.stringify(text)} is not a release name.`)
  return text
}
