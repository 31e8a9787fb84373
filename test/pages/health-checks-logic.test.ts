// Health checks on the pages, without a browser.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { moveStep, positionBefore } from '#web/pages/pipelines/step-order.ts'
import { applicationBody, NEW_APPLICATION } from '#web/resources/applications/application-input.ts'
import {
  type HealthCheck,
  healthBody,
  healthField,
  healthText,
  healthValues,
  NO_HEALTH_CHECK,
} from '#web/resources/pipelines/health-check-input.ts'

const TIMING = { interval_seconds: 2, timeout_seconds: 5, within_seconds: 60, healthy_for_seconds: 0 }
const HTTP: HealthCheck = {
  type: 'http',
  url: 'http://127.0.0.1:3000/health',
  expect_status: '200-299',
  expect_body: null,
  ...TIMING,
}

describe('the inputs of a health check', () => {
  it('send what they were filled from', () => {
    const checks: HealthCheck[] = [
      HTTP,
      { ...HTTP, expect_status: 204, expect_body: ' ready' },
      { type: 'tcp', port: 3000, ...TIMING, healthy_for_seconds: 10 },
      { type: 'command', command: 'bin/check\nexit 1', ...TIMING },
    ]
    for (const check of checks) assert.deepEqual(healthBody(healthValues(check)), check)
    assert.equal(healthBody(healthValues(null)), null)
    assert.equal(applicationBody(NEW_APPLICATION).health_check, null)
  })

  it('leave what is empty to the API', () => {
    const values = { ...NO_HEALTH_CHECK, health_type: 'http' as const, health_status: ' ', health_within: '' }
    const body = healthBody(values)
    assert.deepEqual(JSON.parse(JSON.stringify(body)), {
      type: 'http',
      url: '',
      expect_body: null,
      interval_seconds: 2,
      timeout_seconds: 5,
      healthy_for_seconds: 0,
    })
  })

  it('show the errors of the API', () => {
    assert.equal(healthField('health_check.url'), 'health_url')
    assert.equal(healthField('health_check.healthy_for_seconds'), 'health_for')
    assert.equal(healthField('health_check'), 'health_type')
    assert.equal(healthField('name'), undefined)
  })
})

it('a health check reads in one line', () => {
  assert.equal(healthText(HTTP), 'http://127.0.0.1:3000/health within 60 s')
  assert.equal(
    healthText({ type: 'tcp', port: 80, ...TIMING, healthy_for_seconds: 5 }),
    'Port 80 within 60 s, for 5 s',
  )
  assert.equal(healthText({ type: 'command', command: 'a\nb', ...TIMING }), 'a … within 60 s')
})

it('no step is moved or added right behind the health check', () => {
  const check = { id: 3, name: 'check-health', built_in: true }
  const steps = [{ id: 1 }, { id: 2 }, check, { id: 4 }, { id: 5 }]
  const moved = (id: number, to: number) => moveStep(steps, id, to).map((step) => step.id)
  assert.deepEqual(moved(2, 2), [1, 3, 4, 2, 5])
  assert.deepEqual(moved(5, 3), [1, 2, 5, 3, 4])
  assert.deepEqual(moved(5, 2), [1, 2, 5, 3, 4])
  assert.equal(positionBefore(steps, 4), 2)
  assert.equal(positionBefore(steps, 3), 2)
})
