// Actions as they are read: with little known about them, on servers, between batches; and when there is none.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ReasonCode, Status, StoredStep } from '#platform/database/tables.ts'
import { OPERATIONS } from '#platform/vocabulary.ts'
import { type Answer, openTestApp } from '#test/support/harness.ts'
import { nullsIn } from '#test/support/spec-shapes.ts'
import { createAction, createPerson, createTestTree, type TestTree } from '#test/support/world.ts'

const { db, request } = await openTestApp({ after })

async function read(id: number, token: string): Promise<Answer['body']> {
  const answer = await request('GET', `/actions/${id}`, { token })
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}

describe('a minimal action', () => {
  let tree: TestTree
  before(async () => {
    tree = await createTestTree(db)
    const bare = { credential_id: null, programming_language: null, framework: null, repository: 'shop' }
    await db.updateTable('applications').set(bare).where('id', '=', tree.applicationId).execute()
  })

  test('has every field, null where nothing is known', async () => {
    const id = await createAction(
      db,
      { ...tree, serverIds: [] },
      { status: 'pending', status_reason_code: 'PENDING', started_at: null, completed_at: null },
    )
    const action = await read(id, tree.owner.token)
    const latest = 'resource.data.last_deployments.latest'
    const own = nullsIn('Action (single)', action).filter((path) => !path.startsWith(`${latest}.`))
    const expected = `
      trigger_comment action_data.release_name action_data.commit action_data.deployment
      triggered_from.origin triggered_from.name triggered_from.email triggered_from.ip_address
      triggered_from.user_id triggered_from.hook_id triggered_from.hook_request_id
      resource.data.repository_owner resource.data.programming_language
      resource.data.programming_language_human_readable resource.data.engine_version resource.data.framework
      resource.data.framework_human_readable resource.data.root_directory
      resource.data.install_dependencies_command resource.data.build_command
      resource.data.last_deployments.live resource.data.credential
      project.logo_url environment.project.logo_url environment.description environment.archived_at
      started_at completed_at retry_of parent triggered_by_user
      hook_requests.incoming hook_requests.outgoing`
    assert.deepEqual(own.sort(), expected.trim().split(/\s+/).sort())
    assert.deepEqual(action.triggered_from.hook_parsed_variables, {})
    assert.deepEqual([action.targets, action.children], [[], []])
    assert.deepEqual([action.project.used_credits, action.environment.used_credits], [0, 0])
  })
})

