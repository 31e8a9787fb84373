// The incoming room: from a call to a hook's URL to a stored run. The path of a call: routes → receive-call → hook-cache →
// evaluate-call (signature, rate limit, payload, conditions, variables) → group-commit → commit-calls → respond.
import { randomUUIDv7 } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { OnMoves } from '#engine/scheduling/committed-moves.ts'
import type { ChecksEvent } from '#model/connections/checks-event.ts'
import type { Push } from '#model/connections/read-push.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import { withQueryTimeout } from '#platform/database/client.ts'
import type { ConnectionSettings, Database } from '#platform/database/connect.ts'
import type { Listener } from '#platform/database/listen.ts'
import { unavailable } from '#platform/http/errors.ts'
import { originOf } from '#platform/http/requests.ts'
import { createRateLimiter } from '#platform/rate-limit.ts'
import { openCallConnections, STATEMENT_MS } from './call-connections.ts'
import { commitCalls } from './commit-calls.ts'
import {
  type Call,
  type CallRecord,
  evaluateCall,
  recordOf,
  UNAUTHENTICATED_LIMIT,
  type Verdict,
} from './evaluate-call.ts'
import { createCallGroups } from './group-commit.ts'
import { type CachedHook, createHookCache } from './hook-cache.ts'
import { createHookTokens, leaseFrom } from './hook-tokens.ts'
import type { StartedBy } from './insert-calls.ts'
import { lookUpCalls } from './look-up-calls.ts'
import { createRejectionLog } from './rejections.ts'
import { idempotencyKey } from './sender-headers.ts'
import { wakeChecks } from './wake-checks.ts'

const FLUSH_EVERY_MS = 5_000

/** What receiving calls needs; one per process. */
export async function createCallReceiver(options: {
  db: Database
  settings: ConnectionSettings
  box: SecretBox
  listener: Listener
  onError: (error: Error) => void
  onCall?: OnCall
  onMoves?: OnMoves
}) {
  const { db, box, listener } = options
  const connections = openCallConnections(options.settings, options.onError)
  const databases = { db, single: connections.db }
  const rejections = createRejectionLog(db)
  const flush = () => rejections.flush().catch(options.onError)
  const timer = setInterval(flush, FLUSH_EVERY_MS)
  timer.unref()
  return {
    cache: await createHookCache(db, box, listener),
    groupCommit: createCallGroups(
      (calls) => withQueryTimeout(STATEMENT_MS, () => commitCalls(databases, calls, options.onMoves)),
      (calls, error, began) => lookUpCalls(db, calls, error, began),
    ),
    limiter: createRateLimiter(),
    hookTokens: createHookTokens(leaseFrom(db)),
    rejections,
    wakeChecks: (hookId: string, event: ChecksEvent) => wakeChecks(db, hookId, event),
    onCall: options.onCall,
    /** How many of its own connections could not be opened, or were lost. */
    connectionFailures: () => connections.poolState().failures,
    /** Writes the rejections that are only counted so far. */
    async close() {
      clearInterval(timer)
      await flush()
      await connections.close()
    },
  }
}

export type CallReceiver = Awaited<ReturnType<typeof createCallReceiver>>
export type ReceiveDeps = Omit<CallReceiver, 'close' | 'connectionFailures'>
/** `maxPayload`: the bytes of a body, as received and inflated. */
export type ReceiveOptions = ReceiveDeps & { maxPayload: number; staleForMs?: number }

/** The result of a call. */
export type Received =
  | { kind: 'not-found' }
  | { kind: 'started' | 'duplicate'; actionId: number; requestId: string }
  | { kind: 'cannot-run'; reason: string; requestId: string }
  | (Exclude<Verdict, { kind: 'accepted' }> & { requestId: string })

/** For the metrics. `failed`: it was not answered, because of an error or an outage. */
export type OnCall = (result: Received['kind'] | 'failed', seconds: number) => void

const STALE_FOR_MS = 10_000
const MAX_PAUSE_MS = 100

/**
 * Evaluates a call again while the tree changes under it: others may edit much, but not for long without a pause. The first
 * tries follow each other closely, later ones leave the database to others.
 */
export async function retryWhileStale<Result>(
  evaluate: () => Promise<Result | 'stale'>,
  staleForMs = STALE_FOR_MS,
): Promise<Result> {
  const deadline = performance.now() + staleForMs
  for (let pauseMs = 1; performance.now() < deadline; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    const result = await evaluate()
    if (result !== 'stale') return result
    await delay(pauseMs)
  }
  throw unavailable()
}

