// Commands on this very machine. In a namespace they neither see nor signal the processes outside, and what they
// mount is theirs alone; under an ordinary account they also cannot become another by sudo. A service is reached
// through its manager (systemctl, docker), which is not one of their processes.

import { createExecutor, createMarks } from './create-executor.ts'
import type { CommandRequest, Executor, Impossible } from './executor.ts'
import { chooseLocalAccount, findLocalAccount, type LocalAccount } from './local-account.ts'
import { createGuardedWay } from './local-guarded.ts'
import { createNamespacedWay } from './local-namespaced.ts'
import {
  BASH,
  findLocalTools,
  type LocalTools,
  type LocalWay,
  STANDARD_PATH,
  type SwitchTo,
} from './local-tools.ts'
import { withSpare } from './spare.ts'
import { supervise } from './supervise.ts'

export type LocalExecutorOptions = {
  /** The account of the embedded database, which commands must not get. */
  excludedUid: number | null
  /** HOME of commands that name no account: many accounts of a system have none that they may write in. */
  home?: string
  /** Left out: a namespace where this machine allows it, else a guard. */
  containment?: Containment
}

/** What ends the processes that a command leaves behind: see launcher.ts and guard.ts. */
export type Containment = 'namespace' | 'guard'

export type LocalExecutor = Executor & {
  /** Who commands run as that name no account. */
  account: LocalAccount | Impossible
  containment: Containment
}

// Of all ways to end, the one that is most easily told wrong.
const PROBE: CommandRequest = {
  command: 'kill -KILL $$',
  environment: {},
  workingFolder: null,
  runAsUser: null,
  onOutput() {},
  signal: new AbortController().signal,
  timeoutMs: 10_000,
  graceMs: 0,
}

/** Once per process: finds out what the machine allows, which takes some milliseconds. */
export async function openLocalExecutor(options: LocalExecutorOptions): Promise<LocalExecutor> {
  const account = await chooseLocalAccount(options.excludedUid)
  const tools = findLocalTools()
  const namespaced =
    options.containment === 'guard' ? undefined : await namespacedWayIfItWorks(tools, account)
  const way = withSpare(namespaced ?? createGuardedWay(tools, createMarks()))

  const executor = createExecutor({
    async launch({ runAsUser }) {
      const user = runAsUser === null ? account : await findLocalAccount(runAsUser)
      if ('kind' in user) return user
      const home = runAsUser === null ? options.home : undefined
      const switchTo = switchFor(user, runAsUser !== null)
      return way.launch({ switchTo, environment: environmentOf(user, home) })
    },
    shutDown: way.close,
  })
  return { ...executor, account, containment: namespaced ? 'namespace' : 'guard' }
}

/** Nothing of our own environment: it holds secrets. */
function environmentOf({ name, home }: LocalAccount, otherHome: string | undefined): Record<string, string> {
  return {
    PATH: STANDARD_PATH,
    HOME: otherHome ?? home,
    USER: name,
    LOGNAME: name,
    SHELL: BASH,
    LANG: 'C.UTF-8',
  }
}

/** An account that a person named brings its groups along; the one that we chose has no use for any. */
function switchFor({ uid, gid }: LocalAccount, named: boolean): SwitchTo | null {
  return uid === process.getuid!() ? null : { uid, gid, groups: named }
}

/** Permissions, limits, security modules and old versions of the tools all have a say, so it is tried. */
async function namespacedWayIfItWorks(
  tools: LocalTools | undefined,
  account: LocalAccount | Impossible,
): Promise<LocalWay | undefined> {
  if (!tools) return undefined
  const way = createNamespacedWay(tools)
  const switchTo = 'kind' in account ? null : switchFor(account, false)
  const launched = await way.launch({ switchTo, environment: {} })
  const end = 'kind' in launched ? launched : await supervise(PROBE, launched)
  if (end.kind === 'signalled' && end.signal === 'SIGKILL') return way
  await way.close()
  return undefined
}
