import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { BLOCK, countClosedBlocks } from '#engine/counts/action-blocks.ts'
import type { Status } from '#platform/database/tables.ts'
import { OPERATIONS, STATUSES, TRIGGER_TYPES } from '#platform/vocabulary.ts'
import { openTestApp } from '#test/support/harness.ts'
import {
  addEnvironment,
  createAction,
  createHook,
  createHookRequest,
  createTestTree,
  grantRole,
} from '#test/support/world.ts'

const { db, request } = await openTestApp({ after })

/** What the filters look at, for each action of this file. */
type Known = {
  id: number
  organization_id: number
  project_id: number
  environment_id: number
  pipeline_id: number
  resource_type: string
  resource_id: number
  status: Status
  type: string
  trigger_type: string
  hook_id: string | null
  user_id: number | null
  created_at: string
}

const HOUR = 3_600_000
/** The oldest action; all but those of the last hour ended long ago. */
const START = Date.now() - 100 * HOUR

const ours = await createTestTree(db)
const theirs = await createTestTree(db)
await grantRole(db, ours.owner.id, 'viewer', { organizationId: theirs.organizationId })
const second = await addEnvironment(db, ours.owner.id, ours.projectId, ours.credentialId)
const places = [{ ...ours }, { ...ours, ...second }, { ...theirs }]
/** One for each place and pipeline: a hook has one pipeline. */
const hooks = await Promise.all(
  places
    .flatMap((place) => [place, { ...place, pipelineId: place.serverPipelineId }])
    .map(async (place) => {
      const id = await createHook(db, place, 'incoming')
      return { id, requestId: await createHookRequest(db, id, 'incoming') }
    }),
)

const known: Known[] = []
const statuses = Object.keys(STATUSES) as Status[]

/** The n-th action: every combination of place, pipeline, status and trigger comes up. */
async function createNth(number: number): Promise<void> {
  const place = places[number % 3]!
  const onServer = number % 2 === 1
  const hook = hooks[2 * (number % 3) + (onServer ? 1 : 0)]!
  const status = statuses[number % 7]!
  const trigger_type = TRIGGER_TYPES[Math.floor(number / 2) % 4]!
  // Ids and times do not rise together: an action is created by a transaction that began before.
  const created_at = new Date(START + number * HOUR - (number % 5) * 0.7 * HOUR).toISOString()
  const hooked = trigger_type === 'hook' || (trigger_type === 'retry' && number % 3 === 0)
  // A replayed call has both.
  const user_id = number % 4 === 1 ? ours.owner.id : number % 4 === 2 ? theirs.owner.id : null
  const id = await createAction(
    db,
    { ...place, pipelineId: onServer ? place.serverPipelineId : place.pipelineId, serverIds: [] },
    {
      type: onServer ? 'restart' : 'deploy',
      status,
      status_reason_code:
        status === 'in-progress'
          ? 'IN_PROGRESS'
          : status === 'waiting'
            ? 'WAITING_CONCURRENCY_TARGET'
            : (status.toUpperCase() as 'PENDING'),
      trigger_type,
      hook_id: hooked ? hook.id : null,
      hook_request_id: hooked ? hook.requestId : null,
      triggered_by: user_id,
      created_at,
      started_at: ['in-progress', 'completed', 'failed'].includes(status) ? created_at : null,
      completed_at: ['completed', 'failed', 'skipped'].includes(status) ? created_at : null,
    },
  )
  known.push({
    id,
    organization_id: place.organizationId,
    project_id: place.projectId,
    environment_id: place.environmentId,
    pipeline_id: onServer ? place.serverPipelineId : place.pipelineId,
    resource_type: onServer ? 'server' : 'application',
    resource_id: onServer ? place.serverIds[0]! : place.applicationId,
    status,
    type: onServer ? 'restart' : 'deploy',
    trigger_type,
    hook_id: hooked ? hook.id : null,
    user_id,
    created_at,
  })
}

// Ids in five blocks and across their borders; the last one stays open.
for (const [block, blocks] of [0.997, 2.99, 3.998, 6.5, 9.9998].entries()) {
  const firstId = Math.round(blocks * BLOCK)
  await sql`select setval(pg_get_serial_sequence('actions', 'id'), ${firstId})`.execute(db)
  for (let number = 0; number < 18; number++) await createNth(block * 18 + number)
}
await countClosedBlocks(db)