/** From the bytes of a call to its commit. `name` is the last part of the hook's URL. */
export async function receiveCall(
  deps: ReceiveOptions,
  name: string,
  call: Call,
  url: string,
): Promise<Received> {
  const startedAt = performance.now()
  let result: Parameters<OnCall>[0] = 'failed'
  try {
    const evaluate = async () => {
      const cached = await deps.cache.find(name)
      const evaluated = cached?.hook.active
        ? await evaluateAndStore(deps, cached, call, url, startedAt)
        : await rejectUnknown(deps, cached, call)
      if (evaluated === 'stale') deps.cache.clear()
      return evaluated
    }
    const received = await withQueryTimeout(STATEMENT_MS, () => retryWhileStale(evaluate, deps.staleForMs))
    result = received.kind
    return received
  } finally {
    deps.onCall?.(result, (performance.now() - startedAt) / 1_000)
  }
}

async function rejectUnknown(
  deps: ReceiveDeps,
  cached: CachedHook | null,
  { address }: Call,
): Promise<Received | 'stale'> {
  const retryAfterSeconds = deps.limiter.take(`address ${address}`, UNAUTHENTICATED_LIMIT, Date.now())
  if (retryAfterSeconds > 0) return { kind: 'rate_limited', retryAfterSeconds, requestId: randomUUIDv7() }
  return cached && !(await deps.cache.isCurrent(cached)) ? 'stale' : { kind: 'not-found' }
}

async function evaluateAndStore(
  deps: ReceiveOptions,
  cached: CachedHook,
  call: Call,
  url: string,
  startedAt: number,
): Promise<Received | 'stale'> {
  const evaluation = await evaluateCall(cached.hook, call, deps, Date.now())
  const { verdict, body, push } = evaluation
  const record = recordOf(cached.hook, call, evaluation, url, startedAt)
  if (verdict.kind === 'checks') return noteChecks(deps, cached.hook.id, verdict, record)
  if (verdict.kind !== 'rejected_signature' && verdict.kind !== 'rate_limited') {
    const key = idempotencyKey(call.headers, body ?? call.body)
    const duplicateOf = push ? findFound(cached.hook, push) : undefined
    return storeCall(deps, cached, verdict, record, { key, origin: originOf(call), user: null, duplicateOf })
  }
  if (verdict.kind === 'rejected_signature' && !(await deps.cache.isCurrent(cached))) return 'stale'
  await deps.rejections.record(cached.hook.id, record)
  return { ...verdict, requestId: record.id }
}

/** The run of a call that Gantry made shortly before, because this one did not come. */
function findFound({ finds }: CachedHook['hook'], { ref, commit }: Push): number | undefined {
  return finds.find((one) => one.ref === ref && one.commit === commit && one.until > Date.now())?.actionId
}

/** A commit may have hundreds of checks: of such calls little is stored. */
async function noteChecks(
  { rejections, wakeChecks }: ReceiveOptions,
  hookId: string,
  verdict: Extract<Verdict, { kind: 'checks' }>,
  record: CallRecord,
): Promise<Received> {
  await wakeChecks(hookId, verdict.event)
  await rejections.record(hookId, record)
  return { ...verdict, requestId: record.id }
}

/** Stores an evaluated call and the run that it starts; 'stale' when it has to be evaluated again. */
export async function storeCall(
  { groupCommit }: Pick<ReceiveDeps, 'groupCommit'>,
  { hook, version }: CachedHook,
  verdict: Verdict,
  record: CallRecord,
  startedBy: StartedBy,
): Promise<Received | 'stale'> {
  const requestId = record.id
  const start = verdict.kind === 'accepted' ? { ...startedBy, variables: verdict.variables } : null
  const stored = await groupCommit.store({ hook, version, record, start })
  switch (stored.kind) {
    case 'stale':
      return 'stale'
    case 'started':
    case 'duplicate':
      return { ...stored, requestId }
    case 'recorded':
      if (verdict.kind === 'accepted') throw new Error('a call that starts a run was only recorded')
      return { ...verdict, requestId }
    case 'refused': {
      const reason =
        hook.plan.kind === 'impossible'
          ? hook.plan.reason
          : 'The pipeline is busy, and its queue policy rejects further runs.'
      const outcome = { outcome: 'rejected_state', response_status_code: 409 }
      const response_body = JSON.stringify({ message: reason })
      const refused = { ...record, ...outcome, response_body }
      const again = await groupCommit.store({ hook, version, record: refused, start: null })
      return again.kind === 'stale' ? 'stale' : { kind: 'cannot-run', reason, requestId }
    }
  }
}
