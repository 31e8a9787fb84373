import { sql } from 'kysely'
import type { Comparison } from '#adapters/repositories/compare.ts'
import { presentAction, presentStatus } from '#model/actions/present.ts'
import type { ReadAction } from '#model/actions/read-action.ts'
import type { Action } from '#model/actions/schemas.ts'
import { isEnd } from '#model/actions/status.ts'
import type { Visibility } from '#model/actions/visibility.ts'
import { eventKinds, matchingKind } from '#model/events/event-kinds.ts'
import { TERMS } from '#model/gates/approval-sql.ts'
import { demandOf, eligibilityOf, strictest } from '#model/gates/approval-terms.ts'
import { loadPeople } from '#model/gates/load-people.ts'
import { loadStarters } from '#model/gates/starters.ts'
import type { CapturedValues } from '#model/hooks/captured.ts'
import type { Tree } from '#model/inventory/tree.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ApprovalTerms } from '#platform/database/tables.ts'
import type { Gate } from '#platform/vocabulary.ts'
import type { ClaimedDelivery } from './claim-deliveries.ts'
import type { OutgoingHook } from './outgoing-hooks.ts'

export type ContextDeps = { db: Database; tree: Tree; baseUrl: () => string; readAction: ReadAction }

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
  const kinds = eventKinds(event.previous_status, event.status, event.gate_event)
  const kind = event.kind ?? matchingKind(kinds, events)
  return kind ?? 'action.status_changed'
}

/** What templates can read that is not about the event. */
type RequestValues = { accessToken: string | null; captured: CapturedValues; idempotencyKey: string }

/**
 * What templates can reference, as docs/guides/receivers.md lists it. The action's own status is that of the event, however
 * late it is delivered; everything below it (targets, resource) is current. Nothing outside of the hook's environment is
 * included.
 */
export async function buildContext(
  deps: ContextDeps,
  hook: OutgoingHook,
  { event, action, treeVersion, sample }: Subject,
  { accessToken, captured, idempotencyKey }: RequestValues,
) {
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
    gates: hook.readsGates ? await readGatesContext(deps.db, action.id) : null,
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
    captured,
    request: { idempotency_key: idempotencyKey },
  }

  async function currentAction() {
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

function stateOf(event: Subject['event'], action: Subject['action']) {
  const hasStarted = event.status === 'in-progress' || isEnd(event.status)
  return {
    ...presentStatus(event.status, event.status_reason_code),
    started_at: hasStarted ? action.started_at : null,
    completed_at: isEnd(event.status) ? action.completed_at : null,
    updated_at: event.occurred_at,
  }
}

/** Requests stay small. */
const MAX_COMMITS = 50

/** Without what templates do not see: it may be a megabyte. */
type Widest = {
  fromCommit: string | null
  toCommit: string | null
  comparison: {
    commits: Comparison['commits']
    removedCommits: { total: number } | null
    files: { total: number }
    rewritten: boolean | null
  } | null
}

async function readChangesContext(db: Database, actionId: number) {
  // Where servers served different releases: the one that most of them did.
  const { rows } = await sql<Widest>`
    select from_commit as "fromCommit", to_commit as "toCommit",
      comparison #- '{files,items}' #- '{removedCommits,items}' as comparison
    from action_changes where action_id = ${actionId} order by cardinality(server_ids) desc, server_ids limit 1`.execute(
    db,
  )
  return summarizeChanges(rows[0])
}

/** What templates see of the commits that an action ships. Fields are null until they are known. */
export function summarizeChanges(widest: Widest | undefined) {
  const comparison = widest?.comparison
  return {
    from_sha: widest?.fromCommit ?? null,
    to_sha: widest?.toCommit ?? null,
    rewritten: comparison?.rewritten ?? null,
    commits_count: comparison?.commits?.total ?? null,
    removed_commits_count: comparison?.removedCommits?.total ?? null,
    files_count: comparison?.files.total ?? null,
    commits: comparison?.commits?.items.slice(0, MAX_COMMITS) ?? [],
  }
}

type GatesContext = {
  environmentId: number
  waiting_at: Gate | null
  terms: ApprovalTerms[]
  until: string | null
  decisions: { decision: string; by: string; comment: string | null }[]
  /** Who has approved; whether they still may is judged. */
  approvers: number[]
}

/** What templates see of the gates of a run: where it waits, and who has decided. */
async function readGatesContext(db: Database, actionId: number) {
  const { rows } = await sql<GatesContext>`
    select case when r.approved_at is null and exists (
        select from targets t where t.action_id = a.id and t.gate = 'approval') then 'approval' else a.gate end as waiting_at,
      a.environment_id as "environmentId", ${TERMS} as terms, r.expires_at as until, coalesce((
        select json_agg(json_build_object('decision', d.decision, 'by', u.name, 'comment', d.comment) order by d.id)
        from approvals d join users u on u.id = d.user_id where d.action_id = a.id and d.lapsed_at is null), '[]')
        as decisions,
      array(select user_id from approvals where action_id = a.id and lapsed_at is null and decision = 'approved') as approvers
    from actions a left join approval_requests r on r.action_id = a.id where a.id = ${actionId}`.execute(db)
  const row = rows[0]
  const demand = strictest(row?.terms ?? [])
  // People can approve it while it waits for its checks.
  const isAsking = row?.waiting_at === 'approval' || (row?.waiting_at === 'checks' && row.until !== null)
  const eligible = row && isAsking ? await findEligible(db, actionId, row) : null
  const approvers = new Set(row?.approvers ?? [])
  const counted = eligible?.filter(({ id }) => approvers.has(id)).length
  const asked = eligible?.filter(({ id }) => !approvers.has(id)) ?? []
  return {
    waiting_at: row?.waiting_at ?? null,
    approval: {
      required: demand?.required ?? 0,
      given: counted ?? approvers.size,
      asked: asked.slice(0, MAX_ASKED).map(({ name }) => name),
      until: row?.until ?? null,
      decisions: row?.decisions ?? [],
    },
  }
}

/** More are not named in a message. */
const MAX_ASKED = 10

/** Those whose approval counts now, or would. */
async function findEligible(
  db: Database,
  actionId: number,
  { environmentId, terms }: Pick<GatesContext, 'environmentId' | 'terms'>,
): Promise<{ id: number; name: string }[]> {
  const people = await loadPeople(db, { environmentId })
  const demand = demandOf(terms, people)
  if (!demand) return []
  const starters = await loadStarters(db, actionId)
  return people.filter((person) => eligibilityOf(person, demand, starters) === 'eligible')
}
