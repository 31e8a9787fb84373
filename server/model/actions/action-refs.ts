import { anyOf } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import { STATUSES } from '#platform/vocabulary.ts'
import { permalink, presentResource, presentType } from './present.ts'
import type { ActionRef } from './schemas.ts'
import type { Visibility } from './visibility.ts'

/** Those that are visible, oldest first. */
export async function loadActionRefs(
  { db, baseUrl }: { db: Database; baseUrl: string },
  { tree, sees }: Visibility,
  ids: readonly number[],
): Promise<ActionRef[]> {
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('actions')
    .select(['id', 'status', 'type', 'pipeline_id', 'environment_id'])
    .where(anyOf('actions.id', ids))
    .orderBy('id')
    .execute()
  const visible = rows.filter((one) => sees(one.environment_id))
  const pipelines = await tree.pipelines(visible.map((one) => one.pipeline_id))
  return visible.map((one) => ({
    id: one.id,
    status: one.status,
    status_human_readable: STATUSES[one.status],
    ...presentType(one.type),
    ...presentResource(pipelines.get(one.pipeline_id)!),
    url_web_permalink: permalink(baseUrl, one.id),
  }))
}
