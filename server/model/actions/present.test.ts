import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ReasonCode, Status, StoredStep } from '#platform/database/tables.ts'
import { OPERATIONS } from '#platform/vocabulary.ts'
import {
  type ActionRow,
  permalink,
  presentAction,
  presentStatus,
  presentTarget,
  presentType,
  stepId,
  summarizeTargets,
  type TargetRow,
} from './present.ts'

const MADE = '2026-11-15T08:00:00.000Z'
const LATER = '2026-11-15T08:00:01.000Z'

const server = {
  id: 5,
  name: 'web-1',
  provider_type: 'server',
  provider_code: 'ssh',
  provider_name: 'ssh',
  provider_name_human_readable: 'SSH',
} as const

function step(order: number, status: Status, reason: ReasonCode, ran: boolean): StoredStep {
  const ended = ['completed', 'failed', 'skipped'].includes(status)
  return {
    order,
    step_id: order,
    name: `step-${order}`,
    description: null,
    status,
    reason,
    started_at: ran ? MADE : null,
    completed_at: ended ? LATER : null,
    updated_at: LATER,
  }
}

const done = (order: number) => step(order, 'completed', 'COMPLETED', true)
const running = (order: number) => step(order, 'in-progress', 'IN_PROGRESS', true)
const failed = (order: number) => step(order, 'failed', 'FAILED', true)
const pending = (order: number) => step(order, 'pending', 'PENDING', false)
const skipped = (order: number) => step(order, 'skipped', 'SKIPPED', false)

function target(steps: StoredStep[]): TargetRow {
  return {
    id: 12,
    action_id: 3,
    position: 1,
    batch: 1,
    server_id: server.id,
    status: 'in-progress',
    status_reason_code: 'IN_PROGRESS',
    steps,
    attempt: 1,
    reattached: 0,
    gate: null,
    attempt_key: null,
    release_name: null,
    live_before: null,
    worker_name: null,
    started_at: MADE,
    completed_at: null,
    created_at: MADE,
    updated_at: LATER,
  }
}

describe('the current step', () => {
  const cases: [string, StoredStep[], number | null][] = [
    ['is the running one', [done(1), running(2), pending(3)], 2],
    ['is the last that ran, when nothing runs at the moment', [done(1), done(2), pending(3)], 2],
    ['is the one that failed, not those skipped after it', [done(1), failed(2), skipped(3)], 2],
    ['is the last one once all are done', [done(1), done(2), done(3)], 3],
    ['is the running one even when a later one has run', [running(1), done(2)], 1],
    ['is null before any has run', [pending(1), pending(2)], null],
    ['is null when all were skipped', [skipped(1), skipped(2)], null],
    ['is null when there are no steps', [], null],
  ]
  for (const [name, steps, order] of cases) {
    test(name, () => {
      assert.equal(presentTarget(target(steps), server).current_step?.order ?? null, order)
    })
  }

  test('is the same object as in the steps', () => {
    const shown = presentTarget(target([done(1), running(2)]), server)
    assert.deepEqual(shown.current_step, shown.steps[1])
  })
})

describe('a step', () => {
  test('gets its ids and its creation time from its target', () => {
    assert.deepEqual(presentTarget(target([failed(2)]), server).steps, [
      {
        id: 12_002,
        action_id: 3,
        action_target_id: 12,
        name: 'step-2',
        description: null,
        order: 2,
        status: 'failed',
        status_human_readable: 'Failed',
        status_reason_code: 'FAILED',
        status_reason_human_readable: 'Failed',
        started_at: MADE,
        completed_at: LATER,
        created_at: MADE,
        updated_at: LATER,
      },
    ])
  })

  test('has a unique id, up to the maximum number of steps', () => {
    const ids = [1, 2, 3].flatMap((targetId) =>
      Array.from({ length: 200 }, (_, index) => stepId(targetId, index + 1)),
    )
    assert.equal(new Set(ids).size, ids.length)
  })
})

describe('the summary of targets', () => {
  test('counts everything that waits as pending, and skipped targets only in the total', () => {
    const statuses: Status[] = [
      'pending',
      'waiting',
      'queued',
      'in-progress',
      'completed',
      'completed',
      'failed',
      'skipped',
    ]
    assert.deepEqual(summarizeTargets(statuses.map((status) => ({ status }))), {
      count: 8,
      pending: 3,
      in_progress: 1,
      completed: 2,
      failed: 1,
    })
  })

  test('is all zeros without targets', () => {
    assert.deepEqual(summarizeTargets([]), { count: 0, pending: 0, in_progress: 0, completed: 0, failed: 0 })
  })
})

test('a status is shown with its reason, both also human-readable', () => {
  assert.deepEqual(presentStatus('in-progress', 'PENDING'), {
    status: 'in-progress',
    status_human_readable: 'In progress',
    status_reason_code: 'PENDING',
    status_reason_human_readable: 'Pending',
  })
})

test('every operation is a type with a human-readable form', () => {
  for (const [type, form] of Object.entries(OPERATIONS)) {
    assert.deepEqual(presentType(type), { type, type_human_readable: form })
  }
})

test('the permalink points to the dashboard', () => {
  assert.equal(permalink('https://gantry.example.com', 42), 'https://gantry.example.com/app/actions/42')
})

describe('an action', () => {
  const row: ActionRow = {
    id: 3,
    environment_id: 1,
    pipeline_id: 9,
    type: 'deploy',
    status: 'queued',
    status_reason_code: 'QUEUED',
    trigger_type: 'manual',
    trigger_comment: null,
    origin: null,
    trigger_name: null,
    trigger_email: null,
    ip_address: null,
    triggered_by: null,
    hook_id: null,
    hook_request_id: null,
    hook_parsed_variables: {},
    variables: null,
    release_name: null,
    commit: null,
    deployment: null,
    credential_id: null,
    retry_of: null,
    parent_id: null,
    has_place: false,
    gate: null,
    branch: null,
    cancelled_by: null,
    cancelled_at: null,
    started_at: null,
    completed_at: null,
    created_at: MADE,
    updated_at: LATER,
  }

  test('without data has the three keys of action_data, all null', () => {
    const { action_data } = presentAction(row, [], 'http://gantry.test')
    assert.deepEqual(action_data, { release_name: null, commit: null, deployment: null })
  })

  test('has its pipeline in its deployment', () => {
    const deployment = {
      type: 'deploy',
      source_type: 'branch',
      source_ref: 'main',
      repository: 'acme/shop',
      provider_name: 'github',
    }
    const { action_data } = presentAction({ ...row, deployment }, [], 'http://gantry.test')
    assert.deepEqual(action_data.deployment, { ...deployment, pipeline_id: 9 })
  })
})
