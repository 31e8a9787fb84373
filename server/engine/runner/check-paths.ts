import { setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Repositories } from '#adapters/repositories/repositories.ts'
import type { TargetLifecycle } from '#engine/scheduling/target-lifecycle.ts'
import { knownBaseline, loadChanges, readBaselines, type StoredChanges } from '#model/actions/changes.ts'
import { UNCHANGED } from '#model/actions/status.ts'
import { compilePathRules, countsFile, type PathRules } from '#model/payload/path-rules.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { retryOutage } from '#platform/database/outages.ts'
import type { Log } from '#platform/queue/core.ts'
import type { JobContext } from '#platform/queue/handler.ts'
import { agreeOnCommit, branchOf, originOf, sourceOf } from './get-new-release.ts'
import { loadRun } from './load-run.ts'
import { recordChanges } from './record-changes.ts'

type Deps = { db: Database; box: SecretBox; log: Log; lifecycle: TargetLifecycle; repositories: Repositories }

export type StartOutcome = { kind: 'skipped' } | { kind: 'starts'; note: string | null }

/** For finding the commit and comparing it. When the time is up, the run starts. */
const WITHIN_MS = 600_000
const MAX_FILES = 100_000
/** What is live can change while it is compared. More often than this, and the run starts. */
const MAX_TRIES = 3

/**
 * Decides about a run whose hook has `trigger_when.paths`, before anything of it starts: it ends as SKIPPED_UNCHANGED when
 * no file that they match has changed since what is live on its servers. It decides when it is the run's turn and not
 * when the call comes: runs before it may fail, or take back what this one compares with. Whatever prevents the
 * comparison, the run starts, and its log says why.
 */
export async function checkPaths(deps: Deps, targetId: number, job: JobContext): Promise<StartOutcome> {
  const checked = await retryOutage(() => findCheck(deps.db, targetId), job.signal)
  if (!checked) return { kind: 'starts', note: null }
  const watch = deps.lifecycle.watchCancellation(checked.actionId)
  const signal = AbortSignal.any([job.signal, watch.signal, AbortSignal.timeout(WITHIN_MS)])
  try {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const verdict = await evaluate(deps, checked, targetId, signal)
      if (verdict.kind === 'starts') return startsBecause(verdict.why)
      const verify = (trx: Transaction) => verifyLive(trx, checked, verdict.compared)
      const skipped = await retryOutage(
        () => deps.lifecycle.skip(targetId, job, UNCHANGED, verify),
        job.signal,
      )
      if (skipped === 'skipped') return { kind: 'skipped' }
      if (skipped === 'started') return { kind: 'starts', note: null }
      if (skipped === 'busy')
        return startsBecause('Another deploy of the application is in progress or comes first.')
    }
    return startsBecause('What is live changed while it was compared.')
  } catch (error) {
    job.signal.throwIfAborted()
    if (!signal.aborted)
      deps.log.error({ err: error, target_id: targetId }, 'changed files could not be compared')
    return startsBecause('Gantry could not find out which files have changed.')
  } finally {
    watch.stop()
  }
}

function startsBecause(why: string): StartOutcome {
  return { kind: 'starts', note: `${why} The run starts.` }
}

type PathCheck = {
  actionId: number
  applicationId: number
  attempt: number
  serverIds: number[]
  paths: string[]
}

/** Only of a run that nothing of has started. Retries of it start in any case: a person asks for them. */
async function findCheck(db: Database, targetId: number): Promise<PathCheck | undefined> {
  const { rows } = await sql<PathCheck>`
    select a.id as "actionId", p.application_id as "applicationId", t.attempt, h.trigger_when -> 'paths' as paths,
      array(select server_id from targets where action_id = a.id order by position) as "serverIds"
    from targets t
    join actions a on a.id = t.action_id
    join hooks h on h.id = a.hook_id
    join pipelines p on p.id = a.pipeline_id
    where t.id = ${targetId} and a.trigger_type = 'hook' and a.type = 'deploy' and a.started_at is null
      and a.completed_at is null and p.application_id is not null and jsonb_array_length(h.trigger_when -> 'paths') > 0`.execute(
    db,
  )
  return rows[0]
}

type Verdict = { kind: 'starts'; why: string } | { kind: 'unchanged'; compared: StoredChanges[] }

const starts = (why: string): Verdict => ({ kind: 'starts', why })

