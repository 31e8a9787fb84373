import { sql } from 'kysely'
import type { Caller } from '#access/authorization/caller.ts'
import { can, type Scope } from '#access/authorization/permissions.ts'
import { type ContainmentRequest, findContaining } from '#adapters/repositories/containment.ts'
import { loadActionRefs } from '#model/actions/action-refs.ts'
import type { EmbedDeps } from '#model/actions/embedded.ts'
import { wasReverted } from '#model/actions/reverted-releases.ts'
import type { ActionRef } from '#model/actions/schemas.ts'
import { visibilityOf } from '#model/actions/visibility.ts'
import { isoFromPostgres } from '#platform/database/connect.ts'
import type { Commit } from '#platform/database/tables.ts'
import type { LiveRelease, ServerReleases } from './schemas.ts'

type Viewer = { caller: Caller; scope: Scope; environmentId: number }

type Server = { id: number; name: string }
type LiveFields = {
  action_id: number | null
  release_name: string | null
  commit_sha: string | null
  since: string | null
  commit: Commit | null
}
type LiveRow = LiveFields & {
  server: Server
  unknown: {
    since: string
    reason: string
    last: LiveFields | null
    candidate: LiveFields | null
  } | null
}

export type LiveServer = Omit<LiveRelease, 'contains' | 'contains_reason'>

/** What the servers that are linked to an application serve, by name. */
export async function readLive(deps: EmbedDeps, viewer: Viewer, id: number): Promise<LiveServer[]> {
  const { rows } = await sql<LiveRow>`
    select json_build_object('id', s.id, 'name', s.name) as server,
      live.action_id, live.release_name, live.commit_sha, live.since, a.commit,
      case when unknown.server_id is not null then json_build_object('since', unknown.since, 'reason', unknown.reason,
        'last', case when unknown.last_release_name is not null then json_build_object('action_id', unknown.last_action_id,
          'release_name', unknown.last_release_name, 'commit_sha', unknown.last_commit_sha, 'since', unknown.last_since,
          'commit', (select commit from actions where id = unknown.last_action_id)) end,
        'candidate', case when unknown.candidate_release_name is not null then json_build_object(
          'action_id', unknown.candidate_action_id, 'release_name', unknown.candidate_release_name,
          'commit_sha', unknown.candidate_commit_sha, 'since', null,
          'commit', (select commit from actions where id = unknown.candidate_action_id)) end) end as unknown
    from application_servers link
    join servers s on s.id = link.server_id
    left join live_releases live on live.application_id = link.application_id and live.server_id = s.id
    left join unknown_live_releases unknown
      on unknown.application_id = link.application_id and unknown.server_id = s.id
    left join actions a on a.id = live.action_id
    where link.application_id = ${id}
    order by s.name, s.id`.execute(deps.db)
  const named = rows.flatMap((row) => [row, row.unknown?.last ?? [], row.unknown?.candidate ?? []].flat())
  const show = await presenter(deps, viewer, named)
  const release = ({ action_id, release_name, commit_sha, commit, since }: LiveFields) => ({
    action: show.action(action_id),
    release_name,
    commit: show.commit(commit_sha, commit),
    since,
  })
  const possible = (one: LiveFields | null | undefined) =>
    one ? release({ ...one, since: one.since && isoFromPostgres(one.since) }) : null
  return rows.map((row) => ({
    server: show.server(row.server),
    state: stateOf(row),
    ...release(row),
    last_known: possible(row.unknown?.last),
    candidate: possible(row.unknown?.candidate),
    unknown_since: row.unknown && isoFromPostgres(row.unknown.since),
    unknown_reason: show.reason(row.unknown?.reason ?? null),
  }))
}

function stateOf({ unknown, release_name }: LiveRow): LiveServer['state'] {
  if (unknown) return 'unknown'
  return release_name === null ? 'nothing' : 'known'
}

const CONTAINMENT_WITHIN_MS = 10_000

/** With the answer to `contains`. */
export async function withContainment(
  live: readonly LiveServer[],
  request: Omit<ContainmentRequest, 'hashes' | 'withinMs'>,
): Promise<LiveRelease[]> {
  const hashes = live.flatMap(({ commit }) => commit?.hash ?? [])
  const answers = await findContaining({ ...request, hashes, withinMs: CONTAINMENT_WITHIN_MS })
  return live.map((one) => {
    const answer = one.commit === null ? unknownOf(one) : answers.get(one.commit.hash)!
    return typeof answer === 'boolean'
      ? { ...one, contains: answer, contains_reason: null }
      : { ...one, contains: null, contains_reason: answer }
  })
}

