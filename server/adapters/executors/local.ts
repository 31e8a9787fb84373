// Commands on this machine. They see neither the processes nor the files of Gantry, what they mount is theirs alone,
// and no program gives them more permissions than their account has. A service is reached through its manager
// (systemctl, docker), which is not one of their processes.

import { mkdir } from 'node:fs/promises'
import {
  type CommandRequest,
  type Connection,
  type Impossible,
  impossible,
  type Unreachable,
  unreachable,
} from './executor.ts'
import {
  findHidden,
  isBelow,
  locateRoot,
  type RefusedRoot,
  type Secrets,
  type View,
  viewFor,
} from './hidden.ts'
import { chooseLocalAccount, findLocalAccount, type LocalAccount, makeFolderOf } from './local-account.ts'
import {
  createGuardedBackend,
  findLocalTools,
  isRoot,
  type LocalBackend,
  type LocalTools,
  type SwitchTo,
} from './local-backend.ts'
import { createNamespaceBackend } from './namespaces.ts'
import { BASH, STANDARD_PATH } from './preamble.ts'
import { withPrewarmed } from './prewarmed.ts'
import { createExecutor, supervise } from './supervise.ts'

/** What ends the processes that a command leaves behind: see launcher.ts and guard.ts. Only a namespace isolates. */
export type Containment = 'namespace' | 'guard'

export type LocalExecutor = Exclude<Awaited<ReturnType<typeof openLocalExecutor>>, Unreachable>

export type LocalOptions = Secrets & {
  /** The account of the embedded database, which commands must not use. */
  excludedUid: number | null
  /** GANTRY_UNSAFE_LOCAL_STEPS: where namespaces are not available, commands run without them. */
  unsafe: boolean
  /** For tests: not what is best. */
  containment?: Containment | undefined
}

const NOT_ISOLATED =
  'this machine does not allow Gantry to isolate local steps from its own files and processes, so local servers are disabled. See "Local steps" in docs/operations.md, or set GANTRY_UNSAFE_LOCAL_STEPS=true to run them without isolation'

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

/** Once per process: finds out what the machine allows, which takes some milliseconds. */
export async function openLocalExecutor(options: LocalOptions) {
  const { home } = options
  await mkdir(home, { recursive: true, mode: 0o700 })
  const account = await chooseLocalAccount(options.excludedUid)
  const hidden = await findHidden(options)
  const tools = findLocalTools()
  const namespaced =
    options.containment === 'guard' ? undefined : await tryNamespaces(tools, account, home, hidden)
  if (!namespaced && (!options.unsafe || options.containment === 'namespace'))
    return unreachable(NOT_ISOLATED)
  const backend = withPrewarmed(namespaced ?? createGuardedBackend(tools, home))

  const executor = createExecutor<LocalRequest>({
    async launch({ runAsUser, root = null }) {
      const user = runAsUser === null ? account : await findLocalAccount(runAsUser)
      if ('kind' in user) return user
      const view = namespaced ? await viewFor(options, hidden, root) : EVERYTHING
      if ('kind' in view) return impossible(view.message)
      return backend.launch({
        switchTo: switchFor(user, runAsUser !== null),
        environment: environmentOf(user, view, root),
        view,
      })
    },
    shutDown: backend.close,
  })

  /** Why no server may have this root. */
  async function refuseRoot(root: string): Promise<RefusedRoot | undefined> {
    const placed = namespaced ? await locateRoot(options, hidden, root) : undefined
    return placed?.kind === 'refused' ? placed : undefined
  }

  return {
    ...executor,
    /** The account of commands that specify none. */
    account,
    containment: (namespaced ? 'namespace' : 'guard') as Containment,
    refuseRoot,
    /** For the commands of one server. Its root is created when it is missing; closing it does nothing. */
    async connect(root: string): Promise<Connection> {
      const refused = await refuseRoot(root)
      if (refused) return unreachable(refused.message)
      // Where we may not create it, the first command says so in the step's log.
      if (!('kind' in account)) await makeFolderOf(account, root).catch(() => false)
      const run = (request: CommandRequest) => executor.run({ ...request, root })
      return { kind: 'connected', executor: { run, close: async () => {} } }
    },
  }
}

/** `root`: of the server that the command runs for. */
type LocalRequest = CommandRequest & { root?: string }

const EVERYTHING: View = { hidden: [], root: null }

/** Pure. Nothing of our own environment: it holds secrets. An account whose home is hidden gets the server's root. */
export function environmentOf({ name, home }: LocalAccount, { hidden }: View, root: string | null) {
  const isHidden = hidden.some(({ path }) => home === path || isBelow(home, path))
  return {
    PATH: STANDARD_PATH,
    HOME: isHidden ? (root ?? '/') : home,
    USER: name,
    LOGNAME: name,
    SHELL: BASH,
    LANG: 'C.UTF-8',
  }
}

/** An account that a step specifies keeps its groups; the one that we chose needs none. */
function switchFor({ uid, gid }: LocalAccount, named: boolean): SwitchTo | null {
  return isRoot() ? { uid, gid, groups: named } : null
}

/** Permissions, limits, security modules and tool versions all matter, so it is tried. */
async function tryNamespaces(
  tools: LocalTools | undefined,
  account: LocalAccount | Impossible,
  home: string,
  hidden: View['hidden'],
): Promise<LocalBackend | undefined> {
  if (!tools) return undefined
  const backend = createNamespaceBackend(tools, home)
  const switchTo = 'kind' in account ? null : switchFor(account, false)
  const view = await viewFor({ home }, hidden, null)
  const launched =
    'kind' in view ? unreachable(view.message) : await backend.launch({ switchTo, environment: {}, view })
  const end = 'kind' in launched ? launched : await supervise(PROBE, launched)
  if (end.kind === 'signalled' && end.signal === 'SIGKILL') return backend
  await backend.close()
  return undefined
}
