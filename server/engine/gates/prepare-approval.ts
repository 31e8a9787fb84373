// Before people can approve a run, a worker finds out what it ships: the commit, which stays the one, the difference to what is
// live on each server, and who wrote it. When something changed after an approval, it finds out whether that still holds.
import { sql } from 'kysely'
import type { Repositories } from '#adapters/repositories/repositories.ts'
import { agreeOnCommit, branchOf, originOf, sourceOf } from '#engine/runner/get-new-release.ts'
import { loadRun } from '#engine/runner/load-run.ts'
import { recordChanges } from '#engine/runner/record-changes.ts'
import type { EnqueueTargets } from '#engine/scheduling/assign-slots.ts'
import { type OnMoves, reportMoves } from '#engine/scheduling/committed-moves.ts'
import { openSchedulingPass } from '#engine/scheduling/scheduling-pass.ts'
import {
  type ApprovalState,
  countApprovals,
  isSameLive,
  loadApproval,
  lookAgain,
  readLive,
} from '#engine/scheduling/verify-approval.ts'
import { isEnd, type State } from '#model/actions/status.ts'
import { loadStarters } from '#model/gates/starters.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { retryOutage } from '#platform/database/outages.ts'
import type { LiveByServer } from '#platform/database/tables.ts'
import { endWaiting, openGate, waitsForApproval } from './settle-gate.ts'
import { loadSubjectFacts, subjectOf } from './subject.ts'

export type PrepareDeps = {
  db: Database
  box: SecretBox
  repositories: Repositories
  enqueueTargets: EnqueueTargets
  onMoves?: OnMoves
}

/** What a worker found out, and on which facts. */
type Found = {
  stamp: string
  /** Of what was shown when it looked; null before the first time. */
  shownAs: string | null
  subject: string
  live: LiveByServer
  authors: string[]
  /** What was approved is the same, or more than what ships now. */
  isCovered: boolean
}

type Waiting = {
  actionId: number
  environmentId: number
  applicationId: number | null
  isDeploy: boolean
  isRollback: boolean
  commit: string | null
  /** Those that have not started. */
  targets: { id: number; attempt: number; serverId: number }[]
}

const SOURCE: State = { status: 'failed', reason: 'FAILED_SOURCE' }

export async function prepareApproval(
  deps: PrepareDeps,
  actionId: number,
  signal: AbortSignal,
): Promise<void> {
  const run = await retryOutage(() => findWaiting(deps.db, actionId), signal)
  if (!run) return forget(deps.db, actionId)
  // Before the changes are recorded: if something else goes live meanwhile, all of it is found out again.
  const serverIds = run.targets.map(({ serverId }) => serverId)
  const live = run.isDeploy ? await readLive(deps.db, run.applicationId, serverIds) : {}
  const source = await pinSource(deps, run, signal)
  if (source.kind === 'failed') return fail(deps, run, source.message)
  const found = await findOut(deps, run, source.commit, live, signal)
  if ('message' in found) return fail(deps, run, found.message)
  await retryOutage(() => store(deps, run, found), signal)
}

async function findWaiting(db: Database, actionId: number): Promise<Waiting | undefined> {
  const { rows } = await sql<Waiting>`
    select a.id as "actionId", a.environment_id as "environmentId", p.application_id as "applicationId",
      a.type = 'deploy' as "isDeploy", coalesce(a.deployment ->> 'type' = 'rollback', false) as "isRollback",
      a.commit ->> 'hash' as commit, (
        select json_agg(json_build_object('id', t.id, 'attempt', t.attempt, 'serverId', t.server_id) order by t.position)
        from targets t where t.action_id = a.id and t.started_at is null and t.completed_at is null) as targets
    from actions a join pipelines p on p.id = a.pipeline_id
    where a.id = ${actionId} and a.completed_at is null`.execute(db)
  return rows[0]?.targets ? rows[0] : undefined
}

type Pinned = { kind: 'pinned'; commit: string | null } | { kind: 'failed'; message: string }

