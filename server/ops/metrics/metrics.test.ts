import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestMetrics, IDLE } from '#test/support/metrics.ts'

test('every label that can occur is there from the start, with zero', async () => {
  const samples = await createTestMetrics().read()
  for (const name of [
    'gantry_runs_ended_total{status="completed",reason="COMPLETED"}',
    'gantry_runs_ended_total{status="failed",reason="FAILED_TIMEOUT"}',
    'gantry_runs_ended_total{status="skipped",reason="SKIPPED"}',
    'gantry_steps_ended_total{status="skipped"}',
    'gantry_hook_calls_total{verdict="rate_limited"}',
    'gantry_delivery_attempts_total{outcome="timed_out"}',
    'gantry_deliveries_ended_total{state="failed"}',
  ])
    assert.equal(samples.get(name), 0, name)
})

test('while the database is away, the process shows itself, and nothing that it does not know', async () => {
  const { read } = createTestMetrics()
  assert.equal((await read()).get('gantry_ready'), 1)
  const away = await read(null)
  assert.equal(away.get('gantry_ready'), 0)
  assert.equal(away.get('gantry_database_pool_connections{state="used"}'), 1)
  const known = [...away.keys()].filter((name) => /^gantry_(workers|queue|deliveries\{|retention)/.test(name))
  assert.deepEqual(known, [])
  assert.equal((await read()).get('gantry_workers{state="online"}'), 1)
})

test('totals of the installation are shown as they are, not added up', async () => {
  const { read } = createTestMetrics()
  const finished_at = '2026-11-15T02:06:07.000Z'
  const state = { ...IDLE, retention: { ...IDLE.retention, runs: 7, finished_at } }
  await read(state)
  const samples = await read(state)
  assert.equal(samples.get('gantry_retention_removed_total{kind="runs"}'), 7)
  assert.equal(samples.get('gantry_retention_finished_timestamp_seconds'), Date.parse(finished_at) / 1_000)
})

test('a delivery attempt counts by its outcome, and a delivery when it ends', async () => {
  const { metrics, read } = createTestMetrics()
  const record = (outcome: string) => ({ outcome, duration_ms: 40 }) as never
  metrics.work.onAttempt({ next: { kind: 'retry', afterMs: 1 }, record: record('refused') })
  metrics.work.onAttempt({ next: { kind: 'delivered' }, record: record('delivered') })
  metrics.work.onAttempt({ next: { kind: 'ignored' }, record: null })
  metrics.work.onAttempt({ next: { kind: 'handed-back' }, record: null })
  const samples = await read()
  assert.equal(samples.get('gantry_delivery_attempts_total{outcome="refused"}'), 1)
  assert.equal(samples.get('gantry_delivery_attempts_total{outcome="delivered"}'), 1)
  assert.equal(samples.get('gantry_delivery_attempt_seconds_count'), 2)
  const ended = (state: string) => samples.get(`gantry_deliveries_ended_total{state="${state}"}`)
  assert.deepEqual(['delivered', 'failed', 'ignored'].map(ended), [1, 0, 1])
})

test('rate limits are counted by origin, and beyond the first twenty together', async () => {
  const { metrics, read } = createTestMetrics()
  const origin = (number: number) => `https://host-${number}.example`
  for (let number = 0; number < 22; number += 1) metrics.work.onPause({ origin: origin(number) })
  metrics.work.onPause({ origin: origin(0) })
  const limited = Array.from({ length: 22 }, (_, number) => ({ origin: origin(number), deliveries: 3 }))
  const state = { ...IDLE, deliveries: { ...IDLE.deliveries, limited } }
  await read(state)
  const samples = await read(state)
  assert.equal(samples.get(`gantry_rate_limit_pauses_total{origin="${origin(0)}"}`), 2)
  assert.equal(samples.get('gantry_rate_limit_pauses_total{origin="other"}'), 2)
  assert.equal(samples.get(`gantry_rate_limited_deliveries{origin="${origin(19)}"}`), 3)
  assert.equal(samples.get('gantry_rate_limited_deliveries{origin="other"}'), 6)
  assert.equal((await read()).get('gantry_rate_limited_deliveries{origin="other"}'), 0)
})
