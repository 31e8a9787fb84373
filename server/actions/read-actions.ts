import { sql } from 'kysely'
import type { Caller } from '#access/caller.ts'
import { can } from '#access/permissions.ts'
import type { Database } from '#database/connect.ts'
import type { Extent, Page } from '#http/pagination.ts'
import { anyOf } from '#inventory/load-environments.ts'
import type { PipelineRecord } from '#inventory/load-resources.ts'
import { environmentsWhere } from '#inventory/places.ts'
import type { Tree, TreeSnapshot } from '#inventory/tree.ts'
import { RESOURCE_TYPES, STATUSES } from '../vocabulary.ts'
import type { ActionFilters } from './filters.ts'
import { findPage } from './find-page.ts'
import { type ActionRow, permalink, presentAction, presentTarget, presentType } from './present.ts'
import { loadRelatedIds, type RelatedIds } from './related.ts'
import type {
  Action,
  ActionListItem,
  ActionRef,
  ActionResource,
  ActionSummary,
  HookRequest,
} from './schemas.ts'
import { withUsedCredits } from './used-credits.ts'

export type ReadActions = { db: Database; tree: Tree; baseUrl: string }

/** The actions that belong to a user: those in every environment where they may view actions. */
export async function listActions(
  deps: ReadActions,
  caller: Caller,
  filters: ActionFilters,
  page: Page,
): Promise<{ items: ActionListItem[]; extent: Extent }> {
  const tree = deps.tree.at(caller.tree_version)
  const visible = environmentsWhere(caller, 'action:view', await tree.places()).filter(
    (place) =>
      (filters.organization_id?.includes(place.organization_id) ?? true) &&
      (filters.project_id?.includes(place.project_id) ?? true) &&
      (filters.environment_id?.includes(place.environment_id) ?? true),
  )
  const environmentIds = visible.map((place) => place.environment_id)
  const { rows, extent } = await findPage(deps.db, environmentIds, filters, page)
  return { items: await presentRows(deps, tree, rows), extent }
}

/** Undefined when there is no such action, or none that the caller may see. */
export async function readAction(deps: ReadActions, caller: Caller, id: number): Promise<Action | undefined> {
  const tree = deps.tree.at(caller.tree_version)
  const row = await deps.db.selectFrom('actions').selectAll().where('id', '=', id).executeTakeFirst()
  if (!row) return undefined
  const place = (await tree.places()).find((one) => one.environment_id === row.environment_id)
  if (!place || !can(caller, 'action:view', place)) return undefined

  const [items, relatives, hook_requests, users] = await Promise.all([
    presentRows(deps, tree, [row]),
    loadRelatives(deps, tree, row),
    loadHookRequests(deps.db, row),
    tree.users(row.triggered_by === null ? [] : [row.triggered_by]),
  ])
  return {
    ...items[0]!,
    pipeline_id: row.pipeline_id,
    retry_of: row.retry_of,
    parent: relatives.find((one) => one.id === row.parent_id) ?? null,
    children: relatives.filter((one) => one.id !== row.parent_id),
    triggered_by_user: users.get(row.triggered_by ?? 0) ?? null,
    hook_requests,
  }
}

/** Everything around the rows is loaded once for all of them: the number of statements does not grow with the page. */
async function presentRows(
  deps: ReadActions,
  tree: TreeSnapshot,
  rows: ActionRow[],
): Promise<ActionListItem[]> {
  if (rows.length === 0) return []
  const [environments, pipelines] = await Promise.all([
    withUsedCredits(
      deps.db,
      tree,
      rows.map((row) => row.environment_id),
    ),
    tree.pipelines(rows.map((row) => row.pipeline_id)),
  ])
  const own = rows.map((row) => pipelines.get(row.pipeline_id)!)
  const related = await loadRelatedIds(deps.db, own)
  const summaries = await loadSummaries(deps, tree, rows, related.all)
  return rows.map((row) => {
    const environment = environments.get(row.environment_id)!
    const { project } = environment
    const resource = presentResource(
      pipelines.get(row.pipeline_id)!,
      related,
      summaries,
      project.organization,
    )
    return {
      ...summaries.get(row.id)!,
      trigger_comment: row.trigger_comment,
      resource,
      organization: project.organization,
      project,
      environment,
    }
  })
}

