import type { Caller } from '#access/authorization/caller.ts'
import { type EnvironmentScope, environmentsWhere } from '#model/inventory/environment-scopes.ts'
import type { Tree, TreeSnapshot } from '#model/inventory/tree.ts'

/** What a caller may see, and in which version of the tree. It also applies to actions embedded in other actions. */
export type Visibility = {
  tree: TreeSnapshot
  /** Every environment, visible or not. */
  scopes: readonly EnvironmentScope[]
  /** Those in which the caller may view actions. */
  visible: readonly EnvironmentScope[]
  sees(environmentId: number): boolean
}

/** Computed once per caller: requests that shared the lookup of their caller share this too. */
const known = new WeakMap<Caller, Promise<Visibility>>()

export function visibilityOf(tree: Tree, caller: Caller): Promise<Visibility> {
  return known.getOrInsertComputed(caller, () => {
    const visibility = loadVisibility(tree, caller)
    visibility.catch(() => known.delete(caller))
    return visibility
  })
}

async function loadVisibility(tree: Tree, caller: Caller): Promise<Visibility> {
  const snapshot = tree.at(caller.tree_version)
  const scopes = await snapshot.scopes()
  const visible = environmentsWhere(caller, 'action:view', scopes)
  const ids = new Set(visible.map((scope) => scope.environment_id))
  return { tree: snapshot, scopes, visible, sees: (environmentId) => ids.has(environmentId) }
}
