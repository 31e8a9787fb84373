import { existsSync } from 'node:fs'
import type { CommandEnd } from './executor.ts'
import type { LaunchedCommand } from './supervise.ts'

export const BASH = '/bin/bash'
export const STANDARD_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Another account to run under, which takes root. `groups`: together with its supplementary groups. */
export type SwitchTo = { uid: number; gid: number; groups: boolean }

/** What a local command is started with. Its environment is the account's, and holds nothing of ours. */
export type LocalLaunch = { switchTo: SwitchTo | null; environment: Record<string, string> }

/** A way to start local commands so that none of their processes is left. */
export type LocalWay = {
  launch(launch: LocalLaunch): Promise<LaunchedCommand | CommandEnd>
  /** For when no command runs any more. */
  close(): Promise<void>
}

/** Programs of util-linux. They are run as root, so nobody's PATH decides which they are. */
export type LocalTools = { unshare: string; nsenter: string; setpriv: string; setsid: string }

export function findLocalTools(): LocalTools | undefined {
  const find = (name: string) => ['/usr/bin', '/bin'].map((folder) => `${folder}/${name}`).find(existsSync)
  const [unshare, nsenter, setpriv, setsid] = ['unshare', 'nsenter', 'setpriv', 'setsid'].map(find)
  return unshare && nsenter && setpriv && setsid ? { unshare, nsenter, setpriv, setsid } : undefined
}

export function isRoot(): boolean {
  return process.getuid!() === 0
}
