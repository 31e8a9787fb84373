import { GitMissingError } from '#adapters/repositories/git.ts'
import type { Repositories } from '#adapters/repositories/repositories.ts'
import { findCredential, openSecret } from '#manage/credentials/read-credentials.ts'
import {
  type Difference,
  differenceOf,
  type Group,
  groupServers,
  knownBaseline,
  readBaselines,
  storedRelease,
  withoutComparing,
} from '#model/actions/changes.ts'
import type { ReleaseComparison } from '#model/actions/changes-schemas.ts'
import { presentComparison } from '#model/actions/present-changes.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Deployment } from '#platform/database/tables.ts'

export type PlanChangesDeps = { db: Database; box: SecretBox; repositories: Repositories }

/** What a run would deploy, and where. */
export type PlannedDeploy = {
  application: { id: number; repository: string }
  credentialId: number | null
  deployment: Deployment
  /** Full; null: the source has to be resolved. */
  commitSha: string | null
  servers: readonly { id: number; name: string }[]
}

/** Somebody waits for the plan. */
const FETCH_MS = 4_000
const COMPARE_MS = 5_000

/** What the run would ship, as far as the mirror of this process knows after a short fetch. */
export async function planChanges(
  deps: PlanChangesDeps,
  planned: PlannedDeploy,
  signal: AbortSignal,
): Promise<ReleaseComparison[]> {
  const { application, servers } = planned
  const ids = servers.map(({ id }) => id)
  const names = new Map(servers.map(({ id, name }) => [id, name]))
  const to = planned.commitSha ?? (await findCommit(deps, planned, signal))
  const comparisons: ReleaseComparison[] = []
  for (const group of groupServers(ids, await readBaselines(deps.db, application.id, ids))) {
    const { serverIds } = group
    const baseline = knownBaseline(group.baseline)
    const stored = {
      fromRelease: storedRelease(group.baseline),
      fromActionId: baseline?.actionId ?? null,
      fromCommit: baseline?.commitSha ?? null,
      toCommit: to,
      serverIds,
      ...(await compareWith(deps, planned, group, to, signal)),
    }
    comparisons.push(presentComparison(stored, names, true))
  }
  return comparisons
}

async function compareWith(
  { repositories }: PlanChangesDeps,
  { application, deployment }: PlannedDeploy,
  { baseline: live }: Group,
  to: string | null,
  signal: AbortSignal,
): Promise<Difference> {
  const known = withoutComparing(live)
  if (known) return known
  const baseline = knownBaseline(live)
  if (to === null) return { comparison: null, reason: 'unknown_until_fetched' }
  const isSameBranch = deployment.source_type === 'branch' && deployment.source_ref === baseline!.branch
  try {
    const compared = await repositories.compare({
      applicationId: application.id,
      from: baseline!.commitSha!,
      to,
      branch: isSameBranch ? baseline!.branch : null,
      withinMs: COMPARE_MS,
      signal,
    })
    return differenceOf(compared)
  } catch (error) {
    if (error instanceof GitMissingError) return { comparison: null, reason: 'unreadable' }
    throw error
  }
}

/** Null: not known before a run has fetched it, or the fetch takes too long or fails. */
async function findCommit(
  { db, box, repositories }: PlanChangesDeps,
  { application, credentialId, deployment }: PlannedDeploy,
  signal: AbortSignal,
): Promise<string | null> {
  const credential = credentialId === null ? undefined : await findCredential(db, credentialId)
  const usable = credential?.active ? credential : undefined
  const secret = usable ? openSecret(box, usable) : null
  if (secret === undefined) return null
  const isKey = usable?.auth_type === 'key'
  const source = {
    applicationId: application.id,
    repository: application.repository,
    provider: usable ? { code: usable.provider_code, baseUrl: usable.base_url } : null,
  }
  // The first fetch of a repository may be large: that is for a run.
  if (!(await repositories.hasMirror(source))) return null
  const limit = AbortSignal.timeout(FETCH_MS)
  const found = await repositories
    .resolve({
      ...source,
      token: secret === null || isKey ? null : { secret, username: usable!.username },
      sshKey: isKey ? secret : null,
      source: {
        type: deployment.source_type as 'branch' | 'tag' | 'commit',
        ref: deployment.source_ref!,
      },
      signal: AbortSignal.any([signal, limit]),
      onLine: () => {},
    })
    .catch((error) => {
      if (limit.aborted && !signal.aborted) return undefined
      throw error
    })
  return found?.kind === 'resolved' ? found.commit.hash : null
}
