import type { Caller } from '#access/authorization/caller.ts'
import { createActionReader } from '#model/actions/read-action.ts'
import type { Action, ActionSummary } from '#model/actions/schemas.ts'
import { visibilityOf } from '#model/actions/visibility.ts'
import type { Tree } from '#model/inventory/tree.ts'
import type { Database } from '#platform/database/connect.ts'

/** Reads a run for the user who has just started or cancelled it. */
export function createRunReader(deps: { db: Database; tree: Tree; baseUrl: () => string }) {
  const readAction = createActionReader(deps)
  return async (caller: Caller, environmentId: number, actionId: number): Promise<Action> => {
    const visibility = await visibilityOf(deps.tree, caller)
    const sees = (id: number) => id === environmentId || visibility.sees(id)
    const action = await readAction({ ...visibility, sees }, actionId)
    if (!action) throw new Error(`action ${actionId} does not exist`)
    return visibility.sees(environmentId) ? action : withoutOtherRuns(action)
  }
}

/** For a user who may run but not view: nothing of other runs. */
function withoutOtherRuns(action: Action): Action {
  const { data } = action.resource
  if (!('last_deployments' in data)) return action
  const own = (one: ActionSummary | null) => (one?.id === action.id ? one : null)
  const { last_deployments, credential } = data
  return {
    ...action,
    resource: {
      ...action.resource,
      data: {
        ...data,
        last_deployments: { latest: own(last_deployments.latest), live: own(last_deployments.live) },
        credential: credential && { ...credential, last_action: own(credential.last_action) },
      },
    },
  }
}
