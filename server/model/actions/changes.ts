// What a deploy ships: the difference between what was live on a server and what the action brings there. It is compared
// once, when the commit is known, and kept with the action. Servers that served the same release share one comparison.
import { sql } from 'kysely'
import type { Compared, Comparison } from '#adapters/repositories/compare.ts'
import { anyId } from '#platform/database/any-of.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'

/** Why there is no comparison, or not all of it. */
export const CHANGES_REASONS = {
  first_release: 'Nothing was live on these servers before.',
  live_unknown: 'The live release of these servers was unknown.',
  commit_unknown: 'The commit of the live release is unknown.',
  commit_missing: 'The live commit is no longer in the repository.',
  shallow_history: 'The repository has only a part of its history, so the commits are unknown.',
  timeout: 'Comparing the two commits took too long.',
  unreadable: 'Git could not compare the two commits.',
  not_fetched: 'The run ended before it fetched its source.',
  not_recorded: 'The run is older than this feature, so what it shipped was not recorded.',
  not_a_deploy: 'Only deploys ship changes.',
  unknown_until_fetched: 'The commit is unknown until it is fetched.',
} as const

export type ChangesReason = keyof typeof CHANGES_REASONS

/** What a server serves, with the branch that it was deployed from, if it was one. */
export type Baseline = {
  actionId: number
  releaseName: string
  commitSha: string | null
  branch: string | null
}

/** Of a server where it is not known what is live. */
const UNKNOWN = 'unknown'
export type Live = Baseline | typeof UNKNOWN

/** By server; those where nothing is live are left out. */
export async function readBaselines(
  db: Database,
  applicationId: number,
  serverIds: readonly number[],
): Promise<Map<number, Live>> {
  const { rows } = await sql<Baseline & { serverId: number; isUnknown: boolean }>`
    select l.server_id as "serverId", l.action_id as "actionId", l.release_name as "releaseName",
      l.commit_sha as "commitSha",
      case when a.deployment ->> 'source_type' = 'branch' then a.deployment ->> 'source_ref' end as branch,
      false as "isUnknown"
    from live_releases l join actions a on a.id = l.action_id
    where l.application_id = ${applicationId} and l.server_id = any(${serverIds}::bigint[])
    union all
    select server_id, null, null, null, null, true from unknown_live_releases
    where application_id = ${applicationId} and server_id = any(${serverIds}::bigint[])`.execute(db)
  return new Map(
    rows.map(({ serverId, isUnknown, ...baseline }) => [serverId, isUnknown ? UNKNOWN : baseline]),
  )
}

/** Servers that serve the same release; null where nothing is live. */
export type Group = { baseline: Live | null; serverIds: number[] }

export function groupServers(serverIds: readonly number[], baselines: ReadonlyMap<number, Live>): Group[] {
  const baselineOf = (id: number) => baselines.get(id) ?? null
  const groups = Map.groupBy(serverIds, (id) => storedRelease(baselineOf(id)))
  return [...groups.values()].map((ids) => ({ baseline: baselineOf(ids[0]!), serverIds: ids }))
}

/** As `from_release` stores it. No release has these names. */
export function storedRelease(baseline: Live | null): string {
  if (baseline === null) return NOTHING
  return baseline === UNKNOWN ? UNKNOWN : baseline.releaseName
}

const NOTHING = ''

/** Null: nothing was live, or that was not known. */
export function shownRelease(stored: string): string | null {
  return stored === NOTHING || stored === UNKNOWN ? null : stored
}

/** What is known of it. */
export function knownBaseline(baseline: Live | null): Baseline | null {
  return baseline === UNKNOWN ? null : baseline
}

/** The outcome of a comparison, as it is stored and shown. */
export type Difference = { comparison: Comparison | null; reason: ChangesReason | null }

const REASONS = {
  'missing-from': 'commit_missing',
  'missing-to': 'unknown_until_fetched',
  timeout: 'timeout',
  unreadable: 'unreadable',
} as const

/** Null: the two have to be compared first. */
export function withoutComparing(baseline: Live | null): Difference | null {
  if (!baseline) return { comparison: null, reason: 'first_release' }
  if (baseline === UNKNOWN) return { comparison: null, reason: 'live_unknown' }
  return baseline.commitSha === null ? { comparison: null, reason: 'commit_unknown' } : null
}

export function differenceOf(compared: Compared): Difference {
  if (compared.kind === 'unavailable') return { comparison: null, reason: REASONS[compared.reason] }
  const { comparison } = compared
  return { comparison, reason: comparison.commits === null ? 'shallow_history' : null }
}

/** Says what was live on the servers of the group. Returns the actions of which that has yet to be compared. */
export async function storeBaseline(
  trx: Transaction,
  actionIds: readonly number[],
  { baseline, serverIds }: Group,
): Promise<number[]> {
  const release = storedRelease(baseline)
  const known = knownBaseline(baseline)
  // An earlier attempt may have found another one.
  await sql`
    update action_changes set server_ids = array(select unnest(server_ids) except select unnest(${serverIds}::bigint[]))
    where action_id = ${anyId(actionIds)} and from_release <> ${release} and server_ids && ${serverIds}::bigint[]`.execute(
    trx,
  )
  await sql`delete from action_changes where action_id = ${anyId(actionIds)} and server_ids = '{}'`.execute(
    trx,
  )
  const { rows } = await sql<{ id: number; isOpen: boolean }>`
    insert into action_changes (action_id, from_release, from_action_id, from_commit, server_ids)
    select id, ${release}, ${known?.actionId ?? null}::bigint, ${known?.commitSha ?? null}, ${serverIds}::bigint[]
    from unnest(${actionIds}::bigint[]) as id order by id
    on conflict (action_id, from_release) do update
    set server_ids = array(select unnest(action_changes.server_ids) union select unnest(excluded.server_ids) order by 1)
    returning action_id as id, comparison is null and reason is null as "isOpen"`.execute(trx)
  return rows.flatMap(({ id, isOpen }) => (isOpen ? id : []))
}

export async function storeDifference(
  db: Database,
  actionIds: readonly number[],
  { baseline }: Pick<Group, 'baseline'>,
  to: string,
  { comparison, reason }: Difference,
): Promise<void> {
  await sql`
    update action_changes set to_commit = ${to}, reason = ${reason},
      comparison = ${comparison && JSON.stringify(comparison)}
    where action_id = ${anyId(actionIds)} and from_release = ${storedRelease(baseline)}`.execute(db)
}

export type StoredChanges = {
  fromRelease: string
  fromActionId: number | null
  fromCommit: string | null
  toCommit: string | null
  serverIds: number[]
  comparison: Comparison | null
  reason: ChangesReason | null
}

export async function loadChanges(db: Database, actionId: number): Promise<StoredChanges[]> {
  const { rows } = await sql<StoredChanges>`
    select from_release as "fromRelease", from_action_id as "fromActionId", from_commit as "fromCommit",
      to_commit as "toCommit", server_ids as "serverIds", comparison, reason
    from action_changes where action_id = ${actionId} order by server_ids`.execute(db)
  return rows
}
