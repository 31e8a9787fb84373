import { LRUCache } from 'lru-cache'
import type { ApplicationRecord, PipelineRecord } from '#model/inventory/load-resources.ts'
import type { Environment, Organization } from '#model/inventory/schemas.ts'
import type { TreeSnapshot } from '#model/inventory/tree.ts'
import { anyOf, byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import { shareLoads } from '#platform/database/share-loads.ts'
import { RESOURCE_TYPES } from '#platform/vocabulary.ts'
import { type ActionRow, presentAction, presentTarget, type TargetRow } from './present.ts'
import { NOTHING_RELATED, type Related } from './related.ts'
import type { ActionListItem, ActionResource, Application } from './schemas.ts'
import { isEnd } from './status.ts'
import type { ActionSummary } from './summary-schemas.ts'
import type { Visibility } from './visibility.ts'

/** An action with its targets, by position. */
type FullAction = { row: ActionRow; targets: TargetRow[] }

/** Leaves out actions that do not exist. */
type LoadFullActions = (ids: readonly number[]) => Promise<FullAction[]>

/** Two statements for any number of actions. Rows that are known are not read again. */
export async function loadFullActions(
  db: Database,
  ids: readonly number[],
  known: ReadonlyMap<number, ActionRow> = new Map(),
): Promise<FullAction[]> {
  const missing = ids.filter((id) => !known.has(id))
  const [rows, targets] = await Promise.all([
    missing.length === 0
      ? []
      : db.selectFrom('actions').selectAll().where(anyOf('actions.id', missing)).execute(),
    findTargets(db, ids),
  ])
  const found = byId(rows)
  const targetsOf = Map.groupBy(targets, (target) => target.action_id)
  // The statements see two moments: the action may have ended, with its targets, after these were read.
  const endedBetween = rows.filter(
    ({ id, status }) => isEnd(status) && targetsOf.get(id)?.some((target) => !isEnd(target.status)),
  )
  if (endedBetween.length > 0) {
    const again = await findTargets(db, [...byId(endedBetween).keys()])
    for (const [id, newer] of Map.groupBy(again, (target) => target.action_id)) targetsOf.set(id, newer)
  }
  return ids.flatMap((id) => {
    const row = known.get(id) ?? found.get(id)
    return row ? [{ row, targets: targetsOf.get(id) ?? [] }] : []
  })
}

function findTargets(db: Database, actionIds: readonly number[]): Promise<TargetRow[]> {
  return db
    .selectFrom('targets')
    .selectAll()
    .where(anyOf('targets.action_id', actionIds))
    .orderBy('action_id')
    .orderBy('position')
    .execute()
}

/** The same for reads of single actions: concurrent reads share their statements. */
export function shareFullActionLoads(db: Database): LoadFullActions {
  const find = shareLoads(async (keys) => {
    const actions = await loadFullActions(db, keys.map(Number))
    return new Map(actions.map((action) => [String(action.row.id), action]))
  })
  return async (ids) => {
    const found = await Promise.all(ids.map((id) => find(String(id))))
    return found.filter((one) => one !== undefined)
  }
}

type SummaryDeps = { db: Database; baseUrl: string; loadFull?: LoadFullActions }

/** The given actions and their related ones, each with its targets, as far as the caller may see them. */
export async function loadSummaries(
  { db, baseUrl, loadFull = (ids) => loadFullActions(db, ids) }: SummaryDeps,
  { tree, sees }: Visibility,
  rows: readonly { id: number }[],
  related: Iterable<Related>,
): Promise<Map<number, ActionSummary>> {
  const ids = new Set(rows.map((row) => row.id))
  for (const { latest, live, lastUse } of related)
    for (const id of [latest, live, lastUse]) if (id !== null) ids.add(id)
  const ended = endedActionsOf(tree)
  const known = [...ids].flatMap((id) => ended.get(id) ?? [])
  const missing = ids.difference(new Set(known.map(({ summary }) => summary.id)))
  const actions = missing.size === 0 ? [] : await loadFull([...missing])
  const servers = await tree.servers(
    actions.flatMap(({ targets }) => targets.map((target) => target.server_id)),
  )
  const loaded = actions.map(({ row, targets }): LoadedSummary => {
    const presented = targets.map((target) => presentTarget(target, servers.get(target.server_id)!))
    return { environmentId: row.environment_id, summary: presentAction(row, presented, baseUrl) }
  })
  for (const one of loaded) if (isEnd(one.summary.status)) ended.set(one.summary.id, one)
  const visible = [...known, ...loaded].filter(({ environmentId }) => sees(environmentId))
  return new Map(visible.map(({ summary }) => [summary.id, summary]))
}

type LoadedSummary = { environmentId: number; summary: ActionSummary }

const endedActions = new WeakMap<TreeSnapshot, LRUCache<number, LoadedSummary>>()

/** Ends are final: how an ended action is shown changes only with the tree, for example when a server is renamed. */
function endedActionsOf(tree: TreeSnapshot): LRUCache<number, LoadedSummary> {
  return endedActions.getOrInsertComputed(tree, () => new LRUCache({ max: 2_000 }))
}

/** An action as lists show it, from parts that are already loaded. */
export function assembleItem(
  row: Pick<ActionRow, 'id' | 'trigger_comment'>,
  pipeline: PipelineRecord,
  environment: Environment,
  related: Related | undefined,
  summaries: Map<number, ActionSummary>,
): ActionListItem {
  const { project } = environment
  return {
    ...summaries.get(row.id)!,
    trigger_comment: row.trigger_comment,
    resource: assembleResource(pipeline, related, summaries, project.organization),
    organization: project.organization,
    project,
    environment,
  }
}

function assembleResource(
  { resource_type: type, resource_id: id, application, server }: PipelineRecord,
  related: Related | undefined,
  summaries: Map<number, ActionSummary>,
  organization: Organization,
): ActionResource {
  const data = application ? assembleApplication(application, related, summaries, organization) : server!
  return { id, type, type_human_readable: RESOURCE_TYPES[type], data }
}

/** An application with its related actions, as far as those were loaded. */
export function assembleApplication(
  { data, credential }: ApplicationRecord,
  related: Related | undefined,
  summaries: Map<number, ActionSummary>,
  organization: Organization,
): Application {
  const { latest, live, lastUse } = related ?? NOTHING_RELATED
  const summary = (actionId: number | null) => summaries.get(actionId ?? 0) ?? null
  return {
    ...data,
    last_deployments: { latest: summary(latest), live: summary(live) },
    credential: credential && { ...credential.data, organization, last_action: summary(lastUse) },
  }
}