/** The first one to find the commit decides; from then on its branch may go anywhere. */
async function pinSource(
  { db, box, repositories }: PrepareDeps,
  { actionId, applicationId, isDeploy, isRollback, commit, targets }: Waiting,
  signal: AbortSignal,
): Promise<Pinned> {
  if (!isDeploy || applicationId === null) return { kind: 'pinned', commit: null }
  const target = targets[0]!
  const run = await retryOutage(() => loadRun(db, box, target.id), signal)
  if ('kind' in run) return { kind: 'failed', message: run.message }
  const fetch = { ...originOf(run), onLine: () => {} }
  const owner = { actionId, targetId: target.id, attempt: target.attempt }
  const resolved = await repositories.resolve({
    ...fetch,
    ...sourceOf(run),
    agreement: agreeOnCommit(db, owner, signal),
    signal,
  })
  // Its release may still be on the servers.
  if (resolved.kind !== 'resolved' && isRollback) return { kind: 'pinned', commit }
  if (resolved.kind !== 'resolved') return { kind: 'failed', message: resolved.message }
  const { hash } = resolved.commit
  await repositories.pin({ applicationId, actionId, hash, signal })
  await removeOldPins({ db, repositories }, applicationId, signal)
  const serverIds = targets.map(({ serverId }) => serverId)
  const branch = branchOf(run)
  await recordChanges(
    { db, repositories },
    { actionId, applicationId, serverIds, to: hash, branch, fetch, signal },
  )
  signal.throwIfAborted()
  return { kind: 'pinned', commit: hash }
}

/** Of runs that have ended, or were removed. */
async function removeOldPins(
  { db, repositories }: Pick<PrepareDeps, 'db' | 'repositories'>,
  applicationId: number,
  signal: AbortSignal,
): Promise<void> {
  const pinned = await repositories.pinned({ applicationId, signal })
  const { rows } = await sql<{ id: number }>`
    select id from actions where id = any(${pinned}::bigint[]) and completed_at is null`.execute(db)
  const kept = new Set(rows.map(({ id }) => id))
  const actionIds = pinned.filter((id) => !kept.has(id))
  await repositories.unpin({ applicationId, actionIds, signal })
}

async function findOut(
  deps: PrepareDeps,
  run: Waiting,
  commit: string | null,
  live: LiveByServer,
  signal: AbortSignal,
): Promise<Found | { message: string }> {
  const { db, box } = deps
  const facts = (await loadSubjectFacts(db, run.actionId))!
  const state = (await loadApproval(db, run.actionId))!
  const authors = commit === null ? [] : await findAuthors(deps, run, commit, live, signal)
  try {
    const subject = subjectOf(facts, live, box)
    const isSame = state.shown !== null && subjectOf(facts, state.shown, box) === state.subject
    const isCovered = isSame && (await covers(deps, run, commit, state.shown!, live, signal))
    return { stamp: facts.stamp, shownAs: state.subject, subject, live, authors, isCovered }
  } catch {
    signal.throwIfAborted()
    return { message: 'Cannot prepare the run: a secret that it needs was encrypted with another key.' }
  }
}

/** Of everything that ships to any server; where the difference is not known, of the whole history. */
async function findAuthors(
  { db, repositories }: PrepareDeps,
  { actionId, applicationId }: Waiting,
  to: string,
  live: LiveByServer,
  signal: AbortSignal,
): Promise<string[]> {
  const { isByHook } = await loadStarters(db, actionId)
  if (!isByHook) return []
  const request = { applicationId: applicationId!, to, signal }
  const emails = new Set<string>()
  for (const from of new Set(Object.values(live).map(commitOf))) {
    const found =
      (await repositories.authors({ ...request, live: from ?? null })) ??
      (await repositories.authors({ ...request, live: null }))
    // Without them, a person might approve what they wrote.
    if (!found) throw new Error(`Git cannot tell who wrote what action ${actionId} ships`)
    for (const email of found) emails.add(email)
  }
  return [...emails]
}

/** Undefined: not known. */
function commitOf(live: LiveByServer[string] | undefined): string | null | undefined {
  if (live === null) return null
  return live === undefined || live === 'unknown' ? undefined : (live.commit ?? undefined)
}

