// Commands on this machine. In a namespace they neither see nor signal the processes outside, and what they mount
// is theirs alone; under an ordinary account they also cannot become another by sudo. A service is reached through
// its manager (systemctl, docker), which is not one of their processes.

import type { CommandRequest, Executor, Impossible } from './executor.ts'
import { chooseLocalAccount, findLocalAccount, type LocalAccount } from './local-account.ts'
import {
  createGuardedBackend,
  findLocalTools,
  type LocalBackend,
  type LocalTools,
  type SwitchTo,
  withPrewarmed,
} from './local-backend.ts'
import { createNamespaceBackend } from './namespaces.ts'
import { BASH, STANDARD_PATH } from './preamble.ts'
import { createExecutor, supervise } from './supervise.ts'

/** What ends the processes that a command leaves behind: see namespaces.ts and guard.ts. */
export type Containment = 'namespace' | 'guard'

export type LocalExecutor = Executor & {
  /** The account of commands that specify none. */
  account: LocalAccount | Impossible
  containment: Containment
}

// Of all ways to end, the one that is most easily misreported.
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

/**
 * Once per process: finds out what the machine allows, which takes some milliseconds. `excludedUid`: the account of
 * the embedded database, which commands must not use. Without `containment`: a namespace where possible, else a guard.
 */
export async function openLocalExecutor(options: {
  excludedUid: number | null
  containment?: Containment | undefined
}): Promise<LocalExecutor> {
  const account = await chooseLocalAccount(options.excludedUid)
  const tools = findLocalTools()
  const namespaced = options.containment === 'guard' ? undefined : await tryNamespaces(tools, account)
  const backend = withPrewarmed(namespaced ?? createGuardedBackend(tools))

  const executor = createExecutor({
    async launch({ runAsUser }) {
      const user = runAsUser === null ? account : await findLocalAccount(runAsUser)
      if ('kind' in user) return user
      return backend.launch({
        switchTo: switchFor(user, runAsUser !== null),
        environment: environmentOf(user),
      })
    },
    shutDown: backend.close,
  })
  return { ...executor, account, containment: namespaced ? 'namespace' : 'guard' }
}

/** Nothing of our own environment: it holds secrets. */
function environmentOf({ name, home }: LocalAccount): Record<string, string> {
  return { PATH: STANDARD_PATH, HOME: home, USER: name, LOGNAME: name, SHELL: BASH, LANG: 'C.UTF-8' }
}

/** An account that a step specifies keeps its groups; the one that we chose needs none. */
function switchFor({ uid, gid }: LocalAccount, named: boolean): SwitchTo | null {
  return uid === process.getuid!() ? null : { uid, gid, groups: named }
}

/** Permissions, limits, security modules and tool versions all matter, so it is tried. */
async function tryNamespaces(
  tools: LocalTools | undefined,
  account: LocalAccount | Impossible,
): Promise<LocalBackend | undefined> {
  if (!tools) return undefined
  const backend = createNamespaceBackend(tools)
  const switchTo = 'kind' in account ? null : switchFor(account, false)
  const launched = await backend.launch({ switchTo, environment: {} })
  const end = 'kind' in launched ? launched : await supervise(PROBE, launched)
  if (end.kind === 'signalled' && end.signal === 'SIGKILL') return backend
  await backend.close()
  return undefined
}
