import type { Transaction } from 'kysely'
import type { Enqueueing } from '#engine/scheduling/enqueueing.ts'
import { startChildren } from '#engine/scheduling/start-children.ts'
import { type Start, startActions } from '#model/actions/start-actions.ts'
import { firstState } from '#model/actions/status.ts'
import { planRows, planRun } from '#model/pipelines/plan.ts'
import { acquireSlots, lockPipelines } from '#model/pipelines/queue-policy.ts'
import type { Commit, Deployment, Tables } from '#platform/database/tables.ts'
import type { RunnablePipeline } from './load-pipeline.ts'

/** The person who asks, and from where. */
export type Asker = { id: number; name: string; email: string; address: string; origin: string | null }

/** What a deploy takes; all null for other operations. */
export type Taken = { deployment: Deployment | null; commit: Commit | null; release_name: string | null }

export const NOTHING_TAKEN: Taken = { deployment: null, commit: null, release_name: null }

/** What makes a run differ from any other run of its pipeline. */
export type Particulars = Taken &
  Pick<
    Start,
    | 'trigger_type'
    | 'trigger_comment'
    | 'hook_id'
    | 'hook_request_id'
    | 'hook_parsed_variables'
    | 'variables'
    | 'retry_of'
  >

export type Started = { kind: 'started'; actionId: number } | Impossible
/** The state of things forbids the run. Nothing was stored. */
export type Impossible = { kind: 'impossible'; reason: string }

/** Starts a run on all servers of the definition, and the runs that follow it, and asks the queue for it. */
export async function startRun(
  trx: Transaction<Tables>,
  { definition, credentialId }: RunnablePipeline,
  asker: Asker,
  particulars: Particulars,
  enqueue: Enqueueing,
): Promise<Started> {
  const plan = planRun(definition)
  if (plan.kind === 'impossible') return plan
  if (!(await holdPipeline(trx, definition.id))) return impossible(REMOVED)
  if (definition.queuePolicy === 'reject') {
    await lockPipelines(trx, [definition])
    const [hasPlace] = await acquireSlots(trx, [definition])
    if (!hasPlace) return impossible(BUSY)
  }
  const { status, reason } = firstState({ waitsForParent: false })
  const start: Start = {
    plan: 0,
    environment_id: definition.environmentId,
    pipeline_id: definition.id,
    type: definition.operation,
    status,
    status_reason_code: reason,
    origin: asker.origin,
    trigger_name: asker.name,
    trigger_email: asker.email,
    ip_address: asker.address,
    triggered_by: asker.id,
    credential_id: credentialId,
    parent_id: null,
    ...particulars,
  }
  const [actionId] = await startActions(trx, [start], planRows(plan, 0))
  if (definition.hasFollowers) await startChildren(trx, [actionId!])
  await enqueue.runs(trx, [actionId!])
  return { kind: 'started', actionId: actionId! }
}

/** From here to the end of the transaction it cannot be removed: a removed pipeline has no unfinished runs. */
async function holdPipeline(trx: Transaction<Tables>, id: number): Promise<boolean> {
  const row = await trx
    .selectFrom('pipelines')
    .select('id')
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .forKeyShare()
    .executeTakeFirst()
  return row !== undefined
}

export const REMOVED = 'The pipeline was removed.'
export const BUSY = 'The pipeline is busy, and its queue policy is to reject further runs.'

export function impossible(reason: string): Impossible {
  return { kind: 'impossible', reason }
}

/** The same pipeline with only some of its servers, in the order that they have there. */
export function onServers(pipeline: RunnablePipeline, ids: ReadonlySet<number>): RunnablePipeline {
  const servers = pipeline.definition.servers.filter(({ id }) => ids.has(id))
  return { ...pipeline, definition: { ...pipeline.definition, servers } }
}