const UNKNOWN = { unknown: 'live_unknown', nothing: 'nothing_live', known: 'unknown_live_commit' } as const

const unknownOf = ({ state }: LiveServer) => UNKNOWN[state]

type DiskRow = {
  release_name: string
  size_bytes: number | null
  live: boolean
  was_live: boolean
  reverted: boolean
  can_roll_back: boolean
  recorded_at: string
  action_id: number | null
  commit: Commit | null
}

/**
 * What is on the disks of the servers that are linked to an application, as of the last deploy to each. A rollback returns to
 * what is live on all of them in vain; if they differ, or one is unknown, it may return to what some of them serve.
 */
export async function readReleases(deps: EmbedDeps, viewer: Viewer, id: number): Promise<ServerReleases[]> {
  const { rows } = await sql<{ server: Server; releases: DiskRow[] }>`
    with live_names as (
      select distinct coalesce(a.release_name, live.release_name) as name
      from application_servers link
      join live_releases live on live.application_id = link.application_id and live.server_id = link.server_id
      join actions a on a.id = live.action_id
      where link.application_id = ${id}
    ), some_unknown as (
      select from application_servers link
      join unknown_live_releases unknown using (application_id, server_id)
      where link.application_id = ${id}
    )
    select json_build_object('id', s.id, 'name', s.name) as server, coalesce((
      select json_agg(json_build_object('release_name', d.release_name, 'size_bytes', d.size_bytes,
        'live', live.release_name is not null, 'was_live', d.was_live, 'reverted', d.reverted,
        'can_roll_back', d.was_live and not ${wasReverted(sql`d.application_id`, sql`a.release_name`)}
          and (exists (select from live_names where name not in (d.release_name, a.release_name))
            or (exists (select from some_unknown) and a.id is not null)),
        'recorded_at', d.recorded_at, 'action_id', a.id, 'commit', a.commit) order by d.release_name desc)
      from releases_on_disk d
      left join live_releases live on live.application_id = d.application_id and live.server_id = d.server_id
        and live.release_name = d.release_name
      left join lateral (
        select action_id from targets t where t.release_name = d.release_name and t.server_id = d.server_id
        order by t.id limit 1
      ) as made on true
      left join actions a on a.id = made.action_id
      where d.application_id = link.application_id and d.server_id = s.id and d.on_disk), '[]') as releases
    from application_servers link join servers s on s.id = link.server_id
    where link.application_id = ${id}
    order by s.name, s.id`.execute(deps.db)
  const show = await presenter(
    deps,
    viewer,
    rows.flatMap(({ releases }) => releases),
  )
  return rows.map(({ server, releases }) => ({
    server: show.server(server),
    releases: releases.map(({ action_id, commit, recorded_at, ...release }) => ({
      ...release,
      commit: show.commit(commit?.hash ?? null, commit),
      action: show.action(action_id),
      recorded_at: isoFromPostgres(recorded_at),
    })),
  }))
}

/** What of it this caller may see. */
async function presenter(
  { db, tree, baseUrl }: EmbedDeps,
  { caller, scope, environmentId }: Viewer,
  rows: readonly { action_id: number | null }[],
) {
  const visibility = await visibilityOf(tree, caller)
  const seesServers = can(caller, 'server:view', scope)
  const seesActions = visibility.sees(environmentId)
  const ids = new Set(seesActions ? rows.flatMap(({ action_id }) => action_id ?? []) : [])
  const refs = await loadActionRefs({ db, baseUrl: baseUrl() }, visibility, [...ids])
  const byId = new Map<number | null, ActionRef>(refs.map((one) => [one.id, one]))
  return {
    server: (server: Server) => (seesServers ? server : null),
    /** It may name the address of the server. */
    reason: (reason: string | null) => (seesServers ? reason : null),
    action: (id: number | null) => byId.get(id) ?? null,
    commit: (hash: string | null, commit: Commit | null) => {
      const { message = null, url = null } = (seesActions && commit) || {}
      return hash === null ? null : { hash, message, url }
    },
  }
}
