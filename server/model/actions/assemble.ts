import type { ApplicationRecord, PipelineRecord, ServerData } from '#model/inventory/load-resources.ts'
import type { Environment } from '#model/inventory/schemas.ts'
import type { Tree } from '#model/inventory/tree.ts'
import type { Database } from '#platform/database/connect.ts'
import { RESOURCE_TYPES } from '#platform/vocabulary.ts'
import * as ended from './ended-actions.ts'
import { type ActionRow, presentAction, presentTarget } from './present.ts'
import { NOTHING_RELATED, type Related } from './related.ts'
import type { ActionListItem, ActionResource, ActionSummary, Application } from './schemas.ts'
import { isEnd } from './status.ts'
import type { Visibility } from './visibility.ts'
import type { LoadWhole, WholeAction } from './whole-actions.ts'

export type ReadActions = { db: Database; tree: Tree; baseUrl: string }

/**
 * The given rows and, as far as the caller may see them, their related actions, each with its targets. Ends
 * are final: an action that has ended is kept as it is shown.
 */
export async function loadSummaries(
  { loadWhole, baseUrl }: { loadWhole: LoadWhole; baseUrl: string },
  { tree, sees }: Visibility,
  rows: readonly ActionRow[],
  related: Iterable<Related>,
): Promise<Map<number, ActionSummary>> {
  const summaries = new Map<number, ActionSummary>()
  const wanted = new Set(rows.map((row) => row.id))
  for (const { latest, live, lastUse } of related) {
    for (const id of [latest, live, lastUse]) if (id !== null) wanted.add(id)
  }
  const missing = [...wanted].filter((id) => {
    const kept = ended.get(tree, id)
    if (kept && sees(kept.environmentId)) summaries.set(id, kept.summary)
    return kept === undefined
  })
  if (missing.length === 0) return summaries
  const loaded = await loadWhole(missing, new Map(rows.map((row) => [row.id, row])))
  const servers = await tree.servers(
    loaded.flatMap(({ targets }) => targets.map((target) => target.server_id)),
  )
  for (const action of loaded) {
    const { row } = action
    const summary = presentOnce(action, servers, baseUrl)
    if (isEnd(row.status)) ended.set(tree, row.id, { environmentId: row.environment_id, summary })
    if (sees(row.environment_id)) summaries.set(row.id, summary)
  }
  return summaries
}

const presented = new WeakMap<WholeAction, ActionSummary>()

/** Requests that shared a load also share what is made of it. */
function presentOnce(action: WholeAction, servers: Map<number, ServerData>, baseUrl: string): ActionSummary {
  const known = presented.get(action)
  if (known) return known
  const targets = action.targets.map((target) => presentTarget(target, servers.get(target.server_id)!))
  const summary = presentAction(action.row, targets, baseUrl)
  presented.set(action, summary)
  return summary
}

/** An action as lists show it, from parts that are loaded already. */
export function assembleItem(
  row: ActionRow,
  pipeline: PipelineRecord,
  environment: Environment,
  related: Related | undefined,
  summaries: Map<number, ActionSummary>,
): ActionListItem {
  const { project } = environment
  return {
    ...summaries.get(row.id)!,
    trigger_comment: row.trigger_comment,
    resource: assembleResource(pipeline, related ?? NOTHING_RELATED, summaries, project.organization),
    organization: project.organization,
    project,
    environment,
  }
}

function assembleResource(
  pipeline: PipelineRecord,
  related: Related,
  summaries: Map<number, ActionSummary>,
  organization: ActionListItem['organization'],
): ActionResource {
  const { resource_type: type, resource_id: id, application, server } = pipeline
  const common = { id, type, type_human_readable: RESOURCE_TYPES[type] }
  if (!application) return { ...common, data: server! }
  return { ...common, data: assembleApplication(application, related, summaries, organization) }
}

/** An application with what actions say about it, as far as that was loaded. */
export function assembleApplication(
  { data, credential }: ApplicationRecord,
  related: Related,
  summaries: Map<number, ActionSummary>,
  organization: ActionListItem['organization'],
): Application {
  const summary = (actionId: number | null) => summaries.get(actionId ?? 0) ?? null
  return {
    ...data,
    last_deployments: { latest: summary(related.latest), live: summary(related.live) },
    credential: credential && { ...credential.data, organization, last_action: summary(related.lastUse) },
  }
}
