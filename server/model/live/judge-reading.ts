import { sql } from 'kysely'
import type { LiveReading, Mark } from '#model/deploy/live-reading.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Disk, Release } from './live-record.ts'

/** What a reading of `current` means. `releaseName`: what the link names; its run is not known. */
export type Verdict =
  | { kind: 'known'; release: Release; targetId: number }
  | { kind: 'nothing' }
  | { kind: 'unknown'; reason: string; releaseName: string | null }

/**
 * A release is live only if Gantry made it for this server, and the mark on it names a run of that server that switched to
 * it, or is empty, as older releases of Gantry left it.
 */
export async function judgeReading(db: Database, disk: Disk, reading: LiveReading): Promise<Verdict> {
  switch (reading.kind) {
    case 'nothing':
      return reading
    case 'broken':
      return { kind: 'unknown', reason: BROKEN[reading.why], releaseName: null }
    case 'release': {
      const { name, mark } = reading
      const found = await findRun(db, disk, name, mark)
      const reason = `\`current\` points to ${name}, ${UNMARKED[mark.kind]}.`
      if (!found) return { kind: 'unknown', reason, releaseName: name }
      const { targetId, ...release } = found
      return { kind: 'known', release: { ...release, releaseName: name }, targetId }
    }
  }
}

const BROKEN = {
  'not-a-link': '`current` is not a link.',
  dangling: '`current` points to a release that no longer exists.',
  outside: '`current` does not point to a release of this application.',
}

const NOT_OURS = 'which no run of this Gantry has activated on this server'
const UNMARKED: Record<Mark['kind'], string> = {
  missing: 'which no run has activated',
  malformed: 'and the file that names the run that activated it is damaged',
  empty: NOT_OURS,
  run: NOT_OURS,
}

type FoundRun = { targetId: number; actionId: number; commitSha: string | null }

/** A rollback to a release that was on the server has no release name of its own there. */
async function findRun(
  db: Database,
  { applicationId, serverId }: Disk,
  name: string,
  mark: Mark,
): Promise<FoundRun | undefined> {
  if (mark.kind !== 'run' && mark.kind !== 'empty') return undefined
  const made = sql`t.release_name = ${name}`
  const reused = sql`t.release_name is null and a.deployment ->> 'type' = 'rollback' and exists (
    select from releases_on_disk d
    where d.application_id = ${applicationId} and d.server_id = ${serverId} and d.release_name = ${name})`
  const isRun =
    mark.kind === 'run'
      ? sql`(select installation from key_check) || '-' || t.id = ${mark.run} and (${made} or ${reused})`
      : made
  const id = mark.kind === 'run' ? targetIdOf(mark.run) : null
  if (mark.kind === 'run' && id === null) return undefined
  const { rows } = await sql<FoundRun>`
    select t.id as "targetId", a.id as "actionId", a.commit ->> 'hash' as "commitSha"
    from targets t join actions a on a.id = t.action_id join pipelines p on p.id = a.pipeline_id
    where t.server_id = ${serverId} and p.application_id = ${applicationId} and a.type = 'deploy'
      and ${id === null ? sql`true` : sql`t.id = ${id}::bigint`} and ${isRun}
    order by a.id desc limit 1`.execute(db)
  return rows[0]
}

/** `<installation>-<target>`; the file is on the server, and may say anything. */
function targetIdOf(run: string): number | null {
  const digits = /-([0-9]{1,15})$/.exec(run)?.[1]
  return digits === undefined ? null : Number(digits)
}
