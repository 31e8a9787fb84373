import { loadUsers } from '#access/accounts/load-users.ts'
import type { Database } from '#platform/database/connect.ts'
import { type EnvironmentScope, loadEnvironmentScopes } from './environment-scopes.ts'
import { loadPipelines, loadServers } from './load-resources.ts'
import { loadEnvironments } from './load-scopes.ts'

/**
 * The tree at one version (see the table tree_version), loaded on demand and cached in memory. Responses show the
 * same few organizations, projects and applications again and again; what they show is never older than the version
 * that the request itself read.
 */
export type TreeSnapshot = ReturnType<typeof createSnapshot>

export type Tree = { at(version: number): TreeSnapshot }

export function createTree(db: Database): Tree {
  let current: { version: number; snapshot: TreeSnapshot } | undefined
  return {
    at(version) {
      // A request that read an older version than the newest one gets a separate snapshot: what it loads now must
      // not be taken for the state of a version that it does not know.
      if (current && version < current.version) return createSnapshot(db)
      if (current?.version !== version) current = { version, snapshot: createSnapshot(db) }
      return current.snapshot
    },
  }
}

function createSnapshot(db: Database) {
  let scopes: Promise<EnvironmentScope[]> | undefined
  return {
    scopes() {
      scopes ??= loadEnvironmentScopes(db).catch((error) => {
        scopes = undefined
        throw error
      })
      return scopes
    },
    environments: cached((ids) => loadEnvironments(db, ids)),
    pipelines: cached((ids) => loadPipelines(db, ids)),
    servers: cached((ids) => loadServers(db, ids)),
    users: cached((ids) => loadUsers(db, ids)),
  }
}

/** More than an installation shows at a time; a bound for hostile or huge ones. */
const MAX_CACHED = 20_000

/** Loads the ids that are not cached yet, together. The result may contain more than was requested. */
function cached<Row extends { id: number }>(load: (ids: number[]) => Promise<Row[]>) {
  let cache = new Map<number, Row>()
  return async (ids: readonly number[]): Promise<ReadonlyMap<number, Row>> => {
    const wanted = [...new Set(ids)]
    let missing = wanted.filter((id) => !cache.has(id))
    if (missing.length === 0) return cache
    if (cache.size + missing.length > MAX_CACHED) {
      cache = new Map()
      missing = wanted
    }
    const current = cache
    for (const row of await load(missing)) current.set(row.id, row)
    return current
  }
}
