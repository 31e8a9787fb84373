// How the deliveries of a hook went, hour by hour.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { type Insertable, sql } from 'kysely'
import type { Tables } from '#platform/database/tables.ts'
import { uuidAt } from '#platform/database/uuid-at.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createAction, createHook, createHookRequest, createTestTree } from '#test/support/world.ts'
import { readDeliveryHours } from '#views/hook-requests/delivery-hours.ts'
import type { DeliveryHour } from '#views/hook-requests/schemas.ts'

const HOUR_MS = 3_600_000

const { db, request } = await openTestApp({ after })
const tree = await createTestTree(db)
/** The same for all, so that no hour begins in the middle of a test. */
const NOW = Date.now()
const hourAgo = (hours: number) => new Date(NOW - hours * HOUR_MS)

async function attempt(
  hookId: string,
  hours: number,
  more: Partial<Insertable<Tables['hook_requests']>> = {},
): Promise<string> {
  const at = hourAgo(hours)
  const id = uuidAt(at.getTime()).slice(0, 24) + randomUUID().slice(24)
  return createHookRequest(db, hookId, 'outgoing', { id, created_at: at.toISOString(), ...more })
}

const hoursOf = (hookId: string) => readDeliveryHours(db, hookId, NOW)
const countsOf = ({ delivered, retried, failed }: DeliveryHour) => [delivered, retried, failed]

test('deliveries are counted in the hour of their first attempt: delivered, retried, failed', async () => {
  const [hook, other] = [await createHook(db, tree, 'outgoing'), await createHook(db, tree, 'outgoing')]
  await attempt(hook, 0)
  const retried = await attempt(hook, 1, { outcome: 'refused' })
  await attempt(hook, 0, { retry_of: retried, attempt: 2 })
  await attempt(hook, 1, { outcome: 'timed_out' })
  await attempt(hook, 1, { outcome: 'superseded' })
  const old = await attempt(hook, 25, { outcome: 'refused' })
  await attempt(hook, 0, { retry_of: old, attempt: 2 })
  await attempt(other, 0)
  const hours = await hoursOf(hook)
  assert.equal(hours.length, 24)
  assert.deepEqual(hours.slice(-3).map(countsOf), [
    [0, 0, 0],
    [0, 1, 1],
    [1, 0, 0],
  ])
  assert.equal(hours.at(-1)!.hour, new Date(Math.floor(NOW / HOUR_MS) * HOUR_MS).toISOString())
  const answer = await request('GET', `/hooks/outgoing/${hook}/hours`, { token: tree.owner.token })
  assert.deepEqual([answer.status, answer.body.length], [200, 24])
})

test('a delivery that is tried again counts as retried, until its hook is switched off', async () => {
  const hook = await createHook(db, tree, 'outgoing')
  const actionId = await createAction(db, tree)
  const { id: event_id } = await db
    .insertInto('events')
    .values({ action_id: actionId, status: 'failed', status_reason_code: 'FAILED' })
    .returning('id')
    .executeTakeFirstOrThrow()
  const next_attempt_at = new Date(Date.now() + HOUR_MS).toISOString()
  const last_request_id = await attempt(hook, 0, { outcome: 'refused', event_id, next_attempt_at })
  await db
    .insertInto('deliveries')
    .values({ hook_id: hook, event_id, action_id: actionId, is_final: true, last_request_id })
    .execute()
  assert.deepEqual(countsOf((await hoursOf(hook)).at(-1)!), [0, 1, 0])
  await db.updateTable('hooks').set({ active: false }).where('id', '=', hook).execute()
  assert.deepEqual(countsOf((await hoursOf(hook)).at(-1)!), [0, 0, 1])
})

test('of a hook with very many attempts, only hours of which all are counted are shown', async () => {
  const hook = await createHook(db, tree, 'outgoing')
  const first = await attempt(hook, 3, { outcome: 'refused' })
  await attempt(hook, 2)
  await attempt(hook, 0, { retry_of: first, attempt: 2 })
  await sql`
    insert into hook_requests (id, hook_id, type, url, method, outcome, created_at)
    select overlay(${uuidAt(hourAgo(1).getTime())} placing lpad(to_hex(n), 12, '0') from 25)::uuid, ${hook}, 'outgoing',
      'https://example.com/', 'POST', 'delivered', ${hourAgo(1).toISOString()} from generate_series(1, 19999) as n`.execute(
    db,
  )
  const hours = await hoursOf(hook)
  assert.deepEqual(hours.map(countsOf), [
    [19_999, 0, 0],
    [0, 0, 0],
  ])
})

test('an incoming hook, or one that is not there, has none: 404', async () => {
  for (const id of [await createHook(db, tree, 'incoming'), randomUUID()]) {
    const { status } = await request('GET', `/hooks/outgoing/${id}/hours`, { token: tree.owner.token })
    assert.equal(status, 404)
  }
})
