// The polling room: asks repositories for new commits, for hosts that cannot reach Gantry, and makes the call that the host would
// have sent. A poll is claimed (claim-polls), the branches are read, and each one that moved becomes a call in the transaction
// that stores its new commit (engine/incoming/found-call).
import { sql } from 'kysely'
import type { Login } from '#adapters/repositories/access.ts'
import type { ReadTips, Tips } from '#adapters/repositories/read-tips.ts'
import { storeFoundCall } from '#engine/incoming/found-call.ts'
import type { OnMoves } from '#engine/scheduling/committed-moves.ts'
import { pushCall } from '#model/connections/push-call.ts'
import { parseRepository } from '#model/inventory/load-resources.ts'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { repeat, within } from '#platform/queue/repeat.ts'
import { type ClaimedPoll, claimPolls, endPoll, failPoll, handBack } from './claim-polls.ts'

const LAST_WRITES_MS = 2_000
const WITHIN_MS = 20_000
/** How many repositories one process asks at a time. */
const MAX_POLLS = 16
const MAX_BACKOFF_SECONDS = 900

export type PollingOptions = {
  db: Database
  box: SecretBox
  readTips: ReadTips
  /** How often it looks for hooks that are due. */
  everyMs: number
  isPaused?: () => boolean
  onMoves?: OnMoves
  onError: (error: Error) => void
}

/** Any number of processes may poll side by side: a claim is a lease on rows. */
export function startPolling(options: PollingOptions): { stop(): Promise<void> } {
  const { db, box, onError } = options
  const stopping = new AbortController()
  const { signal } = stopping
  const polls = new Set<Promise<void>>()

  async function claim(): Promise<void> {
    if (options.isPaused?.()) return
    for (const claimed of await claimPolls(db, MAX_POLLS - polls.size)) {
      const work = poll(claimed)
        .catch((error) => (signal.aborted ? handBack(db, claimed) : onError(error)))
        .finally(() => polls.delete(work))
      polls.add(work)
    }
  }

  async function poll(claimed: ClaimedPoll): Promise<void> {
    const { address: repository, branches, applicationId } = claimed
    const login = loginOf(box, claimed)
    const read: Tips =
      login.message !== undefined
        ? { kind: 'failed', message: login.message }
        : await options.readTips(applicationId, {
            repository,
            provider: providerOf(claimed),
            branches,
            ...login,
            withinMs: WITHIN_MS,
            signal,
          })
    if (read.kind === 'failed') {
      const seconds = Math.min(MAX_BACKOFF_SECONDS, claimed.everySeconds * 2 ** Math.min(claimed.failures, 5))
      return failPoll(db, claimed, read.message, Math.max(seconds, claimed.everySeconds) * 1_000)
    }
    const stored = await loadStored(db, claimed)
    for (const branch of branches) {
      const after = read.tips.get(branch)
      const known = stored.get(branch)
      // A branch that was deleted makes no call; neither does the first look at one. What appears later has moved from nothing.
      if (after === undefined && !known) await recordTip(db, claimed.hookId, branch, ABSENT)
      if (after === undefined || after === known?.tip) continue
      if (known) await call(claimed, branch, known, after)
      else await recordTip(db, claimed.hookId, branch, after)
    }
    await endPoll(db, claimed)
  }

  async function call(claimed: ClaimedPoll, branch: string, { tip, moves }: StoredTip, after: string) {
    const { hookId, address, provider } = claimed
    const repository = { address, ...parseRepository(address) }
    const push = pushCall(provider, { repository, branch, before: tip, after, moves })
    const isOwn = sql`hook_id = ${hookId} and branch = ${branch} and moves = ${moves}::int and tip = ${tip}`
    await storeFoundCall(
      { db, box, onMoves: options.onMoves },
      { hookId, url: address, ...push },
      {
        async before(trx) {
          const { rows } = await sql`select from polled_refs where ${isOwn} for update`.execute(trx)
          return rows.length > 0
        },
        async after(trx) {
          await sql`
            update polled_refs set tip = ${after}, moves = moves + 1, moved_at = now() where ${isOwn}`.execute(
            trx,
          )
        },
      },
    )
  }

  const polling = repeat(options.everyMs, signal, claim, { onError: (error) => onError(error as Error) })

  return {
    async stop() {
      stopping.abort()
      await polling
      await within(LAST_WRITES_MS, Promise.all(polls))
    },
  }
}

const ABSENT = '0'.repeat(40)

type StoredTip = { tip: string; moves: number }

/** What is known of the branches. Those of another repository, and those that are no longer polled, are forgotten. */
async function loadStored(db: Database, { hookId, repository, address, branches }: ClaimedPoll) {
  if (repository !== address) {
    await db.transaction().execute(async (trx) => {
      await sql`delete from polled_refs where hook_id = ${hookId}`.execute(trx)
      await sql`update hook_polls set repository = ${address} where hook_id = ${hookId}`.execute(trx)
    })
    return new Map<string, StoredTip>()
  }
  await sql`delete from polled_refs where hook_id = ${hookId} and branch <> all(${branches}::text[])`.execute(
    db,
  )
  const { rows } = await sql<StoredTip & { branch: string }>`
    select branch, tip, moves from polled_refs where hook_id = ${hookId}`.execute(db)
  return new Map(rows.map(({ branch, ...stored }) => [branch, stored]))
}

/** The first time only records where a branch is. */
async function recordTip(db: Database, hookId: string, branch: string, tip: string): Promise<void> {
  await sql`
    insert into polled_refs (hook_id, branch, tip) select hook_id, ${branch}, ${tip} from hook_polls
    where hook_id = ${hookId} on conflict do nothing`.execute(db)
}

const providerOf = ({ provider, baseUrl }: ClaimedPoll) =>
  provider === null ? null : { code: provider, baseUrl }

/** As runs log in. */
function loginOf(
  box: SecretBox,
  { credentialId, provider, secret, username }: ClaimedPoll,
): (Login & { message?: undefined }) | { message: string } {
  if (credentialId === null || secret === null) return { token: null, sshKey: null }
  try {
    const opened = box.open(secret, credentialAad(credentialId))
    return provider === 'ssh'
      ? { token: null, sshKey: opened }
      : { token: { username, secret: opened }, sshKey: null }
  } catch {
    return { message: 'The token was encrypted with another master key. Enter it again.' }
  }
}
