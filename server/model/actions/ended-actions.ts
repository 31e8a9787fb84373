import type { TreeSnapshot } from '#model/inventory/tree.ts'
import type { ActionSummary } from './schemas.ts'

/** An action that has ended, as it is shown. It changes only when the tree does: a server may be renamed. */
export type EndedAction = { environmentId: number; summary: ActionSummary }

const MOST_KEPT = 2_000

export function get(tree: TreeSnapshot, id: number): EndedAction | undefined {
  return tree.kept.get(id) as EndedAction | undefined
}

export function set(tree: TreeSnapshot, id: number, action: EndedAction): void {
  if (tree.kept.size >= MOST_KEPT) {
    const [oldest] = tree.kept.keys()
    tree.kept.delete(oldest!)
  }
  tree.kept.set(id, action)
}
