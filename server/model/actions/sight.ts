import type { Caller } from '#access/authorization/caller.ts'
import { type EnvironmentPlace, environmentsWhere } from '#model/inventory/places.ts'
import type { Tree, TreeSnapshot } from '#model/inventory/tree.ts'

/** What a caller may see, and of which state of the tree. It holds for actions inside other actions as well. */
export type Sight = {
  tree: TreeSnapshot
  /** Every environment, seen or not. */
  places: readonly EnvironmentPlace[]
  /** Those in which the caller may view actions. */
  visible: readonly EnvironmentPlace[]
  sees(environmentId: number): boolean
  /** The same for everyone who sees the same of the same tree. */
  signature: string
}

/** Worked out once per caller: requests that shared the look-up of their caller share this too. */
const known = new WeakMap<Caller, Promise<Sight>>()

export function sightOf(tree: Tree, caller: Caller): Promise<Sight> {
  let sight = known.get(caller)
  if (!sight) {
    sight = lookAround(tree, caller)
    sight.catch(() => known.delete(caller))
    known.set(caller, sight)
  }
  return sight
}

async function lookAround(tree: Tree, caller: Caller): Promise<Sight> {
  const snapshot = tree.at(caller.tree_version)
  const places = await snapshot.places()
  const visible = environmentsWhere(caller, 'action:view', places)
  const ids = new Set(visible.map((place) => place.environment_id))
  const signature = `${caller.tree_version} ${[...ids].join()}`
  return { tree: snapshot, places, visible, sees: (environmentId) => ids.has(environmentId), signature }
}
