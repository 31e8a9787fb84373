// The deploy room: what the built-in steps of a deploy do on a target, as bash commands and the reading of what
// they print. Pure: somebody else runs them. Values reach a command only through its environment.
//
//   <base>/releases/<release name>/    complete releases; `.<name>.part` is being made, `.<name>.gone` removed
//   <base>/current                     a link to the live release
//   <base>/shared/                     what releases have in common
//   <base>/.gantry/                    the lock, who may switch `current`, which releases have been live

import { posix } from 'node:path'

/** For an executor. Everything in the environment is harmless to show. */
export type DeployCommand = { command: string; environment: Record<string, string> }

/** The folder of an application on a server. */
export function baseFolder(root: string, folder: string): string {
  if (!root.startsWith('/') || root.includes('\0'))
    throw new Error('The root folder of a server is absolute.')
  if (/^\.{0,2}$|[/\0]/.test(folder)) throw new Error('The folder of an application is one name.')
  return posix.join(root, folder)
}

export function releasePath(base: string, release: string): string {
  return posix.join(base, 'releases', release)
}

export function currentPath(base: string): string {
  return posix.join(base, 'current')
}

export function sharedPath(base: string): string {
  return posix.join(base, 'shared')
}
