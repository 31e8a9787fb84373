// What is live of an application, in words. Pure.
import type { ApplicationCard } from '#web/base/api/types.ts'
import { plural } from '#web/base/ui/status.ts'

/** Where its servers differ: `2 commits live, unknown on 1 server`; empty where they do not. */
export function driftText({
  live,
  servers,
  drift,
}: Pick<ApplicationCard, 'live' | 'servers' | 'drift'>): string {
  if (!drift) return ''
  const parts = [
    live.length > 1 && `${live.length} commits live`,
    servers.unknown > 0 && `unknown on ${plural(servers.unknown, 'server')}`,
  ]
  return parts.filter(Boolean).join(', ')
}

/** `on 2 of 3 servers`, or `on 3 servers`. */
export function onServers(some: number, all: number): string {
  return some === all ? `on ${plural(all, 'server')}` : `on ${some} of ${plural(all, 'server')}`
}

/** What the card says in place of a commit; undefined where one is live. */
export function nothingLiveText({
  live,
  servers,
}: Pick<ApplicationCard, 'live' | 'servers'>): string | undefined {
  if (live.length > 0) return undefined
  if (servers.count === 0) return 'Not linked to a server yet'
  return servers.unknown > 0 ? 'Live release unknown' : 'Nothing deployed yet'
}
