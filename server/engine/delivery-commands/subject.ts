// What a preview or a test reports: an action that matches the hook or, if there is none yet, one that was made up.
import { sql } from 'kysely'
import { type ContextDeps, type Subject, TEST_KIND } from '#engine/outgoing/build-context.ts'
import type { OutgoingHook } from '#engine/outgoing/outgoing-hooks.ts'
import { assembleItem } from '#model/actions/assemble.ts'
import { type ActionRow, presentAction } from '#model/actions/present.ts'
import { NO_DETAILS } from '#model/actions/start-actions.ts'

/** The newest event of the action, or of the newest action that matches the hook. */
export async function findSubject(
  { db }: Pick<ContextDeps, 'db'>,
  hookId: string,
  actionId: number | undefined,
): Promise<Subject | undefined> {
  const { rows } = await sql<{ id: number }>`
    select a.id from hooks h
    join pipelines own on own.id = h.pipeline_id
    join pipelines p on p.id = own.id or h.trigger_when ->> 'scope' = 'resource'
      and (p.application_id = own.application_id or p.server_id = own.server_id)
    join actions a on a.pipeline_id = p.id and a.type = h.action_type
    where h.id = ${hookId} and (${actionId ?? null}::bigint is null or a.id = ${actionId ?? null}::bigint)
    order by a.id desc limit 1`.execute(db)
  const id = rows[0]?.id
  if (id === undefined) return undefined
  const [action, event, tree] = await Promise.all([
    db.selectFrom('actions').selectAll().where('id', '=', id).executeTakeFirstOrThrow(),
    db.selectFrom('events').selectAll().where('action_id', '=', id).orderBy('id', 'desc').executeTakeFirst(),
    db.selectFrom('tree_version').select('version').executeTakeFirstOrThrow(),
  ])
  return {
    action,
    event: event ?? { ...action, previous_status: null, gate_event: null, occurred_at: action.updated_at },
    treeVersion: tree.version,
  }
}

/** No action has this id. */
const SAMPLE_ID = 0

/** A completed action that never ran: what a hook is tested with before the first run of its pipeline. */
export async function sampleSubject(
  { db, tree, baseUrl }: Pick<ContextDeps, 'db' | 'tree' | 'baseUrl'>,
  { pipelineId, actionType }: Pick<OutgoingHook, 'pipelineId' | 'actionType'>,
): Promise<Subject> {
  const { version } = await db.selectFrom('tree_version').select('version').executeTakeFirstOrThrow()
  const snapshot = tree.at(version)
  const pipeline = (await snapshot.pipelines([pipelineId])).get(pipelineId)!
  const environment = (await snapshot.environments([pipeline.environment_id])).get(pipeline.environment_id)!
  const application = pipeline.application?.data
  const now = new Date().toISOString()
  const isDeploy = application !== undefined && actionType === 'deploy'
  const action: ActionRow = {
    ...NO_DETAILS,
    id: SAMPLE_ID,
    environment_id: pipeline.environment_id,
    pipeline_id: pipelineId,
    type: actionType,
    status: 'completed',
    status_reason_code: 'COMPLETED',
    trigger_type: 'manual',
    trigger_comment: 'Sample action of a test',
    commit: isDeploy ? sampleCommit(application.repository, now) : null,
    deployment: isDeploy
      ? {
          type: 'deploy',
          source_type: 'branch',
          source_ref: application.default_branch,
          repository: application.repository,
          provider_name: null,
        }
      : null,
    has_place: false,
    gate: null,
    branch: null,
    cancelled_by: null,
    cancelled_at: null,
    started_at: now,
    completed_at: now,
    created_at: now,
    updated_at: now,
  }
  const summaries = new Map([[SAMPLE_ID, presentAction(action, [], baseUrl())]])
  return {
    action,
    treeVersion: version,
    event: {
      ...action,
      ...{ id: null, kind: TEST_KIND, previous_status: 'in-progress', gate_event: null, occurred_at: now },
    },
    sample: {
      ...assembleItem(action, pipeline, environment, undefined, summaries),
      pipeline_id: pipelineId,
      retry_of: null,
      parent: null,
      children: [],
      triggered_by_user: null,
      hook_requests: { incoming: null, outgoing: null },
    },
  }
}

function sampleCommit(repository: string, committed_at: string): NonNullable<ActionRow['commit']> {
  return {
    repository,
    author_name: 'Gantry',
    author_email: null,
    committed_at,
    hash: '0'.repeat(40),
    message: 'Sample commit of a test',
    url: null,
    clone_url: null,
    download_url: null,
  }
}