async function evaluate(
  deps: Deps,
  checked: PathCheck,
  targetId: number,
  signal: AbortSignal,
): Promise<Verdict> {
  const { db, repositories } = deps
  const { actionId, applicationId, serverIds, attempt } = checked
  const run = await retryOutage(() => loadRun(db, deps.box, targetId), signal)
  // The run itself says what is wrong.
  if ('kind' in run) return starts('The run cannot be prepared.')
  const fetch = { ...originOf(run), onLine: () => {} }
  const resolved = await repositories.resolve({
    ...fetch,
    ...sourceOf(run),
    agreement: agreeOnCommit(db, { actionId, targetId, attempt }, signal),
    signal,
  })
  if (resolved.kind !== 'resolved') return starts('The source could not be fetched.')
  const to = resolved.commit.hash
  const branch = branchOf(run)
  await recordChanges(deps, { actionIds: [actionId], applicationId, serverIds, to, branch, fetch, signal })
  // It ends early without an error.
  signal.throwIfAborted()
  const stored = await retryOutage(() => loadChanges(db, actionId), signal)
  const rules = compilePathRules(checked.paths)
  for (const one of stored) {
    const why = await whyItStarts(repositories, applicationId, rules, one, signal)
    if (why) return starts(why)
  }
  return { kind: 'unchanged', compared: stored }
}

/** Null: no file between the two counts. */
async function whyItStarts(
  repositories: Repositories,
  applicationId: number,
  rules: PathRules,
  { comparison, fromRelease, fromCommit, toCommit, reason }: StoredChanges,
  signal: AbortSignal,
): Promise<string | null> {
  if (reason === 'first_release') return 'Nothing is live yet on one of the servers.'
  if (reason === 'live_unknown') return 'The live release of one of the servers is unknown.'
  const cannotCompare = `The files changed since release ${fromRelease} are unknown.`
  if (!comparison || fromCommit === null || toCommit === null) return cannotCompare
  let { files } = comparison
  let found = await findCounting(rules, files.items, signal)
  if (!found && files.items.length < files.total) {
    const request = { applicationId, from: fromCommit, to: toCommit, maxFiles: MAX_FILES, signal }
    const whole = await repositories.compare(request)
    if (whole.kind === 'compared') {
      files = whole.comparison.files
      found = await findCounting(rules, files.items, signal)
    }
  }
  if (found) return `${shownPath(found.path)} has changed since release ${fromRelease}.`
  return files.items.length < files.total ? cannotCompare : null
}

/**
 * Under the scheduling lock: whether what was compared is live still, on all servers, and nothing changes it right now.
 * A deploy in progress on one of them, of another pipeline for example, may bring or take back anything; so may one that was
 * started before and waits.
 */
export async function verifyLive(
  trx: Transaction,
  { actionId, applicationId, serverIds }: Pick<PathCheck, 'actionId' | 'applicationId' | 'serverIds'>,
  compared: readonly Pick<StoredChanges, 'fromRelease' | 'serverIds'>[],
): Promise<'unchanged' | 'changed' | 'busy'> {
  const { rows } = await sql`
    select from targets t join actions a on a.id = t.action_id join pipelines p on p.id = a.pipeline_id
    where t.server_id = any(${serverIds}::bigint[])
      and (t.status = 'in-progress' and a.id <> ${actionId} or t.status = 'queued' and a.id < ${actionId})
      and p.application_id = ${applicationId} and a.type = 'deploy' limit 1`.execute(trx)
  if (rows.length > 0) return 'busy'
  const live = await readBaselines(trx, applicationId, serverIds)
  const releaseAt = new Map(compared.flatMap((one) => one.serverIds.map((id) => [id, one.fromRelease])))
  const isSame = serverIds.every((id) => {
    const baseline = knownBaseline(live.get(id) ?? null)
    return baseline !== null && baseline.releaseName === releaseAt.get(id)
  })
  return isSame ? 'unchanged' : 'changed'
}

type ChangedFile = { path: string; old_path: string | null }

/** The process does other work in between: there may be 100,000 files, and 100 globs for each. */
const SLICE_MS = 20
const MAX_SHOWN = 200

/** The first file that counts, under its new or old name. Throws the signal's reason when aborted. */
export async function findCounting<File extends ChangedFile>(
  rules: PathRules,
  files: readonly File[],
  signal: AbortSignal,
): Promise<File | undefined> {
  let began = performance.now()
  for (const file of files) {
    const { path, old_path } = file
    if (countsFile(rules, path) || (old_path !== null && countsFile(rules, old_path))) return file
    if (performance.now() - began < SLICE_MS) continue
    await setImmediate()
    signal.throwIfAborted()
    began = performance.now()
  }
  return undefined
}

/** As one line of a log: anyone who may push chooses the names of files. */
export function shownPath(path: string): string {
  const line = path.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN - 1).toWellFormed()}…` : line
}
