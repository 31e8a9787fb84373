import type { Caller } from '#access/authorization/caller.ts'
import type { ReadActions } from '#model/actions/assemble.ts'
import { createActionFinder } from '#model/actions/find-action.ts'
import { readAction } from '#model/actions/read-action.ts'
import type { Action, ActionSummary } from '#model/actions/schemas.ts'
import { visibilityOf } from '#model/actions/visibility.ts'
import { shareWholeLoads } from '#model/actions/whole-actions.ts'

/** Reads a run for the user who has just started or cancelled it. */
export function createRunReader(deps: Omit<ReadActions, 'baseUrl'> & { baseUrl: () => string }) {
  const { db, tree } = deps
  const findAction = createActionFinder(db)
  const loadWhole = shareWholeLoads(db)
  return async (caller: Caller, environmentId: number, actionId: number): Promise<Action> => {
    const visibility = await visibilityOf(tree, caller)
    const sees = (id: number) => id === environmentId || visibility.sees(id)
    const read = { db, tree, findAction, loadWhole, baseUrl: deps.baseUrl() }
    const action = await readAction(read, { ...visibility, sees }, actionId)
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