describe('an action on a server', () => {
  let tree: TestTree
  before(async () => {
    tree = await createTestTree(db)
  })

  test('shows the server, as its target does', async () => {
    const place = { ...tree, pipelineId: tree.serverPipelineId, serverIds: tree.serverIds.slice(0, 1) }
    const id = await createAction(db, place, { type: 'restart' })
    const action = await read(id, tree.owner.token)
    nullsIn('Action (single)', action)
    const server = {
      id: tree.serverIds[0],
      name: 'web-1',
      provider_type: 'server',
      provider_code: 'ssh',
      provider_name: 'ssh',
      provider_name_human_readable: 'SSH',
    }
    assert.deepEqual(action.resource, {
      id: tree.serverIds[0],
      type: 'server',
      type_human_readable: 'Server',
      data: server,
    })
    assert.deepEqual(action.targets[0].resource_data, server)
    assert.deepEqual([action.type, action.type_human_readable], ['restart', 'Restart'])
  })

  test('of any type but deploy has null action data', async () => {
    const types = Object.keys(OPERATIONS).filter((type) => type !== 'deploy')
    const pipelines = await db
      .insertInto('pipelines')
      .values(
        types.map((operation) => ({
          environment_id: tree.environmentId,
          resource_type: 'server' as const,
          server_id: tree.serverIds[1]!,
          name: operation,
          operation,
          created_by: tree.owner.id,
        })),
      )
      .returning(['id', 'operation'])
      .execute()
    for (const { id, operation } of pipelines) {
      await createAction(db, { ...tree, pipelineId: id, serverIds: [] }, { type: operation })
    }
    const ids = pipelines.map((pipeline) => pipeline.id)
    const { body } = await request('GET', `/actions?per_page=100&filter[pipeline_id]=${ids}`, {
      token: tree.owner.token,
    })
    assert.deepEqual(body.map((one: { type: string }) => one.type).sort(), types.sort())
    for (const one of body) {
      assert.deepEqual(one.action_data, { release_name: null, commit: null, deployment: null })
      assert.equal(one.type_human_readable, OPERATIONS[one.type as keyof typeof OPERATIONS])
    }
  })

  test('include the pipeline only when asked to', async () => {
    const { token } = tree.owner
    const pipelineId = tree.serverPipelineId
    const id = await createAction(db, { ...tree, pipelineId, serverIds: [] }, { type: 'restart' })
    const list = async (query: string) => {
      const { body } = await request('GET', `/actions?${query}`, { token })
      return body.find((one: { id: number }) => one.id === id)
    }
    assert.equal('pipeline_id' in (await list('')), false)
    assert.equal((await list('include=pipeline_id')).pipeline_id, pipelineId)
    assert.equal((await request('GET', '/actions?include=everything', { token })).status, 422)
  })

  test('on this machine shows a local server', async () => {
    const { id: serverId } = await db
      .insertInto('servers')
      .values({
        environment_id: tree.environmentId,
        name: 'here',
        provider_code: 'local',
        root_directory: '/srv',
        created_by: tree.owner.id,
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    const id = await createAction(db, { ...tree, serverIds: [serverId] })
    const { targets, project } = await read(id, tree.owner.token)
    assert.deepEqual(targets[0].resource_data, {
      id: serverId,
      name: 'here',
      provider_type: 'server',
      provider_code: 'local',
      provider_name: 'local',
      provider_name_human_readable: 'Local',
    })
    assert.deepEqual(project.os_users, [{ name: 'deploy' }], 'a local server has no login name')
  })
})

test('an action between two batches of servers counts its targets, and each shows its current step', async () => {
  const tree = await createTestTree(db)
  const now = '2026-11-03T08:00:00.000Z'
  const rows: [Status, ReasonCode, Status[], number | null][] = [
    ['completed', 'COMPLETED', ['completed', 'completed', 'completed'], 3],
    ['failed', 'FAILED', ['completed', 'failed', 'skipped'], 2],
    ['in-progress', 'IN_PROGRESS', ['completed', 'in-progress', 'pending'], 2],
    ['in-progress', 'PENDING', ['completed', 'pending', 'pending'], 1],
    ['queued', 'QUEUED', ['pending', 'pending', 'pending'], null],
    ['waiting', 'WAITING_CONCURRENCY_TARGET', ['pending', 'pending', 'pending'], null],
    ['pending', 'PENDING', ['pending', 'pending', 'pending'], null],
    ['skipped', 'SKIPPED', ['skipped', 'skipped', 'skipped'], null],
  ]
  const hasStarted = (status: Status) => ['completed', 'failed', 'in-progress'].includes(status)
  const hasEnded = (status: Status) => ['completed', 'failed', 'skipped'].includes(status)
  const times = (status: Status) => ({
    started_at: hasStarted(status) ? now : null,
    completed_at: hasEnded(status) ? now : null,
  })
  const servers = await db
    .insertInto('servers')
    .values(
      rows.map((_, index) => ({
        environment_id: tree.environmentId,
        name: `batch-${index}`,
        provider_code: 'local' as const,
        root_directory: '/srv',
        created_by: tree.owner.id,
      })),
    )
    .returning('id')
    .execute()
  const id = await createAction(
    db,
    { ...tree, serverIds: [] },
    { status: 'in-progress', status_reason_code: 'PENDING', ...times('in-progress') },
  )
  const steps = (statuses: Status[]): StoredStep[] =>
    statuses.map((status, index) => ({
      order: index + 1,
      step_id: index + 1,
      name: `step-${index + 1}`,
      description: null,
      status,
      reason: status === 'in-progress' ? 'IN_PROGRESS' : (status.toUpperCase() as ReasonCode),
      ...times(status),
      updated_at: now,
    }))
  await db
    .insertInto('targets')
    .values(
      rows.map(([status, status_reason_code, stepStatuses], index) => ({
        action_id: id,
        position: index + 1,
        batch: index + 1,
        server_id: servers[index]!.id,
        status,
        status_reason_code,
        steps: JSON.stringify(steps(stepStatuses)),
        ...times(status),
      })),
    )
    .execute()
  const action = await read(id, tree.owner.token)
  nullsIn('Action (single)', action)
  assert.deepEqual(
    [
      action.status,
      action.status_human_readable,
      action.status_reason_code,
      action.status_reason_human_readable,
    ],
    ['in-progress', 'In progress', 'PENDING', 'Pending'],
  )
  assert.deepEqual(action.summary.targets, { count: 8, pending: 3, in_progress: 2, completed: 1, failed: 1 })
  assert.deepEqual(
    action.targets.map((one: Answer['body']) => [one.status, one.status_reason_code]),
    rows.map(([status, reason]) => [status, reason]),
  )
  assert.deepEqual(
    action.targets.map((one: Answer['body']) => one.current_step?.order ?? null),
    rows.map((row) => row[3]),
  )
})

describe('GET /actions/{action_id}', () => {
  test('returns the same 404 for an action that does not exist and for one that the caller may not see', async () => {
    const tree = await createTestTree(db)
    const id = await createAction(db, tree)
    const stranger = await createPerson(db)
    const answers = await Promise.all(
      [id, 999_999_999, Number.MAX_SAFE_INTEGER].map((one) =>
        request('GET', `/actions/${one}`, { token: stranger.token }),
      ),
    )
    for (const { status, body } of answers) {
      assert.equal(status, 404)
      assert.deepEqual({ ...body, request_id: '' }, { ...answers[0]!.body, request_id: '' })
    }
  })

  test('returns 422 for an invalid id', async () => {
    const { token } = await createPerson(db)
    for (const id of ['0', '-1', '1.5', 'x', '9007199254740992', '1e30']) {
      const { status, body } = await request('GET', `/actions/${id}`, { token })
      assert.equal(status, 422, id)
      assert.deepEqual(Object.keys(body.errors), ['action_id'])
    }
  })

  test('returns 401 without a token', async () => {
    assert.equal((await request('GET', '/actions/1')).status, 401)
    assert.equal((await request('GET', '/actions')).status, 401)
  })
})
