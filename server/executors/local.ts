// Commands on this very machine.

import { conduct } from './conduct.ts'
import { createExecutor, newMarks } from './create-executor.ts'
import type { CommandRequest, Executor, Impossible } from './executor.ts'
import { chooseLocalAccount, findLocalAccount, type LocalAccount } from './local-account.ts'
import { createLocalGuards, launchGuarded } from './local-guarded.ts'
import { launchInNamespace } from './local-namespaced.ts'
import { BASH, findLocalTools, type LocalTools, STANDARD_PATH, type SwitchTo } from './local-tools.ts'
import { createNamespaces, type Namespaces } from './namespaces.ts'
import { createPipeMaker, type PipeMaker } from './pipes.ts'

export type LocalExecutorOptions = {
  /** The account of the embedded database, which commands must not get. */
  excludedUid: number | null
  /** HOME of commands that name no account: many accounts of a system have none that they may write in. */
  home?: string
  /** Left out: a namespace where this machine allows it, else a guard. */
  containment?: Containment
}

/** What ends the processes that a command leaves behind: see namespaces.ts and guard.ts. */
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
  const pipes = createPipeMaker()
  const marks = newMarks()
  const guards = createLocalGuards(marks)
  const cell = await namespacesIfTheyWork(options.containment, tools, account, pipes)

  const executor = createExecutor(marks, {
    async launch({ runAsUser }, mark) {
      const user = runAsUser === null ? account : await findLocalAccount(runAsUser)
      if ('kind' in user) return user
      const home = runAsUser === null ? options.home : undefined
      const switchTo = switchFor(user, runAsUser !== null)
      const launch = { switchTo, environment: environmentOf(user, home), pipes, mark }
      return cell
        ? launchInNamespace(cell.namespaces, cell.tools, launch)
        : launchGuarded(guards, tools, launch)
    },
    async shutDown() {
      await guards.close()
      await cell?.namespaces.close()
      await pipes.close()
    },
  })
  return { ...executor, account, containment: cell ? 'namespace' : 'guard' }
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

/** By trying: permissions, limits, security modules and old versions of the tools all have a say. */
async function namespacesIfTheyWork(
  wanted: Containment | undefined,
  tools: LocalTools | undefined,
  account: LocalAccount | Impossible,
  pipes: PipeMaker,
): Promise<{ namespaces: Namespaces; tools: LocalTools } | undefined> {
  if (!tools || wanted === 'guard') return undefined
  const namespaces = createNamespaces(tools)
  const switchTo = 'kind' in account ? null : switchFor(account, false)
  const launched = await launchInNamespace(namespaces, tools, { switchTo, environment: {}, pipes })
  const end = 'kind' in launched ? launched : await conduct(PROBE, launched)
  if (end.kind === 'signalled' && end.signal === 'SIGKILL') return { namespaces, tools }
  await namespaces.close()
  return undefined
}
