import { type AccessRequest, findConnectProblem, type Login, prepareAccess } from './access.ts'
import type { Remote } from './address.ts'
import type { Limits } from './git.ts'
import type { Fetch } from './mirror.ts'

// Every contact with a remote begins here: fetches into mirrors, of the repository of an application and of its submodules,
// and looks at repositories that have none.

export type RemoteVerdict =
  /** `addresses`: what the host's name resolved to when it was checked; git connects to no other. */
  | { kind: 'allowed'; addresses?: string[] }
  | { kind: 'refused'; message: string }
  /** The name cannot be resolved right now. */
  | { kind: 'unreachable'; message: string }

/** Called before every contact with a remote. Decides about private addresses, and about `file:`. */
export type AllowRemote = (remote: Remote, applicationId: number) => Promise<RemoteVerdict>

export type Contact = Omit<AccessRequest, keyof Login> & {
  login: Login
  limits?: Limits
  /** Of Gantry: no message contains it. */
  folder: string
  signal: AbortSignal
  onLine(text: string): void
}

/** Git may authenticate to the remote while `work` runs, and no longer. */
export async function contactRemote<Result>(
  contact: Contact,
  work: (fetch: Fetch) => Promise<Result>,
): Promise<Result | { kind: 'unconnected'; message: string }> {
  const { remote, login, addresses, knownHosts, timeouts, limits, signal, onLine } = contact
  const { token, sshKey } = login
  if (token && remote.protocol === 'http')
    onLine('The address begins with http: the token is sent unencrypted')
  const problem = await findConnectProblem(remote, { addresses, withinMs: timeouts.connectMs, signal })
  if (problem !== undefined) return { kind: 'unconnected', message: problem }
  await using access = await prepareAccess({ remote, token, sshKey, addresses, knownHosts, timeouts })
  return await work({
    remote,
    hasCredential: (remote.protocol === 'ssh' ? sshKey : token) !== null,
    hidden: [contact.folder, token?.secret ?? ''],
    environment: access.environment,
    limits,
    signal,
    onLine,
  })
}
