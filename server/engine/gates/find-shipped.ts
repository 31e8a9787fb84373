import { isSameLive, loadApprovals, readLive } from '#engine/scheduling/verify-approval.ts'
import { findByHook } from '#model/gates/starters.ts'
import type { LiveByServer } from '#platform/database/tables.ts'
import { serversOf, type Waiting } from './find-waiting.ts'
import type { PinDeps } from './pin-sources.ts'
import { loadSubjectFacts, subjectOf } from './subject.ts'

/** What a worker found out about a run, and on which facts. */
export type Found = {
  stamp: string
  /** Of what was shown when it looked; null before the first time. */
  shownAs: string | null
  subject: string
  live: LiveByServer
  authors: string[]
  /** What was approved is the same, or more than what ships now. */
  isCovered: boolean
}

/** `live`: what its servers served before its changes were recorded. */
export type PinnedRun = { run: Waiting; commit: string | null; live: LiveByServer }

/** By run. `message`: why that cannot be found out. */
export async function findShipped(
  deps: PinDeps,
  pinned: readonly PinnedRun[],
  signal: AbortSignal,
): Promise<Map<number, Found | { message: string }>> {
  const { db, box } = deps
  const ids = pinned.map(({ run }) => run.actionId)
  const facts = await loadSubjectFacts(db, ids)
  const states = await loadApprovals(db, ids)
  const byHook = await findByHook(
    db,
    pinned.flatMap(({ run, commit }) => (commit === null ? [] : run.actionId)),
  )
  const authorsOf = rememberAuthors(deps, signal)
  const found = new Map<number, Found | { message: string }>()
  for (const { run, commit, live } of pinned) {
    const { actionId } = run
    const [own, state] = [facts.get(actionId), states.get(actionId)]
    // Removed meanwhile.
    if (!own || !state) continue
    const authors = commit !== null && byHook.has(actionId) ? await authorsOf(run, commit, live) : []
    try {
      const subject = subjectOf(own, live, box)
      const isSame = state.shown !== null && subjectOf(own, state.shown, box) === state.subject
      const isCovered = isSame && (await covers(deps, run, commit, state.shown!, live, signal))
      found.set(actionId, {
        ...{ stamp: own.stamp, shownAs: state.subject },
        ...{ subject, live, authors, isCovered },
      })
    } catch {
      signal.throwIfAborted()
      found.set(actionId, {
        message: 'Cannot prepare the run: a secret that it needs was encrypted with another key.',
      })
    }
  }
  return found
}

/** What the servers of each of these runs serve now. All are of one application. */
export async function readLiveOf(
  db: PinDeps['db'],
  runs: readonly Waiting[],
): Promise<Map<number, LiveByServer>> {
  const deploys = runs.filter(({ isDeploy }) => isDeploy)
  const serverIds = [...new Set(deploys.flatMap(serversOf))]
  const live = deploys.length > 0 ? await readLive(db, deploys[0]!.applicationId, serverIds) : {}
  const of = (run: Waiting) =>
    Object.fromEntries(serversOf(run).flatMap((id) => (id in live ? [[id, live[id]!]] : [])))
  return new Map(runs.map((run) => [run.actionId, run.isDeploy ? of(run) : {}]))
}

/** Of everything that ships to any server; where the difference is not known, of the whole history. */
function rememberAuthors({ repositories }: PinDeps, signal: AbortSignal) {
  const known = new Map<string, string[]>()
  async function find(applicationId: number, to: string, from: string | null | undefined): Promise<string[]> {
    const request = { applicationId, to, signal }
    const found =
      (await repositories.authors({ ...request, live: from ?? null })) ??
      (await repositories.authors({ ...request, live: null }))
    // Without them, a person might approve what they wrote.
    if (!found) throw new Error(`Git cannot tell who wrote what ${to} ships`)
    return found
  }
  return async ({ applicationId }: Waiting, to: string, live: LiveByServer): Promise<string[]> => {
    const emails = new Set<string>()
    for (const from of new Set(Object.values(live).map(commitOf))) {
      const key = `${from} ${to}`
      if (!known.has(key)) known.set(key, await find(applicationId!, to, from))
      for (const email of known.get(key)!) emails.add(email)
    }
    return [...emails]
  }
}

/** Undefined: not known. */
function commitOf(live: LiveByServer[string] | undefined): string | null | undefined {
  if (live === null) return null
  return live === undefined || live === 'unknown' ? undefined : (live.commit ?? undefined)
}

/** Whether nothing ships to, or goes away from, any server that was not shown. */
async function covers(
  { repositories }: PinDeps,
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
