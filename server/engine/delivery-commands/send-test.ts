import { sql } from 'kysely'
import { type Actor, recordAudit } from '#access/audit/record.ts'
import type { HttpClient } from '#adapters/http-client/client.ts'
import { type ContextDeps, type Subject, TEST_KIND } from '#engine/outgoing/build-context.ts'
import { loadCaptured } from '#engine/outgoing/captured-values.ts'
import {
  authorizeTokens,
  loadOutgoingHooks,
  type OutgoingHook,
  opened,
  type TokenDeps,
} from '#engine/outgoing/outgoing-hooks.ts'
import { prepareRequest } from '#engine/outgoing/prepare-request.ts'
import { hostOf, pauseFor, readPause, storePauses } from '#engine/outgoing/rate-budgets.ts'
import {
  type AttemptRecord,
  maskWith,
  recordUnsent,
  WITHOUT_BODIES,
} from '#engine/outgoing/record-attempt.ts'
import { sendRequest } from '#engine/outgoing/send-request.ts'
import { ATTEMPTS_CHANNEL } from '#engine/outgoing/store-statement.ts'
import { recordUse } from '#model/actions/credential-uses.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { isOutage } from '#platform/database/outages.ts'
import type { HttpProblem } from '#platform/http/problems.ts'
import { findSubject, sampleSubject } from './subject.ts'

export type TestDeps = ContextDeps & TokenDeps & { box: SecretBox; http: HttpClient; signal: AbortSignal }

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
  const hook = opened((await loadOutgoingHooks(deps.db, deps.box, [hookId])).get(hookId))
  if (!hook) return { kind: 'gone' }
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

/** The state of the action that its newest event reported, as a separate event. */
function asTest({ event, ...subject }: Subject): Subject {
  return { ...subject, event: { ...event, id: null, kind: TEST_KIND, occurred_at: new Date().toISOString() } }
}

async function attempt(
  deps: TestDeps,
  hook: OutgoingHook,
  subject: Subject,
): Promise<{ record: AttemptRecord; credentialId: number | null }> {
  const { db, box, http, signal } = deps
  const token = (await authorizeTokens(deps, [hook])).get(hook.id)!
  const id = crypto.randomUUID()
  const [captured] = await loadCaptured(db, box, [{ hook, actionId: subject.action.id }])
  const prepared = await prepareRequest(deps, hook, subject, token, captured!, id)
  const unsent = (outcome: 'blocked' | 'unrenderable', reason: string) => {
    const record = recordUnsent(hook.unsent, outcome, reason, maskWith(hook, captured!.values))
    return { record, credentialId: null }
  }
  if (prepared.kind === 'ignored' || prepared.kind === 'not-yet')
    throw new Error('a test does not depend on conditions')
  if (prepared.kind === 'unsendable') return unsent(prepared.outcome, prepared.reason)
  const { budget } = prepared
  const pauseMs = budget && (await readPause(db, budget))
  if (budget && pauseMs) {
    const seconds = Math.ceil(pauseMs / 1_000)
    return unsent('blocked', `${hostOf(budget)} allows no more requests for ${seconds} s (rate limit).`)
  }
  const sending = { http, now: () => new Date() }
  const sent = await sendRequest(sending, hook, prepared, captured!.values, { id, signal })
  if (budget && sent.limit) await storePauses(db, [pauseFor(budget, sent.limit, sent.now)])
  return { record: sent.record, credentialId: budget?.credentialId ?? null }
}

/** Like a delivery, a record that the database rejects is stored without headers and bodies. */
async function storeTest(db: Database, hookId: string, actionId: number | null, record: AttemptRecord) {
  const insert = ({ request_headers, response_headers, ...one }: AttemptRecord) =>
    db
      .insertInto('hook_requests')
      .values({
        ...one,
        type: 'outgoing',
        hook_id: hookId,
        action_id: actionId,
        event_kind: TEST_KIND,
        attempt: 1,
        request_headers: request_headers && JSON.stringify(request_headers),
        response_headers: response_headers && JSON.stringify(response_headers),
      })
      .execute()
  await insert(record).catch((error) => {
    if (isOutage(error)) throw error
    return insert({ ...record, ...WITHOUT_BODIES })
  })
  await sql`select pg_notify(${ATTEMPTS_CHANNEL}, ${hookId})`.execute(db)
}
