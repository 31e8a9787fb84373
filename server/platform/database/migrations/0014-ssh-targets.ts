import { lookup } from 'node:dns/promises'
import ipaddr from 'ipaddr.js'
import { type Kysely, sql } from 'kysely'

const LOOKUP_MS = 3_000

export const toleratedBy = '0.1.0'

// Only an instance administrator may have an SSH server be the machine that Gantry runs on. Servers that already are
// stay reachable, under whatever name or spelling: names are looked up, as far as they resolve in time.
export async function up(db: Kysely<unknown>): Promise<void> {
  // A table with events that wait for their triggers cannot be altered.
  await sql`set constraints all immediate`.execute(db)
  await sql`alter table servers add column allow_loopback boolean not null default false`.execute(db)
  const { rows } = await sql<{ host: string }>`
    select distinct host from servers where host is not null and deleted_at is null`.execute(db)
  const hosts = await loopbackHosts(rows.map(({ host }) => host))
  await sql`update servers set allow_loopback = true where host = any(${hosts}::text[])`.execute(db)
  await sql`set constraints all immediate`.execute(db)
  await sql`set constraints all deferred`.execute(db)
}

async function loopbackHosts(hosts: readonly string[]): Promise<string[]> {
  const found = new Set<string>()
  const late = new Promise<void>((resolve) => setTimeout(resolve, LOOKUP_MS).unref())
  const all = hosts.map(async (host) => {
    const addresses = await lookup(host, { all: true }).catch(() => [])
    if (addresses.some(({ address }) => ipaddr.process(address).range() === 'loopback')) found.add(host)
  })
  await Promise.race([Promise.all(all), late])
  return [...found]
}
