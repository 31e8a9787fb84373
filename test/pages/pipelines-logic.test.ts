// Pipelines and their steps on the pages, without a browser.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Pipeline, PipelineStep } from '#web/base/api/types.ts'
import { isGrantedWithin } from '#web/base/session/permissions.ts'
import { checksText } from '#web/pages/pipelines/checks-input.ts'
import { openFormSearch, readOpenForm } from '#web/pages/pipelines/open-form.ts'
import {
  bodyOfSettings,
  rolloutText,
  settingsField,
  valuesOfPipeline,
} from '#web/pages/pipelines/settings-input.ts'
import {
  bodyOfStep,
  copyOf,
  hasMoreOptions,
  NEW_STEP,
  previewOf,
  valuesOfStep,
} from '#web/pages/pipelines/step-input.ts'
import {
  indexOfNew,
  moveStep,
  positionBefore,
  precedingId,
  triggerAfter,
} from '#web/pages/pipelines/step-order.ts'
import {
  defaultName,
  fillIn,
  parseResourceKey,
  type Resource,
} from '#web/resources/pipelines/new-pipeline.ts'

const steps = [{ id: 7 }, { id: 8 }, { id: 9 }]
const ids = (list: { id: number }[]) => list.map(({ id }) => id)

describe('a step', () => {
  it('follows the one before its new position, or none', () => {
    for (const [to, order, after] of [
      [0, [9, 7, 8], null],
      [1, [7, 9, 8], 7],
      [2, [7, 8, 9], 8],
      [99, [7, 8, 9], 8],
      [-1, [9, 7, 8], null],
    ] as const) {
      const moved = moveStep(steps, 9, to)
      assert.deepEqual(ids(moved), order)
      assert.equal(precedingId(moved, 9), after)
    }
    assert.deepEqual(ids(moveStep(steps, 7, 1)), [8, 7, 9])
    assert.deepEqual(ids(moveStep(steps, 1, 1)), [7, 8, 9], 'removed meanwhile')
  })

  it('is added before, behind or at the end, without a position that people type', () => {
    assert.equal(triggerAfter(positionBefore(steps, 7)), null)
    assert.equal(triggerAfter(positionBefore(steps, 9)), 8)
    assert.equal(triggerAfter('last'), undefined)
    assert.deepEqual(
      [indexOfNew(steps, 'first'), indexOfNew(steps, 8), indexOfNew(steps, 'last'), indexOfNew(steps, 1)],
      [0, 2, 3, 3],
    )
  })

  it('has a form whose state is in the URL', () => {
    for (const search of ['step=8', 'add=first', 'add=last', 'add=8&copy=8']) {
      const form = readOpenForm(new URLSearchParams(search))
      const back = Object.entries(openFormSearch(form)).filter(([, value]) => value !== undefined)
      assert.equal(new URLSearchParams(back as [string, string][]).toString(), search)
    }
    for (const search of ['', 'step=x', 'add=0', 'add=-1', 'add=<b>'])
      assert.equal(readOpenForm(new URLSearchParams(search)), undefined)
  })

  const stored = {
    ...{ id: 8, name: 'migrate', command: 'true', description: null, run_as_user: null },
    ...{ timeout_seconds: 600, idempotent: false, irreversible: false, run_on_revert: false },
    ...{ built_in: false, order: 1, created_at: '', updated_at: '' },
  } satisfies PipelineStep

  it('sends what its form shows', () => {
    const { id: _, built_in, order, created_at, updated_at, ...sent } = stored
    assert.deepEqual(bodyOfStep(valuesOfStep(stored)), sent)
    assert.deepEqual(
      bodyOfStep({
        ...NEW_STEP,
        name: ' reload ',
        command: 'x',
        run_as_user: ' deploy',
        timeout_seconds: '5',
      }),
      { ...sent, name: 'reload', command: 'x', run_as_user: 'deploy', timeout_seconds: 5 },
    )
    assert.equal(hasMoreOptions(NEW_STEP), false)
    assert.equal(hasMoreOptions({ ...NEW_STEP, idempotent: true }), true)
    assert.equal(hasMoreOptions({ ...NEW_STEP, irreversible: true }), true)
    assert.equal(bodyOfStep({ ...NEW_STEP, run_on_revert: true }).idempotent, true)
  })

  it('is copied under a name that is free and not too long', () => {
    const named = (name: string) => ({ ...stored, name })
    assert.equal(copyOf(stored, [stored]).name, 'migrate 2')
    assert.equal(copyOf(stored, [stored, named('migrate 2')]).name, 'migrate 3')
    const long = named('x'.repeat(255))
    assert.equal(copyOf(long, [long]).name, `${'x'.repeat(253)} 2`)
  })

  it('shows the beginning of its command', () => {
    assert.deepEqual(previewOf('one\ntwo\n'), { text: 'one\ntwo', isCut: false, hidden: 0 })
    assert.deepEqual(previewOf('a\nb\nc\nd\ne\nf'), { text: 'a\nb\nc\nd', isCut: true, hidden: 2 })
    assert.deepEqual(previewOf('x'.repeat(65_536)), { text: 'x'.repeat(400), isCut: true, hidden: 0 })
  })
})

