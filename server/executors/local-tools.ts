import { existsSync } from 'node:fs'
import type { PipeMaker } from './pipes.ts'

export const BASH = '/bin/bash'
export const STANDARD_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Programs of util-linux. They are run as root, so nobody's PATH decides which they are. */
export type LocalTools = { unshare: string; nsenter: string; setpriv: string; setsid: string }

/** Another account to run under, which takes root. `groups`: together with its supplementary groups. */
export type SwitchTo = { uid: number; gid: number; groups: boolean }

/** What a local command is started with. */
export type LocalLaunch = {
  switchTo: SwitchTo | null
  /** Of the account; nothing of ours, which holds secrets. */
  environment: Record<string, string>
  pipes: PipeMaker
  mark: string
}

export function isRoot(): boolean {
  return process.getuid!() === 0
}

export function findLocalTools(): LocalTools | undefined {
  const find = (name: string) => ['/usr/bin', '/bin'].map((folder) => `${folder}/${name}`).find(existsSync)
  const [unshare, nsenter, setpriv, setsid] = ['unshare', 'nsenter', 'setpriv', 'setsid'].map(find)
  return unshare && nsenter && setpriv && setsid ? { unshare, nsenter, setpriv, setsid } : undefined
}