/** Whether nothing ships to, or goes away from, any server that was not shown. */
async function covers(
  { repositories }: PrepareDeps,
  { applicationId }: Waiting,
  to: string | null,
  shown: LiveByServer,
  live: LiveByServer,
  signal: AbortSignal,
): Promise<boolean> {
  for (const [server, now] of Object.entries(live)) {
    if (isSameLive(shown, { [server]: now })) continue
    const [before, after] = [commitOf(shown[server]), commitOf(now)]
    if (to === null || before === undefined || after === undefined) return false
    const request = { applicationId: applicationId!, to, shown: before, live: after, signal }
    if ((await repositories.shipsMore(request)) !== false) return false
  }
  return true
}

/** Under the lock, and only if nothing has changed since it was found out. */
function store({ db, onMoves, enqueueTargets }: PrepareDeps, run: Waiting, found: Found): Promise<void> {
  const { actionId, environmentId } = run
  const work = async (trx: Transaction): Promise<void> => {
    const pass = await openSchedulingPass(trx, environmentId)
    const [action] = await pass.load([actionId])
    const state = await loadApproval(trx, actionId)
    if (!action || !state || isEnd(action.status) || !waitsForApproval(action)) return forget(trx, actionId)
    const now = run.isDeploy
      ? await readLive(
          trx,
          run.applicationId,
          run.targets.map(({ serverId }) => serverId),
        )
      : {}
    const isUnchanged = state.stampNow === found.stamp && state.subject === found.shownAs
    if (!isUnchanged || !isSameLive(found.live, now)) return lookAgain(trx, actionId)
    if (!found.isCovered) await lapse(trx, actionId, pass.at)
    await storeFound(trx, actionId, found)
    const counted = found.isCovered ? await countApprovals(trx, state) : 0
    if (!state.demand || counted >= state.demand.required) return openGate(pass, action, enqueueTargets)
    if (!found.isCovered || state.expiresAt === null) {
      await ask(trx, state, pass.at)
      await pass.noteGate(action, 'approval_requested')
    }
    await pass.flush()
  }
  return reportMoves(db, onMoves, work, environmentId)
}

async function storeFound(trx: Transaction, actionId: number, found: Found): Promise<void> {
  const live = JSON.stringify(found.live)
  await sql`
    update approval_requests set stamp = ${found.stamp}, verified = ${live}::jsonb, due_at = null, problem = null,
      subject = case when ${found.isCovered}::boolean then subject else ${found.subject} end,
      shown = case when ${found.isCovered}::boolean then shown else ${live}::jsonb end,
      author_emails = case when ${found.isCovered}::boolean then author_emails else ${found.authors}::text[] end
    where action_id = ${actionId}`.execute(trx)
}

/** From now on people can approve; the period begins, also after a lapse. */
async function ask(trx: Transaction, { actionId, demand }: ApprovalState, at: string): Promise<void> {
  await sql`
    update approval_requests set asked_at = ${at}, approved_at = null,
      expires_at = ${at}::timestamptz + ${demand!.expiresAfterMinutes}::int * interval '1 minute'
    where action_id = ${actionId}`.execute(trx)
}

/** What was approved is not what would start. */
async function lapse(trx: Transaction, actionId: number, at: string): Promise<void> {
  await sql`
    update approvals set lapsed_at = ${at} where action_id = ${actionId} and lapsed_at is null`.execute(trx)
}

async function fail(deps: PrepareDeps, run: Waiting, message: string): Promise<void> {
  const { db, onMoves, enqueueTargets } = deps
  const { actionId, environmentId } = run
  const work = async (trx: Transaction): Promise<void> => {
    const pass = await openSchedulingPass(trx, environmentId)
    const [action] = await pass.load([actionId])
    if (!action || isEnd(action.status) || !waitsForApproval(action)) return forget(trx, actionId)
    await sql`update approval_requests set problem = ${message} where action_id = ${actionId}`.execute(trx)
    await endWaiting(pass, action, { whole: SOURCE, part: SOURCE }, enqueueTargets)
  }
  await reportMoves(db, onMoves, work, environmentId)
}

async function forget(db: Database, actionId: number): Promise<void> {
  await sql`
    update approval_requests set due_at = null, expires_at = null where action_id = ${actionId}`.execute(db)
}