test('the actions of these tests are in counted blocks and in the open head', async () => {
  const { next_block } = await db
    .selectFrom('counted_action_blocks')
    .select('next_block')
    .executeTakeFirstOrThrow()
  const counted = known.filter((one) => one.id < next_block * BLOCK).length
  assert.ok(counted >= 70 && known.length - counted >= 10, `${counted} of ${known.length} are counted`)
})

async function listed(query: string): Promise<number[]> {
  const answer = await request('GET', `/actions?per_page=100${query}`, { token: ours.owner.token })
  assert.equal(answer.status, 200, answer.text)
  const ids = answer.body.map((one: { id: number }) => one.id)
  assert.equal(answer.headers['x-total-count'], String(ids.length))
  return ids
}

function expected(holds: (one: Known) => boolean): number[] {
  return known
    .filter(holds)
    .map((one) => one.id)
    .sort((a, b) => b - a)
}

const hookIds = hooks.map((hook) => hook.id)
const moments = [20, 50.5, 85, 88.9].map((hours) => new Date(START + hours * HOUR).toISOString())

describe('each filter by itself', () => {
  const cases: [string, string, (one: Known) => boolean][] = [
    ['organization_id', `${ours.organizationId}`, (one) => one.organization_id === ours.organizationId],
    ['project_id', `${theirs.projectId}`, (one) => one.project_id === theirs.projectId],
    ['environment_id', `${second.environmentId}`, (one) => one.environment_id === second.environmentId],
    ['pipeline_id', `${second.pipelineId}`, (one) => one.pipeline_id === second.pipelineId],
    ['resource_type', 'server', (one) => one.resource_type === 'server'],
    ['resource_id', `${ours.applicationId}`, (one) => one.resource_id === ours.applicationId],
    ['status', 'failed', (one) => one.status === 'failed'],
    ['type', 'restart', (one) => one.type === 'restart'],
    ['operation', 'restart', (one) => one.type === 'restart'],
    ['trigger_type', 'hook', (one) => one.trigger_type === 'hook'],
    ['trigger_type', 'retry', (one) => one.trigger_type === 'retry'],
    ['hook_id', hookIds[1]!, (one) => one.hook_id === hookIds[1]],
    ['user_id', `${theirs.owner.id}`, (one) => one.user_id === theirs.owner.id],
    ['created_after', moments[1]!, (one) => one.created_at >= moments[1]!],
    ['created_before', moments[1]!, (one) => one.created_at < moments[1]!],
  ]
  for (const [name, value, holds] of cases) {
    test(`filter[${name}]=${name.endsWith('_id') ? '…' : value.replace(/T.*/, '')} lists only those`, async () => {
      const ids = expected(holds)
      assert.ok(ids.length > 0 && ids.length < known.length, 'the filter says something')
      assert.deepEqual(await listed(`&filter[${name}]=${value}`), ids)
    })
  }
})

describe('comma-separated values mean any of them', () => {
  const cases: [string, (string | number)[], keyof Known][] = [
    ['organization_id', [ours.organizationId, theirs.organizationId], 'organization_id'],
    ['project_id', [ours.projectId, 999_999], 'project_id'],
    ['environment_id', [ours.environmentId, theirs.environmentId], 'environment_id'],
    ['pipeline_id', [ours.pipelineId, theirs.serverPipelineId], 'pipeline_id'],
    ['resource_type', ['server', 'application'], 'resource_type'],
    ['resource_id', [ours.serverIds[0]!, second.applicationId], 'resource_id'],
    ['status', ['failed', 'in-progress', 'waiting'], 'status'],
    ['type', ['deploy', 'stop'], 'type'],
    ['operation', ['restart', 'stop'], 'type'],
    ['trigger_type', ['manual', 'pipeline'], 'trigger_type'],
    ['trigger_type', ['manual', 'hook'], 'trigger_type'],
    ['hook_id', [hookIds[0]!, hookIds[2]!, hookIds[0]!.toUpperCase()], 'hook_id'],
    ['user_id', [ours.owner.id, theirs.owner.id, 999_999], 'user_id'],
  ]
  for (const [name, values, field] of cases) {
    test(`filter[${name}] of ${values.length} values`, async () => {
      assert.deepEqual(
        await listed(`&filter[${name}]=${values.join(',')}`),
        expected((one) => values.includes(one[field] as string)),
      )
    })
  }
})

test('created_after is inclusive, created_before is exclusive', async () => {
  const { id, created_at } = known[40]!
  assert.ok((await listed(`&filter[created_after]=${created_at}`)).includes(id))
  assert.ok(!(await listed(`&filter[created_before]=${created_at}`)).includes(id))
})

