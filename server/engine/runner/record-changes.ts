import type { Compared } from '#adapters/repositories/compare.ts'
import type { Repositories } from '#adapters/repositories/repositories.ts'
import type { ResolveRequest } from '#adapters/repositories/resolve.ts'
import {
  type Difference,
  differenceOf,
  groupServers,
  knownBaseline,
  type Live,
  readBaselines,
  storeBaseline,
  storeDifference,
  withoutComparing,
} from '#model/actions/changes.ts'
import type { Database } from '#platform/database/connect.ts'
import { retryOutage } from '#platform/database/outages.ts'

export type ChangesRequest = {
  /** Most often one. Several that deploy the same commit to the same servers share a comparison. */
  actionIds: readonly number[]
  applicationId: number
  serverIds: readonly number[]
  /** The full hash of the commit that they deploy, and the branch that it was found on, if any. */
  to: string
  branch: string | null
  /** How to get a live commit that the mirror lacks; null: not at all. */
  fetch: Omit<ResolveRequest, 'source' | 'signal'> | null
  signal: AbortSignal
}

type Deps = { db: Database; repositories: Repositories }

/** For a live commit that is on no branch any more. */
const FETCH_MS = 15_000

/**
 * Stores what the actions ship to the servers, compared with what is live there now. Nothing about a comparison fails a
 * deploy: where it is not possible, the reason is stored. Ends early, without an error, when the signal aborts.
 */
export async function recordChanges(deps: Deps, request: ChangesRequest): Promise<void> {
  const { actionIds, applicationId, serverIds, to, signal } = request
  try {
    const read = () => readBaselines(deps.db, applicationId, serverIds)
    const baselines = await retryOutage(read, signal)
    for (const group of groupServers(serverIds, baselines)) {
      const store = () => deps.db.transaction().execute((trx) => storeBaseline(trx, actionIds, group))
      const open = await retryOutage(store, signal)
      if (open.length === 0) continue
      const found = await compareWith(deps, request, group.baseline)
      await retryOutage(() => storeDifference(deps.db, open, group, to, found), signal)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

async function compareWith(
  { repositories }: Deps,
  request: ChangesRequest,
  live: Live | null,
): Promise<Difference> {
  const known = withoutComparing(live)
  if (known) return known
  const { applicationId, to, signal } = request
  const baseline = knownBaseline(live)!
  const from = baseline.commitSha!
  const branch = baseline.branch === request.branch ? request.branch : null
  const compare = () => repositories.compare({ applicationId, from, to, branch, signal })
  try {
    const first = await compare()
    return differenceOf((await retried(repositories, request, from, first)) ? await compare() : first)
  } catch {
    signal.throwIfAborted()
    return { comparison: null, reason: 'unreadable' }
  }
}

/** Whether the live commit was missing, and is here now. */
async function retried(
  repositories: Repositories,
  { fetch, signal }: ChangesRequest,
  from: string,
  compared: Compared,
): Promise<boolean> {
  if (!fetch || compared.kind === 'compared' || compared.reason !== 'missing-from') return false
  const limit = AbortSignal.timeout(FETCH_MS)
  const source = { type: 'commit' as const, ref: from }
  const request = { ...fetch, source, resolvedBefore: true, signal: AbortSignal.any([signal, limit]) }
  const found = await repositories.resolve(request).catch((error) => {
    if (limit.aborted && !signal.aborted) return undefined
    throw error
  })
  return found?.kind === 'resolved'
}
