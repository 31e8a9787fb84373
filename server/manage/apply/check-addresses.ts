import { isIP } from 'node:net'
import type { Caller } from '#access/authorization/caller.ts'
import { checkReceiver } from '#manage/hooks/validate-hook.ts'
import { targetUrlsOf } from '#manage/hooks/validate-requests.ts'
import { checkHost } from '#manage/servers/host-rules.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import type { SshGuard, SshVerdict } from '#platform/addresses/ssh-guard.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import { changedFields, type PlannedChange, resourceOf } from './plan.ts'
import type { Problem } from './problems.ts'
import type { OutgoingEntry } from './schemas.ts'

/** Name lookups are limited by the operating system, and others need some too. */
const MAX_HOSTS = 100

export type Guards = { guard: AddressGuard; sshGuard: SshGuard }

/** What is known about each URL that hooks are to call from now on, and about each host that servers are to have. */
export type CheckedAddresses = {
  receivers: ReadonlyMap<string, ErrorsByField | undefined>
  hosts: ReadonlyMap<string, SshVerdict | undefined>
}

/** Resolves all names at once, before the transaction: it takes too long inside. */
export async function checkAddresses(
  { guard, sshGuard }: Guards,
  caller: Caller,
  changes: readonly PlannedChange[],
): Promise<{ checked: CheckedAddresses } | { problem: Problem }> {
  const targets = changes.flatMap((change) =>
    receiversOf(change).map(({ field, url }) => ({
      url,
      path: [...resourceOf(change).path, ...field.split('.')],
    })),
  )
  const urls = [...new Set(targets.map(({ url }) => url))]
  if (new Set(urls.map((url) => URL.parse(url)?.host)).size > MAX_HOSTS) {
    const message = `hooks call more than ${MAX_HOSTS} hosts: apply fewer at a time`
    return { problem: { path: targets.at(-1)!.path, message } }
  }
  const [receivers, hosts] = await Promise.all([
    mapEach(urls, (url) => checkReceiver(guard, caller, url)),
    mapEach(hostsOf(changes), (host) => checkHost(sshGuard, host)),
  ])
  return { checked: { receivers, hosts } }
}

/** The URLs that a change makes a hook call, with the fields that they are in. */
export function receiversOf(change: PlannedChange): { field: string; url: string }[] {
  if (change.verb === 'delete' || change.desired.type !== 'hook') return []
  if (change.desired.path.at(-2) === 'incoming') return []
  return targetUrlsOf(changedFields(change) as Partial<OutgoingEntry>)
}

/** The host that a change gives a server; undefined when it does not change that. */
export function hostOf(change: PlannedChange): string | undefined {
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

async function mapEach<Value>(keys: readonly string[], of: (key: string) => Promise<Value>) {
  return new Map(await Promise.all(keys.map(async (key) => [key, await of(key)] as const)))
}
