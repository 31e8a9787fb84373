import { randomUUIDv7 } from 'node:crypto'
import { originOf } from '#platform/http/requests.ts'
import type { CallRecord, Starter } from './call-to-store.ts'
import type { CompiledHook } from './compiled-hook.ts'
import { deliveryKey } from './delivery.ts'
import { type GroupCommit, OverloadError } from './group-commit.ts'
import type { HookCache, KnownHook } from './hook-cache.ts'
import { type Call, contentTypeOf, judgeCall, UNAUTHENTICATED_LIMIT, type Verdict } from './judge-call.ts'
import type { RateLimiter } from './rate-limit.ts'
import type { Refusals } from './refusals.ts'

export type ReceiveCalls = {
  cache: HookCache
  intake: GroupCommit
  limiter: RateLimiter
  refusals: Refusals
}

/** What became of a call. */
export type Received =
  | { kind: 'unknown-hook' }
  | { kind: 'started' | 'duplicate'; actionId: number; requestId: string }
  | { kind: 'cannot-run'; reason: string; requestId: string }
  | (Exclude<Verdict, { kind: 'accepted' }> & { requestId: string })

export const STATUS_OF: Record<Verdict['kind'] | 'rejected_state', number> = {
  accepted: 202,
  ping: 200,
  ignored: 200,
  rejected_signature: 403,
  rate_limited: 429,
  rejected_payload: 400,
  rejected_variables: 422,
  rejected_state: 409,
}

const MOST_TRIES = 5

/** Judges a call anew for as long as the tree changes under it. */
export async function untilSettled<Result>(attempt: () => Promise<Result | 'stale'>): Promise<Result> {
  for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
    const result = await attempt()
    if (result !== 'stale') return result
  }
  throw new OverloadError('the tree changes faster than calls can be judged')
}

/** From the bytes of a call to its commit. `name` is the last part of the hook's address. */
export async function receiveCall(
  deps: ReceiveCalls,
  name: string,
  call: Call,
  url: string,
): Promise<Received> {
  const startedAt = performance.now()
  return untilSettled(async () => {
    const known = await deps.cache.find(name)
    const now = Date.now()
    if (!known?.hook.active) {
      const retryAfterSeconds = deps.limiter.take(`address ${call.address}`, UNAUTHENTICATED_LIMIT, now)
      if (retryAfterSeconds > 0) return { kind: 'rate_limited', retryAfterSeconds, requestId: randomUUIDv7() }
      if (known && !(await deps.cache.isCurrent(known))) return outdated(deps)
      return { kind: 'unknown-hook' }
    }
    const received = await settle(deps, known, call, url, now, startedAt)
    return received === 'stale' ? outdated(deps) : received
  })
}

function outdated({ cache }: ReceiveCalls): 'stale' {
  cache.forget()
  return 'stale'
}

async function settle(
  deps: ReceiveCalls,
  { hook, version }: KnownHook,
  call: Call,
  url: string,
  now: number,
  startedAt: number,
): Promise<Received | 'stale'> {
  const verdict = judgeCall(hook, call, deps.limiter, now)
  const record = recordOf(hook, call, url, verdict, startedAt)
  if (verdict.kind === 'rejected_signature' || verdict.kind === 'rate_limited') {
    if (verdict.kind === 'rejected_signature' && !(await deps.cache.isCurrent({ hook, version })))
      return 'stale'
    await deps.refusals.record({
      id: record.id,
      hookId: hook.id,
      outcome: verdict.kind,
      responseStatusCode: record.response_status_code,
      address: call.address,
      url,
    })
    return { ...verdict, requestId: record.id }
  }
  const key = deliveryKey(call.headers, call.body)
  return storeVerdict(deps, { hook, version }, verdict, record, {
    key,
    origin: originOf(call),
    startedBy: { kind: 'hook' },
  })
}

/** Stores a judged call, and the run that it starts; 'stale' when it has to be judged again. */
export async function storeVerdict(
  deps: Pick<ReceiveCalls, 'intake'>,
  { hook, version }: KnownHook,
  verdict: Verdict,
  record: CallRecord,
  start: { key: Buffer | null; origin: string | null; startedBy: Starter },
): Promise<Received | 'stale'> {
  const requestId = record.id
  if (verdict.kind !== 'accepted') {
    const stored = await deps.intake.store({ hook, version, record, start: null })
    return stored.kind === 'stale' ? 'stale' : { ...verdict, requestId }
  }
  const stored = await deps.intake.store({
    hook,
    version,
    record,
    start: { ...start, variables: verdict.variables },
  })
  switch (stored.kind) {
    case 'started':
    case 'duplicate':
      return { ...stored, requestId }
    case 'refused':
      return refuse(
        deps,
        { hook, version },
        record,
        hook.plan.kind === 'impossible'
          ? hook.plan.reason
          : 'The pipeline is busy, and its queue policy is to reject further runs.',
      )
    case 'stale':
      return 'stale'
    case 'recorded':
      throw new Error('a call that starts a run was only recorded')
  }
}

async function refuse(
  deps: Pick<ReceiveCalls, 'intake'>,
  { hook, version }: KnownHook,
  record: CallRecord,
  reason: string,
): Promise<Received | 'stale'> {
  const refused = {
    ...record,
    outcome: 'rejected_state',
    response_status_code: STATUS_OF.rejected_state,
    response: { message: reason },
  }
  const stored = await deps.intake.store({ hook, version, record: refused, start: null })
  return stored.kind === 'stale' ? 'stale' : { kind: 'cannot-run', reason, requestId: record.id }
}

export function recordOf(
  hook: CompiledHook,
  call: Call,
  url: string,
  verdict: Verdict,
  startedAt: number,
): CallRecord {
  return {
    id: randomUUIDv7(),
    outcome: verdict.kind,
    response_status_code:
      verdict.kind === 'rejected_payload' && verdict.isUnsupported ? 415 : STATUS_OF[verdict.kind],
    ip_address: call.address,
    url,
    headers: withoutSecrets(hook, call.headers),
    content_type: contentTypeOf(call) ?? null,
    body: call.body,
    response: explanationOf(verdict),
    retry_of: null,
    duration_ms: Math.round(performance.now() - startedAt),
  }
}

function explanationOf(verdict: Verdict): object | null {
  switch (verdict.kind) {
    case 'ignored':
      return { message: `The condition on ${verdict.path} is not met.` }
    case 'rejected_payload':
      return { message: verdict.message }
    case 'rejected_variables':
      return { errors: verdict.errors }
    default:
      return null
  }
}

const SECRET_HEADERS = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'x-gitlab-token',
  'x-api-key',
])

/** Headers are kept without what would let a reader of the record act as the sender. */
export function withoutSecrets(hook: CompiledHook, headers: Call['headers']): Record<string, unknown> {
  const tokenHeader = hook.signature?.scheme === 'token' ? hook.signature.header : undefined
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      SECRET_HEADERS.has(name) || name === tokenHeader ? '********' : value,
    ]),
  )
}
