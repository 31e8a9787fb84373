import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ReasonCode, Status, StoredStep } from '#database/tables.ts'
import { OPERATIONS } from '../server/vocabulary.ts'
import {
  BORN,
  CHANGED,
  COMMIT,
  createFullAction,
  DEPLOYMENT,
  type FullAction,
  VARIABLES,
} from './full-action.ts'
import { type Answer, openTestApp, TEST_BASE_URL } from './harness.ts'
import { nullsIn } from './spec-shapes.ts'
import { createAction, createPerson, createTestTree, type TestTree } from './world.ts'

const { db, request } = await openTestApp({ after })

const dated = { created_at: BORN, updated_at: CHANGED }
const permalink = (id: number) => `${TEST_BASE_URL}/app/actions/${id}`

async function read(id: number, token: string): Promise<Answer['body']> {
  const answer = await request('GET', `/actions/${id}`, { token })
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}

function summary(counts: Record<string, number>) {
  return Object.entries(counts).map(([type, count]) => {
    const name = type.charAt(0).toUpperCase() + type.slice(1)
    return {
      resource_type: type,
      resource_type_plural: `${type}s`,
      resource_type_human_readable: name,
      resource_type_human_readable_plural: `${name}s`,
      summary: { count },
    }
  })
}

describe('an action about which everything is known', () => {
  let full: FullAction
  let action: Answer['body']
  before(async () => {
    full = await createFullAction(db)
    action = await read(full.id, full.viewer.token)
  })

  const user = async (id: number) => {
    const { name, email, url_slug, language, active } = await db
      .selectFrom('users')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    return { id, name, email, url_slug, language, active, ...dated }
  }

  const organization = async () => {
    const { organizationId, owner } = full.tree
    const { url_slug } = await db
      .selectFrom('organizations')
      .select('url_slug')
      .where('id', '=', organizationId)
      .executeTakeFirstOrThrow()
    return {
      id: organizationId,
      name: 'Acme',
      url_slug,
      resource_summary: summary({
        project: 1,
        environment: 2,
        application: 2,
        server: 4,
        pipeline: 4,
        credential: 1,
      }),
      owner: await user(owner.id),
      ...dated,
    }
  }

  const project = async () => ({
    id: full.tree.projectId,
    user_id: full.projectMaker.id,
    name: 'Web',
    logo_url: 'https://acme.example/logo.svg',
    resource_summary: summary({ environment: 2, application: 2, server: 4, pipeline: 4 }),
    os_users: [{ name: 'deploy' }, { name: 'www' }],
    organization: await organization(),
    created_by_user: await user(full.projectMaker.id),
    used_credits: 12,
    ...dated,
  })

  test('has exactly the fields of the spec, down to the last object, and none of its own is null', () => {
    const inOthers = /^resource\.data\.(last_deployments|credential\.last_action)/
    const own = nullsIn('Action (single)', action).filter((path) => !inOthers.test(path))
    assert.deepEqual(own, ['targets.1.steps.1.started_at'])
  })

  test('says what became of it', () => {
    const { id, status, status_human_readable, status_reason_code, status_reason_human_readable } = action
    assert.deepEqual(
      [id, status, status_human_readable, status_reason_code, status_reason_human_readable],
      [full.id, 'failed', 'Failed', 'FAILED_TIMEOUT', 'Failed: a step took too long'],
    )
    assert.deepEqual([action.type, action.type_human_readable], ['deploy', 'Deploy'])
    assert.equal(action.url_web_permalink, permalink(full.id))
    assert.equal(action.trigger_comment, 'Once more')
    assert.equal(action.pipeline_id, full.tree.pipelineId)
    assert.deepEqual(
      [action.started_at, action.completed_at, action.created_at, action.updated_at],
      [full.started_at, full.completed_at, BORN, CHANGED],
    )
  })

  test('says what it deployed', () => {
    assert.deepEqual(action.action_data, {
      release_name: '20261103080000-1f0c5e7a',
      commit: COMMIT,
      deployment: { ...DEPLOYMENT, pipeline_id: full.tree.pipelineId },
    })
  })

  test('says who and what started it, with the variables of the hook', async () => {
    assert.deepEqual(action.triggered_from, {
      origin: 'https://gantry.example',
      trigger_type: 'retry',
      name: 'Dan',
      email: full.retrier.email,
      ip_address: '198.51.100.9',
      user_id: full.retrier.id,
      hook_id: full.hook.id,
      hook_request_id: full.hook.callId,
      hook_parsed_variables: VARIABLES,
    })
    assert.deepEqual(action.triggered_by_user, await user(full.retrier.id))
    assert.equal(action.retry_of, full.originalId)
  })

  test('shows its targets in their order, with their steps', () => {
    const [first, second] = full.targetIds as [number, number]
    const [web1, web2] = full.tree.serverIds as [number, number]
    const status = (status: string, reason: string, readable: string) => ({
      status,
      status_human_readable: status.charAt(0).toUpperCase() + status.slice(1),
      status_reason_code: reason,
      status_reason_human_readable: readable,
    })
    const done = status('completed', 'COMPLETED', 'Completed')
    const late = status('failed', 'FAILED_TIMEOUT', 'Failed: a step took too long')
    const left = status('skipped', 'SKIPPED', 'Skipped')
    const times = { started_at: full.started_at, completed_at: full.completed_at, ...dated }
    const step = (targetId: number, order: number, said: ReturnType<typeof status>) => ({
      id: targetId * 1000 + order,
      action_id: full.id,
      action_target_id: targetId,
      name: `step-${order}`,
      description: `What step ${order} does`,
      order,
      ...said,
      ...times,
      started_at: said === left ? null : full.started_at,
    })
    const target = (id: number, serverId: number, name: string) => ({
      id,
      resource_type: 'server',
      resource_type_human_readable: 'Server',
      resource_id: serverId,
      total_steps: 2,
      resource_data: {
        id: serverId,
        name,
        provider_type: 'server',
        provider_code: 'ssh',
        provider_name: 'ssh',
        provider_name_human_readable: 'SSH',
      },
      ...times,
    })
    assert.deepEqual(action.targets, [
      {
        ...target(first, web1, 'web-1'),
        ...done,
        current_step: step(first, 2, done),
        steps: [step(first, 1, done), step(first, 2, done)],
      },
      {
        ...target(second, web2, 'web-2'),
        ...late,
        current_step: step(second, 1, late),
        steps: [step(second, 1, late), step(second, 2, left)],
      },
    ])
    assert.deepEqual(action.summary, {
      targets: { count: 2, pending: 0, in_progress: 0, completed: 1, failed: 1 },
    })
  })

  test('shows where it stands: organization, project, archived environment, credits of this month', async () => {
    assert.deepEqual(action.organization, await organization())
    assert.deepEqual(action.project, await project())
    assert.deepEqual(action.environment, {
      id: full.tree.environmentId,
      type: 'production',
      type_human_readable: 'Production',
      name: 'Live',
      description: 'Where customers are',
      used_credits: 7,
      resource_summary: summary({ application: 1, server: 2, pipeline: 2 }),
      ...dated,
      archived_at: CHANGED,
      project: await project(),
    })
  })

  test('shows its application with what is live, what came last and what the credential did last', async () => {
    const { data, ...resource } = action.resource
    assert.deepEqual(resource, {
      id: full.tree.applicationId,
      type: 'application',
      type_human_readable: 'Application',
    })
    const { last_deployments, credential, updated_at, ...application } = data
    assert.deepEqual(application, {
      id: full.tree.applicationId,
      project_id: full.tree.projectId,
      environment_id: full.tree.environmentId,
      created_by: full.tree.owner.id,
      name: 'Shop',
      repository: 'https://github.com/acme/shop.git',
      repository_name: 'shop',
      repository_owner: 'acme',
      default_branch: 'main',
      programming_language: 'php',
      programming_language_human_readable: 'PHP',
      engine_version: '8.5',
      framework: 'laravel',
      framework_human_readable: 'Laravel',
      root_directory: 'apps/shop',
      install_dependencies_command: 'composer install',
      build_command: 'npm run build',
      deployments_keep: 7,
      created_at: BORN,
    })
    assert.equal(updated_at, CHANGED)
    assert.equal(last_deployments.live.id, full.liveId)
    assert.equal(last_deployments.latest.id, full.latestId)
    const { last_action, ...known } = credential
    assert.equal(last_action.id, full.lastUseId)
    assert.deepEqual(known, {
      id: full.tree.credentialId,
      name: 'GitHub of Acme',
      provider: {
        active: true,
        code: 'github',
        code_human_readable: 'GitHub',
        type: 'source_provider',
        type_human_readable: 'Source provider',
      },
      provider_type: 'source_provider',
      provider_type_human_readable: 'Source provider',
      provider_auth_type: 'token',
      provider_auth_type_human_readable: 'Token',
      active: false,
      organization: await organization(),
      created_by_user: await user(full.credentialMaker.id),
      ...dated,
    })
  })

  test('refers to its parent and to its children, oldest first', () => {
    const restart = {
      status: 'completed',
      status_human_readable: 'Completed',
      type: 'restart',
      type_human_readable: 'Restart',
      resource_name: 'web-1',
      resource_type: 'server',
      resource_type_human_readable: 'Server',
    }
    const [first, second] = full.childIds as [number, number]
    assert.deepEqual(action.parent, {
      id: full.parentId,
      ...restart,
      url_web_permalink: permalink(full.parentId),
    })
    assert.deepEqual(action.children, [
      { id: first, ...restart, url_web_permalink: permalink(first) },
      {
        id: second,
        status: 'skipped',
        status_human_readable: 'Skipped',
        type: 'deploy',
        type_human_readable: 'Deploy',
        resource_name: 'Shop',
        resource_type: 'application',
        resource_type_human_readable: 'Application',
        url_web_permalink: permalink(second),
      },
    ])
  })

  test('shows the call that began it and the newest delivery about it', () => {
    assert.deepEqual(action.hook_requests, {
      incoming: {
        id: full.hook.callId,
        hook_id: full.hook.id,
        action_id: full.originalId,
        retry_of: full.hook.refusedCallId,
        ip_address: '192.0.2.7',
        url: 'http://gantry.test/hooks/********/trigger',
        response_status_code: 202,
        ...dated,
      },
      outgoing: {
        id: full.delivery.id,
        hook_id: full.delivery.hookId,
        action_id: full.id,
        retry_of: full.delivery.firstId,
        ip_address: '203.0.113.5',
        url: 'https://chat.example/********',
        response_status_code: 200,
        created_at: CHANGED,
        updated_at: CHANGED,
      },
    })
  })

  test('is the same in the list, without what only the single answer adds', async () => {
    const { body } = await request('GET', '/actions?per_page=100', { token: full.viewer.token })
    for (const item of body) nullsIn('Action (list item)', item)
    const { pipeline_id, retry_of, parent, children, triggered_by_user, hook_requests, ...item } = action
    assert.deepEqual(
      body.find((one: { id: number }) => one.id === full.id),
      item,
    )
  })

  test('was first started by a hook, of which the run bears the name and nobody’s e-mail', async () => {
    const original = await read(full.originalId, full.viewer.token)
    nullsIn('Action (single)', original)
    assert.deepEqual(original.triggered_from, {
      origin: 'GitHub-Hookshot/044aadd',
      trigger_type: 'hook',
      name: 'Push to main',
      email: null,
      ip_address: '192.0.2.7',
      user_id: null,
      hook_id: full.hook.id,
      hook_request_id: full.hook.callId,
      hook_parsed_variables: VARIABLES,
    })
    assert.equal(original.triggered_by_user, null)
    assert.equal(original.hook_requests.incoming.id, full.hook.callId)
    assert.equal(original.hook_requests.outgoing, null)
    assert.equal(original.retry_of, null)
    assert.equal(original.parent, null)
    assert.deepEqual(original.children, [])
  })

  test('knows its delivery also when no call began it', async () => {
    await db
      .insertInto('hook_requests')
      .values({
        id: '00000000-0000-4000-8000-000000000001',
        hook_id: full.delivery.hookId,
        type: 'outgoing',
        action_id: full.liveId,
        url: 'https://chat.example/',
        method: 'POST',
        outcome: 'failed',
      })
      .execute()
    const { hook_requests } = await read(full.liveId, full.viewer.token)
    assert.equal(hook_requests.incoming, null)
    assert.equal(hook_requests.outgoing.id, '00000000-0000-4000-8000-000000000001')
    assert.equal(hook_requests.outgoing.response_status_code, null)
  })

  test('carries a validator that changes when it changes', async () => {
    const answer = await request('GET', `/actions/${full.id}`, { token: full.viewer.token })
    assert.equal(answer.headers.etag, `W/"${full.id}-${Date.parse(CHANGED)}"`)
  })
})

describe('an action about which little is known', () => {
  let tree: TestTree
  before(async () => {
    tree = await createTestTree(db)
    const bare = { credential_id: null, programming_language: null, framework: null, repository: 'shop' }
    await db.updateTable('applications').set(bare).where('id', '=', tree.applicationId).execute()
  })

  test('is null wherever nothing is known, and leaves no field out', async () => {
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

  test('of any type but deploy has no action data, all three keys null', async () => {
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

  test('of this machine shows a local server', async () => {
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
  test('answers 404 alike for an action that is not there and for one that the caller may not see', async () => {
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

  test('answers 422 for what is no id', async () => {
    const { token } = await createPerson(db)
    for (const id of ['0', '-1', '1.5', 'x', '9007199254740992', '1e30']) {
      const { status, body } = await request('GET', `/actions/${id}`, { token })
      assert.equal(status, 422, id)
      assert.deepEqual(Object.keys(body.errors), ['action_id'])
    }
  })

  test('answers 401 without a token', async () => {
    assert.equal((await request('GET', '/actions/1')).status, 401)
    assert.equal((await request('GET', '/actions')).status, 401)
  })
})
