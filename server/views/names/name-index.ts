import type { Caller } from '#access/authorization/caller.ts'
import type { Tree, TreeSnapshot } from '#model/inventory/tree.ts'
import type { Database } from '#platform/database/connect.ts'
import { buildIndex, type IndexedName } from './indexed-names.ts'
import { loadNames } from './load-names.ts'

/** Names that are kept in memory at most, unless one request needs more. */
const MAX_CACHED = 100_000

type Cache = { lists: Map<number, Promise<readonly IndexedName[]>>; size: number }

/** Every name in the organizations in which the caller has a role, whether the caller may see it or not. */
export type NameIndex = (caller: Caller) => Promise<readonly IndexedName[]>

/** Loads each organization once for each version of the tree. */
export function createNameIndex({ db, tree }: { db: Database; tree: Tree }): NameIndex {
  const caches = new WeakMap<TreeSnapshot, Cache>()

  function cacheOf(snapshot: TreeSnapshot): Cache {
    let cache = caches.get(snapshot)
    if (!cache || cache.size > MAX_CACHED) {
      cache = { lists: new Map(), size: 0 }
      caches.set(snapshot, cache)
    }
    return cache
  }

  async function load(cache: Cache, ids: readonly number[]): Promise<Map<number, IndexedName[]>> {
    try {
      const rows = await loadNames(db, ids)
      cache.size += rows.length
      return buildIndex(rows)
    } catch (error) {
      for (const id of ids) cache.lists.delete(id)
      throw error
    }
  }

  return async (caller) => {
    const cache = cacheOf(tree.at(caller.tree_version))
    const ids = [...new Set(caller.grants.map((grant) => grant.organization_id))]
    const missing = ids.filter((id) => !cache.lists.has(id))
    const loaded = missing.length > 0 ? load(cache, missing) : undefined
    for (const id of missing)
      cache.lists.set(
        id,
        loaded!.then((lists) => lists.get(id) ?? []),
      )
    const lists = await Promise.all(ids.map((id) => cache.lists.get(id)!))
    return lists.length === 1 ? lists[0]! : lists.flat()
  }
}
