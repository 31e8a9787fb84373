import { anyOf } from '#database/any-of.ts'
import type { Database } from '#database/connect.ts'
import type { PipelineRecord } from '#inventory/load-resources.ts'
import type { Environment } from '#inventory/schemas.ts'
import type { Tree } from '#inventory/tree.ts'
import { RESOURCE_TYPES } from '../vocabulary.ts'
import { type ActionRow, presentAction, presentTarget } from './present.ts'
import { NOTHING_RELATED, type Related } from './related.ts'
import type { ActionListItem, ActionResource, ActionSummary } from './schemas.ts'
import type { Sight } from './sight.ts'

export type ReadActions = { db: Database; tree: Tree; baseUrl: string }

/** The given rows and, as far as the caller may see them, their related actions, each with its targets: two statements for any number. */
export async function loadSummaries(
  { db, baseUrl }: Pick<ReadActions, 'db' | 'baseUrl'>,
  { tree, sees }: Sight,
  rows: readonly ActionRow[],
  related: Iterable<Related>,
): Promise<Map<number, ActionSummary>> {
  const known = new Set(rows.map((row) => row.id))
  const missing = new Set<number>()
  for (const { latest, live, lastUse } of related) {
    for (const id of [latest, live, lastUse]) if (id !== null && !known.has(id)) missing.add(id)
  }
  const [more, targets] = await Promise.all([
    missing.size === 0
      ? []
      : db
          .selectFrom('actions')
          .selectAll()
          .where(anyOf('actions.id', [...missing]))
          .execute(),
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
    [...rows, ...more.filter((row) => sees(row.environment_id))].map((row) => {
      const own = (byAction.get(row.id) ?? []).map((target) =>
        presentTarget(target, servers.get(target.server_id)!),
      )
      return [row.id, presentAction(row, own, baseUrl)]
    }),
  )
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
  const summary = (actionId: number | null) => summaries.get(actionId ?? 0) ?? null
  const { credential } = application
  return {
    ...common,
    data: {
      ...application.data,
      last_deployments: { latest: summary(related.latest), live: summary(related.live) },
      credential: credential && { ...credential.data, organization, last_action: summary(related.lastUse) },
    },
  }
}