/** The given rows and the actions with the given ids, each with its targets. */
async function loadSummaries(
  { db, baseUrl }: ReadActions,
  tree: TreeSnapshot,
  rows: ActionRow[],
  moreIds: number[],
): Promise<Map<number, ActionSummary>> {
  const known = new Set(rows.map((row) => row.id))
  const missing = moreIds.filter((id) => !known.has(id))
  const [more, targets] = await Promise.all([
    db.selectFrom('actions').selectAll().where(anyOf('actions.id', missing)).execute(),
    db
      .selectFrom('targets')
      .selectAll()
      .where(anyOf('targets.action_id', [...known, ...missing]))
      .orderBy('action_id')
      .orderBy('position')
      .execute(),
  ])
  const servers = await tree.servers(targets.map((target) => target.server_id))
  const byAction = Map.groupBy(targets, (target) => target.action_id)
  return new Map(
    [...rows, ...more].map((row) => {
      const own = (byAction.get(row.id) ?? []).map((target) =>
        presentTarget(target, servers.get(target.server_id)!),
      )
      return [row.id, presentAction(row, own, baseUrl)]
    }),
  )
}

function presentResource(
  pipeline: PipelineRecord,
  related: RelatedIds,
  summaries: Map<number, ActionSummary>,
  organization: ActionListItem['organization'],
): ActionResource {
  const { resource_type: type, resource_id: id, application, server } = pipeline
  const common = { id, type, type_human_readable: RESOURCE_TYPES[type] }
  if (!application) return { ...common, data: server! }
  const summary = (actionId: number | null | undefined) => summaries.get(actionId ?? 0) ?? null
  const { credential } = application
  return {
    ...common,
    data: {
      ...application.data,
      last_deployments: {
        latest: summary(related.latestOf.get(application.id)),
        live: summary(application.live_action_id),
      },
      credential: credential && {
        ...credential.data,
        organization,
        last_action: summary(related.lastUseOf.get(credential.id)),
      },
    },
  }
}

async function loadRelatives(
  { db, baseUrl }: ReadActions,
  tree: TreeSnapshot,
  row: ActionRow,
): Promise<ActionRef[]> {
  const relatives = await db
    .selectFrom('actions')
    .select(['id', 'status', 'type', 'pipeline_id'])
    .where((eb) => eb.or([eb('parent_id', '=', row.id), eb('id', '=', row.parent_id ?? 0)]))
    .orderBy('id')
    .execute()
  const pipelines = await tree.pipelines(relatives.map((one) => one.pipeline_id))
  return relatives.map((one) => {
    const pipeline = pipelines.get(one.pipeline_id)!
    return {
      id: one.id,
      status: one.status,
      status_human_readable: STATUSES[one.status],
      ...presentType(one.type),
      resource_name: (pipeline.application?.data.name ?? pipeline.server?.name)!,
      resource_type: pipeline.resource_type,
      resource_type_human_readable: RESOURCE_TYPES[pipeline.resource_type],
      url_web_permalink: permalink(baseUrl, one.id),
    }
  })
}

/** The call that started an action, and the newest delivery about it. */
async function loadHookRequests(db: Database, row: ActionRow): Promise<Action['hook_requests']> {
  const rows = await db
    .selectFrom('hook_requests')
    .select([
      'id',
      'hook_id',
      'action_id',
      'retry_of',
      'ip_address',
      'url',
      'response_status_code',
      'created_at',
      'updated_at',
    ])
    .where((eb) =>
      eb.or([
        eb('id', '=', row.hook_request_id),
        eb(
          'id',
          '=',
          sql<string>`(select d.id from hook_requests d where d.action_id = ${row.id} and d.type = 'outgoing'
            order by d.created_at desc, d.id desc limit 1)`,
        ),
      ]),
    )
    .execute()
  const incoming: HookRequest | undefined = rows.find((one) => one.id === row.hook_request_id)
  const outgoing = rows.find((one) => one.id !== row.hook_request_id)
  return { incoming: incoming ?? null, outgoing: outgoing ?? null }
}
