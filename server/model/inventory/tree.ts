import { loadUsers } from '#access/accounts/load-users.ts'
import type { User } from '#access/accounts/user-schema.ts'
import type { Database } from '#platform/database/connect.ts'
import { type EnvironmentScope, loadEnvironmentScopes } from './environment-scopes.ts'
import { loadEnvironments } from './load-environments.ts'
import { loadPipelines, loadServers, type PipelineRecord, type ServerData } from './load-resources.ts'
import type { Environment } from './schemas.ts'

/**
 * The tree as it was at one version of it (see the table tree_version), loaded as it is asked for and
 * kept in memory. Lists and reads show the same few organizations, projects and applications again and
 * again; what they show of them is never older than the version that the request itself read.
 */
export type TreeSnapshot = {
  places(): Promise<EnvironmentScope[]>
  environments(ids: readonly number[]): Promise<Map<number, Environment>>
  pipelines(ids: readonly number[]): Promise<Map<number, PipelineRecord>>
  servers(ids: readonly number[]): Promise<Map<number, ServerData>>
  users(ids: readonly number[]): Promise<Map<number, User>>
  /** For whoever shows things of the tree: what they made of it, good for as long as the tree stands still. */
  kept: Map<number, object>
}

export type Tree = { at(version: number): TreeSnapshot }

export function createTree(db: Database): Tree {
  let current: { version: number; snapshot: TreeSnapshot } | undefined
  return {
    at(version) {
      // A request that read its version before the newest one arrived gets a snapshot of its own: what
      // it loads now must not be taken for the state of a version that it does not know.
      if (current && version < current.version) return createSnapshot(db)
      if (current?.version !== version) current = { version, snapshot: createSnapshot(db) }
      return current.snapshot
    },
  }
}

function createSnapshot(db: Database): TreeSnapshot {
  let places: Promise<EnvironmentScope[]> | undefined
  return {
    places() {
      places ??= loadEnvironmentScopes(db).catch((error) => {
        places = undefined
        throw error
      })
      return places
    },
    environments: keep((ids) => loadEnvironments(db, ids)),
    pipelines: keep((ids) => loadPipelines(db, ids)),
    servers: keep((ids) => loadServers(db, ids)),
    users: keep((ids) => loadUsers(db, ids)),
    kept: new Map(),
  }
}

/** More than any one installation shows at a time; a bound for hostile or huge ones. */
const MOST_KEPT = 20_000

/** Loads the ids that are not there yet, in one go. */
function keep<Row extends { id: number }>(load: (ids: number[]) => Promise<Row[]>) {
  let kept = new Map<number, Row>()
  return async (ids: readonly number[]): Promise<Map<number, Row>> => {
    const wanted = [...new Set(ids)]
    let missing = wanted.filter((id) => !kept.has(id))
    if (missing.length === 0) return kept
    if (kept.size + missing.length > MOST_KEPT) {
      kept = new Map()
      missing = wanted
    }
    const here = kept
    for (const row of await load(missing)) here.set(row.id, row)
    return here
  }
}
