import { presentAction, presentStatus } from '#model/actions/present.ts'
import type { ReadAction } from '#model/actions/read-action.ts'
import type { Action } from '#model/actions/schemas.ts'
import { isEnd } from '#model/actions/status.ts'
import type { Visibility } from '#model/actions/visibility.ts'
import { eventKinds, matchingKind } from '#model/events/event-kinds.ts'
import type { Tree } from '#model/inventory/tree.ts'
import type { Database } from '#platform/database/connect.ts'
import { readChangesContext } from './changes-context.ts'
import type { ClaimedDelivery } from './claim-deliveries.ts'
import type { OutgoingHook } from './outgoing-hooks.ts'

export type ContextDeps = { db: Database; tree: Tree; baseUrl: () => string; readAction: ReadAction }

/** What templates can reference, as docs/guides/receivers.md lists it. */
type DeliveryContext = Record<
  | 'event'
  | 'action'
  | 'changes'
  | 'credential'
  | 'application'
  | 'pipeline'
  | 'environment'
  | 'project'
  | 'organization',
  object | null
>

/** The subject of a delivery: an event of an action, before it belongs to any hook. */
export type Subject = Pick<ClaimedDelivery, 'action' | 'treeVersion'> & {
  event: Omit<ClaimedDelivery['event'], 'id'> & {
    id: number | null
    /** Set when it is none of those that hooks subscribe to. */
    kind?: typeof TEST_KIND
  }
  /** An action that was made up is not stored. */
  sample?: Action
}

/** The kind of the event of a request that a user asked for. */
export const TEST_KIND = 'test'

/** The kind of event that the hook reports. */
export function kindOf({ events }: Pick<OutgoingHook, 'events'>, event: Subject['event']): string {
  const kind = event.kind ?? matchingKind(eventKinds(event.previous_status, event.status), events)
  return kind ?? 'action.status_changed'
}

/**
 * The action's own status is that of the event, however late it is delivered; everything below it (targets, resource)
 * is current. Nothing outside of the hook's environment is included.
 */
export async function buildContext(
  deps: ContextDeps,
  hook: OutgoingHook,
  { event, action, treeVersion, sample }: Subject,
  accessToken: string | null,
): Promise<DeliveryContext> {
  const tree = deps.tree.at(treeVersion)
  const [environments, pipelines] = await Promise.all([
    tree.environments([action.environment_id]),
    tree.pipelines([action.pipeline_id]),
  ])
  const environment = environments.get(action.environment_id)!
  const pipeline = pipelines.get(action.pipeline_id)!
  const { application } = pipeline
  const { project } = environment
  return {
    event: {
      id: event.id,
      kind: kindOf(hook, event),
      occurred_at: event.occurred_at,
      previous_status: event.previous_status,
    },
    action: { ...(await currentAction()), ...stateOf(event, action) },
    changes: hook.readsChanges ? await readChangesContext(deps.db, action.id) : null,
    // A request sends the token of one credential: templates that name both mean the same one.
    credential: { access_token: accessToken },
    application: application && {
      ...application.data,
      source_provider: {
        name: application.credential?.data.provider.code ?? null,
        access_token: accessToken,
      },
    },
    pipeline: { id: pipeline.id, name: pipeline.name, operation: pipeline.operation },
    environment,
    project,
    organization: project.organization,
  }

  async function currentAction(): Promise<object> {
    if (sample) return sample
    const { trigger_comment, pipeline_id, retry_of } = action
    if (!hook.readsFullAction)
      return { ...presentAction(action, [], deps.baseUrl()), trigger_comment, pipeline_id, retry_of }
    const sees = (environmentId: number) => environmentId === action.environment_id
    const scopes = await tree.scopes()
    const visible = scopes.filter((scope) => sees(scope.environment_id))
    const visibility: Visibility = { tree, scopes, visible, sees }
    return (await deps.readAction(visibility, action.id))!
  }
}

function stateOf(event: Subject['event'], action: Subject['action']): object {
  const hasStarted = event.status === 'in-progress' || isEnd(event.status)
  return {
    ...presentStatus(event.status, event.status_reason_code),
    started_at: hasStarted ? action.started_at : null,
    completed_at: isEnd(event.status) ? action.completed_at : null,
    updated_at: event.occurred_at,
  }
}
