// The supervisors of one SSH connection: one for each account, opened when it is first needed.

import type { DetachedAccount, DetachedSteps, Unavailable } from './detached.ts'
import { createDetachedSteps } from './detached-steps.ts'
import type { Impossible, Unreachable } from './executor.ts'
import { accountOf, noChannel, prefixesFor, whyNoBash } from './ssh-account.ts'
import type { SshConnection } from './ssh-connection.ts'
import { openSupervisor, SUPERVISOR_COMMAND, type Supervisor } from './supervisor.ts'

type Opened = Supervisor | Unavailable | Impossible | Unreachable

/** Each takes one of the channels that a server allows. The one that was opened first makes room for another. */
const MAX_SUPERVISORS = 2

export function createDetachedAccounts(
  connection: SshConnection,
  { startTimeoutMs }: { startTimeoutMs: number },
) {
  const supervisors = new Map<string, Promise<Opened>>()
  const known = new WeakMap<Supervisor, Map<string, DetachedSteps>>()
  let isClosed = false

  async function start(user: string): Promise<Opened> {
    let said = ''
    for (const prefix of prefixesFor(user, connection.username)) {
      const channel = await connection.openChannel(`exec ${prefix}${SUPERVISOR_COMMAND}`)
      if (!channel) return noChannel(connection)
      const opened = await openSupervisor(channel, startTimeoutMs)
      if (typeof opened !== 'string') return opened
      said ||= opened
    }
    return whyNoBash(connection, user, said)
  }

  function openFor(user: string): Promise<Opened> {
    const known = supervisors.get(user)
    if (known) return known
    const [oldest] = supervisors
    if (oldest && supervisors.size === MAX_SUPERVISORS) {
      supervisors.delete(oldest[0])
      oldest[1].then(close)
    }
    const opening = start(user)
    supervisors.set(user, opening)
    const forget = () => void (supervisors.get(user) === opening && supervisors.delete(user))
    opening.then((opened) => {
      if ('gone' in opened) opened.gone.then(forget)
      else if (opened.kind !== 'unavailable') forget()
      if (isClosed) close(opened)
    }, forget)
    return opening
  }

  return {
    async open({
      runAsUser,
      owner,
      leaseSeconds,
    }: DetachedAccount): Promise<DetachedSteps | Unavailable | Impossible | Unreachable> {
      const user = accountOf(runAsUser, connection.username)
      if (typeof user !== 'string') return user
      const opened = await openFor(user)
      if (!('gone' in opened)) return opened
      if (leaseSeconds !== undefined) opened.renewWithin(leaseSeconds)
      const whyLost = () => connection.lostReason() ?? 'the supervisor of the step no longer answers'
      const byOwner = known.getOrInsertComputed(opened, () => new Map<string, DetachedSteps>())
      return byOwner.getOrInsertComputed(owner, () => createDetachedSteps(opened, owner, whyLost))
    },
    /** Steps continue. */
    close(): void {
      isClosed = true
      for (const opening of supervisors.values()) opening.then(close, () => {})
    },
  }
}

function close(opened: Opened): void {
  if ('gone' in opened) opened.close()
}
