import { sql } from 'kysely'
import { type Actor, recordAudit } from '#access/audit/record.ts'
import type { HttpClient } from '#adapters/http-client/client.ts'
import { type ContextDeps, type Subject, TEST_KIND } from '#engine/outgoing/build-context.ts'
import { loadCaptured, maskWith, recordAnswer } from '#engine/outgoing/captured-values.ts'
import { ATTEMPTS_CHANNEL } from '#engine/outgoing/channel.ts'
import { judgeAnswer } from '#engine/outgoing/judge-answer.ts'
import {
  authorizeTokens,
  loadOutgoingHooks,
  type OutgoingHook,
  type TokenDeps,
} from '#engine/outgoing/outgoing-hooks.ts'
import { messageId, prepareRequest, signRequest } from '#engine/outgoing/prepare-request.ts'
import { budgetKey, readPauses, storePauses } from '#engine/outgoing/rate-budgets.ts'
import { MAX_CAPTURE_BYTES } from '#engine/outgoing/read-captures.ts'
import { type AttemptRecord, recordUnsent, WITHOUT_BODIES } from '#engine/outgoing/record-attempt.ts'
import { budgetOf, pausesOf } from '#engine/outgoing/within-budget.ts'
import { recordUse } from '#model/actions/credential-uses.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { isOutage } from '#platform/database/outages.ts'
import type { HttpProblem } from '#platform/http/problems.ts'
import { findSubject } from './find-subject.ts'
import { sampleSubject } from './sample-action.ts'

export type TestDeps = ContextDeps & TokenDeps & { box: SecretBox; sender: HttpClient; signal: AbortSignal }

type TestOutcome = { kind: 'sent'; requestId: string; isSample: boolean } | HttpProblem

/**
 * Sends the saved hook once, also when it is disabled: about the given action, the newest one that matches, or a sample.
 * The record is all that it leaves: no delivery, no retry, no change of the receiver's health. The audit entry comes
 * first: a request that went out is in the log whatever happens then. Nothing of the database is held meanwhile.
 */
export async function sendTest(
  deps: TestDeps,
  hookId: string,
  actionId: number | undefined,
  actor: Actor,
): Promise<TestOutcome> {
  const hook = (await loadOutgoingHooks(deps.db, deps.box, [hookId])).get(hookId)
  if (!hook) return { kind: 'gone' }
  if (hook instanceof Error) throw hook
  const found = await findSubject(deps, hookId, actionId)
  if (!found && actionId !== undefined)
    return { kind: 'unknown', errors: { action_id: ['does not match this hook'] } }
  const subject = found ? asTest(found) : await sampleSubject(deps, hook)
  const tested = subject.sample ? null : subject.action.id
  await deps.db.transaction().execute((trx) =>
    recordAudit(trx, actor, {
      organizationId: hook.organizationId,
      verb: 'tested',
      subject: { type: 'outgoing_hook', id: hook.id, name: hook.name },
      before: null,
      after: { action_id: tested },
    }),
  )
  const { record, credentialId } = await attempt(deps, hook, subject)
  await storeTest(deps.db, hookId, tested, record)
  if (credentialId !== null && tested !== null) await recordUse(deps.db, credentialId, tested)
  return { kind: 'sent', requestId: record.id, isSample: tested === null }
}

/** The state of the action that its newest event reported, as an event of its own. */
function asTest({ event, ...subject }: Subject): Subject {
  return { ...subject, event: { ...event, id: null, kind: TEST_KIND, occurred_at: new Date().toISOString() } }
}

async function attempt(
  deps: TestDeps,
  hook: OutgoingHook,
  subject: Subject,
): Promise<{ record: AttemptRecord; credentialId: number | null }> {
  const token = (await authorizeTokens(deps, [hook])).get(hook.id)!
  const id = crypto.randomUUID()
  const [captured] = await loadCaptured(deps.db, deps.box, [{ hook, actionId: subject.action.id }])
  const prepared = await prepareRequest(deps, hook, subject, token, captured!, id)
  const mask = maskWith(hook, captured!.values)
  if (prepared.kind === 'ignored' || prepared.kind === 'not-yet')
    throw new Error('a test does not depend on conditions')
  if (prepared.kind === 'unsendable') {
    const { outcome, reason } = prepared
    return { record: recordUnsent(hook.unsent, outcome, reason, mask), credentialId: null }
  }
  const budget = budgetOf(prepared)
  const paused = budget && (await readPauses(deps.db, [budget])).get(budgetKey(budget))
  if (paused) {
    const reason = `${new URL(budget.origin).host} allows no more requests for ${Math.ceil(paused / 1_000)} s (rate limit).`
    return { record: recordUnsent(hook.unsent, 'blocked', reason, mask), credentialId: null }
  }
  const { request, shown } = signRequest(hook, messageId(id), prepared, new Date())
  const { timeoutMs, verifySsl } = hook
  const maxBodyBytes = hook.capture.length > 0 ? MAX_CAPTURE_BYTES : undefined
  const outcome = await deps.sender.send({ ...request, timeoutMs, verifySsl, maxBodyBytes }, deps.signal)
  if (budget) await storePauses(deps.db, pausesOf(budget, outcome, new Date()))
  const judged = judgeAnswer(hook.preset, prepared.which, outcome)
  const record = recordAnswer(hook, captured!.values, shown, outcome, judged)
  return { record, credentialId: prepared.credentialId }
}

/** Like a delivery, a record that the database rejects is stored without headers and bodies. */
async function storeTest(db: Database, hookId: string, actionId: number | null, record: AttemptRecord) {
  const insert = ({ requestHeaders, responseHeaders, ...one }: AttemptRecord) =>
    db
      .insertInto('hook_requests')
      .values({
        id: one.id,
        hook_id: hookId,
        type: 'outgoing',
        action_id: actionId,
        ip_address: one.ipAddress,
        url: one.url,
        method: one.method,
        outcome: one.outcome,
        error: one.error,
        attempt: 1,
        event_kind: TEST_KIND,
        response_status_code: one.status,
        request_headers: requestHeaders && JSON.stringify(requestHeaders),
        request_body: one.requestBody,
        response_headers: responseHeaders && JSON.stringify(responseHeaders),
        response_body: one.responseBody,
        duration_ms: one.durationMs,
      })
      .execute()
  await insert(record).catch((error) => {
    if (isOutage(error)) throw error
    return insert({ ...record, ...WITHOUT_BODIES })
  })
  await sql`select pg_notify(${ATTEMPTS_CHANNEL}, ${hookId})`.execute(db)
}
