import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Starter } from './call-to-store.ts'
import { loadHook } from './compiled-hook.ts'
import { judgePayload } from './judge-call.ts'
import { type ReceiveCalls, type Received, recordOf, storeVerdict, untilSettled } from './receive-call.ts'

export type ReplayCalls = Pick<ReceiveCalls, 'intake'> & { db: Database; box: SecretBox }

/** Who asks for a replay, and from where. */
export type Asker = { person: Starter; address: string; origin: string | null }

export type Replayed = Received | { kind: 'not-found' } | { kind: 'not-replayable'; reason: string }

/**
 * Runs a recorded call again, with the hook as it is today, for a person. It is no duplicate of the first:
 * whoever asks for it wants another run.
 */
export async function replayCall(deps: ReplayCalls, requestId: string, asker: Asker): Promise<Replayed> {
  const first = await deps.db
    .selectFrom('hook_requests')
    .select(['hook_id', 'outcome', 'url', 'request_body', 'request_headers', 'content_type'])
    .where('id', '=', requestId)
    .where('type', '=', 'incoming')
    .executeTakeFirst()
  if (!first) return { kind: 'not-found' }
  if (first.outcome === 'rejected_signature' || first.outcome === 'rate_limited') {
    return notReplayable('A call that was refused for its signature or its rate cannot be replayed.')
  }
  if (first.request_body === null) return notReplayable('The body of this call is no longer kept.')
  const headers = { ...first.request_headers, 'content-type': first.content_type ?? undefined }
  const call = { headers, body: first.request_body, address: asker.address }

  return untilSettled(async (): Promise<Replayed | 'stale'> => {
    const startedAt = performance.now()
    const { version } = await deps.db.selectFrom('tree_version').select('version').executeTakeFirstOrThrow()
    const hook = await loadHook(deps.db, deps.box, { hookId: first.hook_id })
    if (!hook) return notReplayable('The hook of this call has been removed.')
    const verdict = judgePayload(hook, call)
    const record = { ...recordOf(hook, call, first.url, verdict, startedAt), retry_of: requestId }
    return storeVerdict(deps, { hook, version }, verdict, record, {
      key: null,
      origin: asker.origin,
      startedBy: asker.person,
    })
  })
}

function notReplayable(reason: string): Replayed {
  return { kind: 'not-replayable', reason }
}