test('times select from counted blocks and from the head alike', async () => {
  for (const from of moments) {
    for (const to of moments) {
      assert.deepEqual(
        await listed(`&filter[created_after]=${from}&filter[created_before]=${to}`),
        expected((one) => one.created_at >= from && one.created_at < to),
        `${from} to ${to}`,
      )
    }
  }
})

test('a time before everything, or after everything, lists nothing or all', async () => {
  const all = expected(() => true)
  assert.deepEqual(await listed('&filter[created_before]=2020-01-01'), [])
  assert.deepEqual(await listed('&filter[created_after]=2120-01-01'), [])
  assert.deepEqual(await listed('&filter[created_after]=2020-01-01'), all)
  assert.deepEqual(await listed('&filter[created_before]=2120-01-01'), all)
})

test('any combination of filters lists exactly the actions that match all of them', async () => {
  const some = <Value>(...values: Value[]) => fc.subarray(values, { minLength: 1 })
  const arbitrary = fc.record(
    {
      organization_id: some(ours.organizationId, theirs.organizationId),
      project_id: some(ours.projectId, theirs.projectId),
      environment_id: some(ours.environmentId, second.environmentId, theirs.environmentId),
      pipeline_id: some(...places.flatMap((place) => [place.pipelineId, place.serverPipelineId])),
      resource_type: some('application', 'server'),
      resource_id: some(...places.flatMap((place) => [place.applicationId, place.serverIds[0]!])),
      status: some(...statuses),
      type: some('deploy', 'restart', 'custom'),
      operation: some('deploy', 'restart', 'stop'),
      trigger_type: some(...TRIGGER_TYPES),
      hook_id: some(...hookIds),
      user_id: some(ours.owner.id, theirs.owner.id),
      created_after: fc.constantFrom(...moments),
      created_before: fc.constantFrom(...moments),
    },
    { requiredKeys: [] },
  )
  await fc.assert(
    fc.asyncProperty(arbitrary, async (filters) => {
      const query = Object.entries(filters).map(([name, values]) => `&filter[${name}]=${values}`)
      const holds = (one: Known) =>
        Object.entries(filters).every(([name, values]) => {
          if (name === 'created_after') return one.created_at >= (values as string)
          if (name === 'created_before') return one.created_at < (values as string)
          const field = name === 'operation' ? 'type' : (name as keyof Known)
          return (values as unknown[]).includes(one[field])
        })
      assert.deepEqual(await listed(query.join('')), expected(holds), query.join(''))
    }),
    { numRuns: 120 },
  )
})

describe('an invalid filter', () => {
  async function refused(query: string): Promise<Record<string, string[]>> {
    const { status, body } = await request('GET', `/actions?${query}`, { token: ours.owner.token })
    assert.deepEqual([status, body.code], [422, 'invalid'])
    return body.errors
  }

  test('of an unknown field is rejected with the known ones', async () => {
    const errors = await refused('filter[color]=red')
    assert.deepEqual(Object.keys(errors), ['filter[color]'])
    for (const name of [
      'organization_id',
      'project_id',
      'environment_id',
      'pipeline_id',
      'resource_type',
      'resource_id',
      'status',
      'type',
      'operation',
      'trigger_type',
      'hook_id',
      'user_id',
      'created_after',
      'created_before',
    ]) {
      assert.ok(errors['filter[color]']![0]!.includes(`filter[${name}]`), name)
    }
  })

  test('with an invalid value is rejected with the valid ones; all errors are reported at once', async () => {
    const errors = await refused(
      'filter[status]=done&filter[type]=fly&filter[project_id]=x&filter[hook_id]=1',
    )
    assert.deepEqual(Object.keys(errors).sort(), [
      'filter[hook_id]',
      'filter[project_id]',
      'filter[status]',
      'filter[type]',
    ])
    assert.ok(errors['filter[type]']![0]!.includes(Object.keys(OPERATIONS).join(', ')))
  })

  test('given twice is rejected, not half applied', async () => {
    await refused('filter[status]=failed&filter[status]=completed')
  })

  test('with a nonexistent date is rejected', async () => {
    assert.deepEqual(Object.keys(await refused('filter[created_after]=2026-02-30')), [
      'filter[created_after]',
    ])
  })

  test('that is not written as filter[…] is rejected', async () => {
    await refused('status=failed')
    await refused('filter=status')
  })
})

test('brackets may be percent-encoded', async () => {
  assert.deepEqual(
    await listed('&filter%5Bstatus%5D=failed%2Cskipped'),
    expected((one) => ['failed', 'skipped'].includes(one.status)),
  )
})
