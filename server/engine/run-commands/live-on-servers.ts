import { sql } from 'kysely'
import { knownBaseline, readBaselines } from '#model/actions/changes.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Commit } from '#platform/database/tables.ts'

type Server = { id: number; name: string }

/** What the servers of a run serve. Those where nothing is live are in neither list. */
export type LiveOnServers = Awaited<ReturnType<typeof readLiveOn>>

/** A release that is live on servers of a run. */
export type LiveRelease = LiveOnServers['releases'][number]

/** Redeploys and rollbacks learn what is live only here. */
export async function readLiveOn(db: Database, applicationId: number, servers: readonly Server[]) {
  const ids = servers.map(({ id }) => id)
  const baselines = await readBaselines(db, applicationId, ids)
  const known = servers.flatMap((server) => {
    const baseline = knownBaseline(baselines.get(server.id) ?? null)
    return baseline ? [{ server, baseline }] : []
  })
  const { rows } = await sql<{ id: number; releaseName: string | null; commit: Commit | null }>`
    select id, release_name as "releaseName", commit from actions
    where id = any(${known.map(({ baseline }) => baseline.actionId)}::bigint[])`.execute(db)
  const actions = new Map(rows.map((row) => [row.id, row]))
  const live = known.map(({ server, baseline }) => {
    const { id: actionId, releaseName, commit } = actions.get(baseline.actionId)!
    return { server, actionId, commit, releaseName: releaseName ?? baseline.releaseName }
  })
  const releases = [...Map.groupBy(live, ({ releaseName }) => releaseName)].map(([releaseName, ones]) => ({
    /** That of the action: a server knows the release by another name if it had to be built again there. */
    releaseName,
    commit: ones[0]!.commit,
    /** The actions that made it live, newest first: several if a rollback brought it to some of the servers. */
    actionIds: [...new Set(ones.map(({ actionId }) => actionId))].sort((a, b) => b - a),
    servers: ones.map(({ server }) => server),
  }))
  const isKnown = new Set(known.map(({ server }) => server))
  return {
    /** Newest first. */
    releases: releases.sort((one, other) => other.actionIds[0]! - one.actionIds[0]!),
    /** Servers where it is not known what is live. */
    unknown: servers.filter((server) => baselines.has(server.id) && !isKnown.has(server)),
  }
}
