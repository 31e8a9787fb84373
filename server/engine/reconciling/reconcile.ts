// The reconciling room: reads commit statuses back after the last delivery of an action, and sends those again that the
// service does not show. What was sent is stored with the end of its delivery (outgoing/plan-checks); here it is claimed
// (claim-checks), asked for (read-back, read-remote), judged (judge) and stored (store-checks). This file is the loop.
import type { HttpClient } from '#adapters/http-client/client.ts'
import { authorizeTokens, loadOutgoingHooks, type OutgoingHook } from '#engine/outgoing/outgoing-hooks.ts'
import type { StatusKind } from '#model/hooks/sent-status.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { TokenTargets } from '#platform/database/tables.ts'
import { repeat, within } from '#platform/queue/repeat.ts'
import { nextCheck } from './check-schedule.ts'
import { type ClaimedCheck, claimChecks } from './claim-checks.ts'
import { judge, type Verdict } from './judge.ts'
import { readBack, TIMEOUT_MS } from './read-back.ts'
import { type RemoteStatus, serviceName } from './read-remote.ts'
import { checkNewer, postponeCheck, repair, storeFinding } from './store-checks.ts'

/** How long a stopping process waits for what it writes. */
const LAST_WRITES_MS = 2_000

export type OnCheck = (check: { kind: StatusKind; verdict: Verdict['kind']; wasRepaired: boolean }) => void

export type ReconcilerOptions = {
  db: Database
  box: SecretBox
  /** Where the installation allows tokens to go. */
  tokenTargets: TokenTargets
  http: HttpClient
  /** How often it looks for statuses that are due. */
  pollMs: number
  /** While it is paused, it checks nothing. */
  isPaused?: () => boolean
  /** For the metrics. */
  onCheck?: OnCheck
  onError: (error: Error) => void
}

/** Any number of processes may reconcile side by side: a claim is a lease on rows. */
export function startReconciler(options: ReconcilerOptions): { stop(): Promise<void> } {
  const { db, box, http, onError } = options
  const stopping = new AbortController()
  const { signal } = stopping
  /** One request at a time for each credential: a read-back must not use up what deliveries need. */
  const busy = new Map<number, Promise<void>>()

  async function claim(): Promise<void> {
    if (options.isPaused?.()) return
    const claimed = await claimChecks(db, [...busy.keys()])
    for (const [credentialId, checks] of Map.groupBy(claimed, (check) => check.credentialId)) {
      const work = checkAll(checks)
        .catch(onError)
        .finally(() => busy.delete(credentialId))
      busy.set(credentialId, work)
    }
  }

  async function checkAll(checks: readonly ClaimedCheck[]): Promise<void> {
    const loaded = await loadOutgoingHooks(db, box, [...new Set(checks.map(({ hookId }) => hookId))])
    const hooks = [...loaded.values()].filter((hook): hook is OutgoingHook => !(hook instanceof Error))
    const tokens = await authorizeTokens(options, hooks)
    for (const check of checks) {
      const hook = hooks.find(({ id }) => id === check.hookId)
      if (!hook || !check.isCurrent) await postponeCheck(db, check, null)
      else if (signal.aborted || performance.now() + TIMEOUT_MS > check.ownedUntil)
        await postponeCheck(db, check, 0)
      else {
        const remote = await readBack({ db, http, signal }, check, hook, tokens.get(hook.id)!)
        if (remote.kind === 'wait') await postponeCheck(db, check, remote.afterMs)
        else await finish(check, remote)
      }
    }
  }

  async function finish(check: ClaimedCheck, remote: RemoteStatus): Promise<void> {
    const verdict = judge(check, remote, serviceName(check.sent.kind))
    const status = remote.kind === 'found' ? remote.state : null
    const wasRepaired =
      verdict.kind === 'repair' && (await repair(db, check, { status, detail: verdict.detail }))
    if (verdict.kind !== 'repair') await storeFinding(db, check, findingOf(check, verdict, status))
    if (verdict.kind === 'hides-newer') await checkNewer(db, check)
    options.onCheck?.({ kind: check.sent.kind, verdict: verdict.kind, wasRepaired })
  }

  const polling = repeat(options.pollMs, signal, claim, { onError: (error) => onError(error as Error) })

  return {
    async stop() {
      stopping.abort()
      await polling
      await within(LAST_WRITES_MS, Promise.all(busy.values()))
    },
  }
}

const REMOTE_STATES = {
  matches: 'matches',
  overridden: 'overridden',
  'hides-newer': 'overridden',
  unknown: 'unknown',
} as const

function findingOf(
  { checks, ageMs, repairs }: ClaimedCheck,
  verdict: Exclude<Verdict, { kind: 'repair' }>,
  remoteStatus: string | null,
) {
  const isTemporary = verdict.kind === 'unknown' && verdict.isTemporary
  const isRepaired = verdict.kind === 'matches' && repairs > 0
  return {
    remoteState: isRepaired ? ('repaired' as const) : REMOTE_STATES[verdict.kind],
    remoteStatus,
    detail: verdict.kind === 'matches' ? null : verdict.detail,
    // What somebody else has set stays theirs.
    afterMs: verdict.kind === 'overridden' ? null : nextCheck({ ageMs, checks: checks + 1, isTemporary }),
  }
}
