import type { ReadTips } from '#adapters/repositories/read-tips.ts'
import { storeFoundCall } from '#engine/incoming/found-call.ts'
import type { OnMoves } from '#engine/scheduling/committed-moves.ts'
import { pushCall } from '#model/connections/push-call.ts'
import { parseRepository } from '#model/inventory/load-resources.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { readCalledBranches, storeDifferences, storeFind } from './called-branches.ts'
import { type ClaimedConnection, hold } from './claim.ts'
import type { CaughtUp, Contact, Stop } from './contact.ts'
import type { ConnectedSubject } from './subject.ts'

const WITHIN_MS = 20_000

export type PushDeps = {
  db: Database
  box: SecretBox
  readTips: ReadTips
  /** How long a branch must differ from the newest call: the call may be under way. */
  missedAfterMs: number
  onMoves?: OnMoves | undefined
  signal: AbortSignal
}

/** Compares the commit of each branch with the newest call for it, and makes the calls that the host did not. */
export async function catchUpPushes(
  deps: PushDeps,
  claimed: ClaimedConnection,
  contact: Contact,
  subject: ConnectedSubject,
): Promise<CaughtUp | Stop> {
  const { db, signal } = deps
  const called = await readCalledBranches(db, claimed)
  if (called.length === 0) return NOTHING_LEFT
  const paused = await contact.pause()
  if (paused) return paused
  if (!(await hold(db, claimed))) return { kind: 'lost' }
  const { applicationId, address, username, token, baseUrl } = subject
  const read = await deps.readTips(applicationId, {
    repository: address,
    provider: { code: claimed.provider, baseUrl },
    branches: called.map(({ branch }) => branch),
    token: { username, secret: token },
    sshKey: null,
    withinMs: WITHIN_MS,
    signal,
  })
  // With the next check: the host has just answered, so it is no outage of ours.
  if (read.kind === 'failed') return NOTHING_LEFT
  const differing = called.filter(({ branch, commit }) => isMissed(commit, read.tips.get(branch)))
  const waits = await storeDifferences(db, claimed, differing, deps.missedAfterMs)
  for (const { branch, commit, finds } of differing) {
    if (waits.get(branch) !== 0) continue
    const repository = { address, ...parseRepository(address) }
    const after = read.tips.get(branch)!
    const found = pushCall(claimed.provider, { repository, branch, before: commit, after, moves: finds })
    await storeFoundCall(
      deps,
      { hookId: claimed.hookId, url: address, ...found },
      storeFind(claimed, { branch, commit, finds }, found),
    )
  }
  const soonest = [...waits.values()].filter((ms) => ms > 0)
  return { kind: 'caught-up', againMs: soonest.length > 0 ? Math.min(...soonest) : null }
}

const NOTHING_LEFT: CaughtUp = { kind: 'caught-up', againMs: null }

/** A branch that was deleted makes no call. */
const isMissed = (called: string, tip: string | undefined) => tip !== undefined && tip !== called