describe('a pipeline', () => {
  const pipeline = {
    ...{ name: 'Deploy shop', operation: 'deploy', max_parallel_actions: 1, queue_policy: 'queue' },
    on_failure: 'revert',
    health_check: null,
    wait_for_checks: {
      ...{ names: ['build', 'test, unit'], ignore: ['lint'], timeout_minutes: 5, settle_seconds: 0 },
      without_checks: 'proceed',
    },
    ...{ rollout: { batch: '25%', max_failed: 2, on_failure: 'revert_all' }, run_after: [3, 4] },
  } as unknown as Pipeline

  it('keeps its settings through the form', () => {
    const values = valuesOfPipeline(pipeline)
    assert.deepEqual(bodyOfSettings(values), pipeline)
    assert.equal(bodyOfSettings({ ...values, rollout: 'all' }).rollout, null)
    assert.equal(bodyOfSettings({ ...values, waits_for_checks: false }).wait_for_checks, null)
    assert.equal(bodyOfSettings({ ...values, check_names: [] }).wait_for_checks?.names, null)
    assert.equal(settingsField('wait_for_checks.names.2'), 'check_names')
    assert.equal(settingsField('wait_for_checks'), 'waits_for_checks')
    assert.equal(checksText(pipeline.wait_for_checks), 'build, test, unit except lint; at most 5 minutes')
    assert.equal(checksText(null), 'Not waited for')
    assert.equal(bodyOfSettings({ ...values, on_failure: 'keep' }).rollout?.on_failure, 'stop')
    const batchOf = (batch: string) => bodyOfSettings({ ...values, batch }).rollout?.batch
    assert.deepEqual([batchOf(' 2 '), batchOf('50 %'), batchOf('some')], [2, '50%', 'some'])
  })

  it('says how it is rolled out', () => {
    assert.equal(rolloutText(null), 'All servers at the same time')
    const text = (batch: string | number, max_failed: number, on_failure: 'stop' | 'revert_all') =>
      rolloutText({ batch, max_failed, on_failure })
    assert.equal(text('25%', 2, 'stop'), 'Batches of 25%, at most 2 may fail')
    assert.equal(text(1, 0, 'stop'), 'Batches of 1 server, stops at the first failure')
    assert.match(text(1, 0, 'revert_all'), /stops at the first failure, then reverts all servers$/)
  })

  it('is proposed as a whole for the first application', () => {
    const known = new Map<string, Resource>([
      ['application:1', { type: 'application', id: 1, name: 'shop' }],
      ['server:2', { type: 'server', id: 2, name: 'web-1' }],
    ])
    const empty = { resource: '', operation: '', name: null } as const
    assert.deepEqual(fillIn(empty, known), {
      resource: known.get('application:1'),
      operation: 'deploy',
      name: 'Deploy shop',
    })
    assert.equal(fillIn({ ...empty, resource: 'server:2' }, known).name, 'Commands on web-1')
    assert.equal(
      fillIn({ ...empty, resource: 'server:2', operation: 'deploy' }, known).operation,
      'custom',
      'servers are not deployed',
    )
    assert.equal(fillIn({ ...empty, name: '' }, known).name, '', 'an erased name stays empty')
    assert.equal(fillIn(empty, new Map()).resource, undefined)
    assert.equal(defaultName('restart', 'x'.repeat(255)).length, 255)
  })

  it('reads what it runs on from the URL, and nothing else', () => {
    assert.deepEqual(parseResourceKey('application:12'), { type: 'application', id: 12 })
    for (const key of [null, '1', 'application:0', 'hook:1', 'server:1x', 'server:1234567890123456'])
      assert.equal(parseResourceKey(key), undefined)
  })

  it('can be added where a role reaches any part of the selected scope', () => {
    const permissions = ['pipeline:add'] as const
    const grants = [{ organization_id: 1, project_id: 2, environment_id: 3, permissions: [...permissions] }]
    const may = (scope: object) => isGrantedWithin(grants as never, 'pipeline:add', scope)
    for (const scope of [{}, { organization: 1 }, { project: 2 }, { environment: 3 }])
      assert.equal(may(scope), true)
    for (const scope of [{ organization: 2 }, { project: 1 }, { environment: 1 }])
      assert.equal(may(scope), false)
    assert.equal(isGrantedWithin(grants as never, 'pipeline:edit', {}), false)
  })
})
