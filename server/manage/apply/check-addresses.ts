import { isIP } from 'node:net'
import type { Caller } from '#access/authorization/caller.ts'
import { checkReceiver, checkReceivers } from '#manage/hooks/validate-hook.ts'
import { targetUrlsOf } from '#manage/hooks/validate-requests.ts'
import { checkHost } from '#manage/servers/host-rules.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import type { SshGuard, SshVerdict } from '#platform/addresses/ssh-guard.ts'
import { changedFields, type PlannedChange, resourceOf } from './plan.ts'
import type { Problem } from './problems.ts'
import type { OutgoingEntry } from './schemas.ts'

/** Name lookups are limited by the operating system, and others need some too. */
const MAX_HOSTS = 100

export type Guards = { guard: AddressGuard; sshGuard: SshGuard }

export type AddressChecks = ReturnType<typeof createAddressChecks>

/** What is known about the addresses of one request: each is checked once. */
export function createAddressChecks({ guard, sshGuard }: Guards, caller: Caller) {
  const receivers = rememberChecks((url) => checkReceiver(guard, caller, url))
  const hosts = rememberChecks((host) => checkHost(sshGuard, host))
  return {
    /** Resolves all names at once, before the transaction: it takes too long inside. */
    async prepare(changes: readonly PlannedChange[]): Promise<Problem | undefined> {
      const targets = changes.flatMap((change) =>
        receiversOf(change).map(({ field, url }) => ({
          url,
          path: [...resourceOf(change).path, ...field.split('.')],
        })),
      )
      if (new Set(targets.map(({ url }) => URL.parse(url)?.host)).size > MAX_HOSTS) {
        const message = `hooks call more than ${MAX_HOSTS} hosts: apply fewer at a time`
        return { path: targets.at(-1)!.path, message }
      }
      await Promise.all([
        ...targets.map(({ url }) => receivers.check(url)),
        ...hostsOf(changes).map(hosts.check),
      ])
      return undefined
    },

    /** What was not checked before was changed between the first comparison and now. */
    ofHook: (change: PlannedChange) => checkReceivers(receiversOf(change), receivers.check),

    /** A name would have to be looked up, and is checked at every connection. */
    async ofServer(change: PlannedChange): Promise<SshVerdict | undefined> {
      const host = hostOf(change)
      return host !== undefined && (hosts.known.has(host) || isIP(host)) ? hosts.check(host) : undefined
    },
  }
}

function rememberChecks<Result>(check: (key: string) => Promise<Result>) {
  const known = new Map<string, Promise<Result>>()
  return {
    known,
    check(key: string): Promise<Result> {
      const result = known.get(key) ?? check(key)
      known.set(key, result)
      return result
    },
  }
}

/** The URLs that a change makes a hook call, with the fields that they are in. */
function receiversOf(change: PlannedChange): { field: string; url: string }[] {
  if (change.verb === 'delete' || change.desired.type !== 'hook') return []
  if (change.desired.path.at(-2) === 'incoming') return []
  return targetUrlsOf(changedFields(change) as Partial<OutgoingEntry>)
}

/** The host that a change gives a server; undefined when it does not change that. */
function hostOf(change: PlannedChange): string | undefined {
  if (change.verb === 'delete' || change.desired.type !== 'server') return undefined
  return change.fields.some(({ field }) => field === 'host')
    ? (change.desired.body.host ?? undefined)
    : undefined
}

/** Names beyond the limit are not resolved now; like any name, they are checked at every connection. */
function hostsOf(changes: readonly PlannedChange[]): string[] {
  const hosts = [...new Set(changes.flatMap((change) => hostOf(change) ?? []))]
  const names = hosts.filter((host) => !isIP(host))
  return [...hosts.filter((host) => isIP(host)), ...names.slice(0, MAX_HOSTS)]
}
