import type { Caller } from '#access/authorization/caller.ts'
import { type EnvironmentScope, environmentsWhere } from '#model/inventory/environment-scopes.ts'
import type { Tree, TreeSnapshot } from '#model/inventory/tree.ts'

/** What a caller may see, and of which state of the tree. It holds for actions inside other actions as well. */
export type Visibility = {
  tree: TreeSnapshot
  /** Every environment, seen or not. */
  scopes: readonly EnvironmentScope[]
  /** Those in which the caller may view actions. */
  visible: readonly EnvironmentScope[]
  sees(environmentId: number): boolean
  /** The same for everyone who sees the same of the same tree. */
  signature: string
}

/** Worked out once per caller: requests that shared the look-up of their caller share this too. */
const known = new WeakMap<Caller, Promise<Visibility>>()

export function visibilityOf(tree: Tree, caller: Caller): Promise<Visibility> {
  let visibility = known.get(caller)
  if (!visibility) {
    visibility = loadVisibility(tree, caller)
    visibility.catch(() => known.delete(caller))
    known.set(caller, visibility)
  }
  return visibility
}

async function loadVisibility(tree: Tree, caller: Caller): Promise<Visibility> {
  const snapshot = tree.at(caller.tree_version)
  const places = await snapshot.places()
  const visible = environmentsWhere(caller, 'action:view', places)
  const ids = new Set(visible.map((place) => place.environment_id))
  const signature = `${caller.tree_version} ${[...ids].join()}`
  return {
    tree: snapshot,
    scopes: places,
    visible,
    sees: (environmentId) => ids.has(environmentId),
    signature,
  }
}
