// Every field of an action, where everything is known about it.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  BORN,
  CHANGED,
  COMMIT,
  createFullAction,
  DEPLOYMENT,
  type FullAction,
  VARIABLES,
} from '#test/support/full-action.ts'
import { describeAround } from '#test/support/full-action-tree.ts'
import { type Answer, openTestApp, TEST_BASE_URL } from '#test/support/harness.ts'
import { nullsIn } from '#test/support/spec-shapes.ts'

const { db, request } = await openTestApp({ after })

const dated = { created_at: BORN, updated_at: CHANGED }
const permalink = (id: number) => `${TEST_BASE_URL}/app/actions/${id}`

async function read(id: number, token: string): Promise<Answer['body']> {
  const answer = await request('GET', `/actions/${id}`, { token })
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}

describe('a full action', () => {
  let full: FullAction
  let around: ReturnType<typeof describeAround>
  let action: Answer['body']
  before(async () => {
    full = await createFullAction(db)
    around = describeAround(db, full)
    action = await read(full.id, full.viewer.token)
  })

  test('has exactly the fields of the spec at every level, none of its own null', () => {
    const inOthers = /^resource\.data\.(last_deployments|credential\.last_action)/
    const own = nullsIn('Action (single)', action).filter((path) => !inOthers.test(path))
    assert.deepEqual(own, ['targets.1.steps.1.started_at'])
  })

  test('shows its status', () => {
    const { id, status, status_human_readable, status_reason_code, status_reason_human_readable } = action
    assert.deepEqual(
      [id, status, status_human_readable, status_reason_code, status_reason_human_readable],
      [full.id, 'failed', 'Failed', 'FAILED_TIMEOUT', 'Step timed out'],
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

  test('shows what it deployed', () => {
    assert.deepEqual(action.action_data, {
      release_name: '20261103080000-1f0c5e7a',
      commit: COMMIT,
      deployment: { ...DEPLOYMENT, pipeline_id: full.tree.pipelineId },
    })
  })

  test('shows who and what triggered it, with the variables of the hook', async () => {
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
    assert.deepEqual(action.triggered_by_user, await around.user(full.retrier.id))
    assert.equal(action.retry_of, full.originalId)
  })

  test('shows its targets in order, with their steps', () => {
    const [first, second] = full.targetIds as [number, number]
    const [web1, web2] = full.tree.serverIds as [number, number]
    const status = (status: string, reason: string, readable: string) => ({
      status,
      status_human_readable: status.charAt(0).toUpperCase() + status.slice(1),
      status_reason_code: reason,
      status_reason_human_readable: readable,
    })
    const done = status('completed', 'COMPLETED', 'Completed')
    const late = status('failed', 'FAILED_TIMEOUT', 'Step timed out')
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

  test('shows its organization, project, archived environment and this month’s credits', async () => {
    assert.deepEqual(action.organization, await around.organization())
    assert.deepEqual(action.project, await around.project())
    assert.deepEqual(action.environment, await around.environment())
  })

  test('shows its application with the live and latest deployments and the last use of the credential', async () => {
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
    assert.deepEqual(known, await around.credential())
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

  test('shows the call that triggered it and the newest delivery about it', () => {
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

  test('is the same in the list, without the fields of the single read', async () => {
    const { body } = await request('GET', '/actions?per_page=100', { token: full.viewer.token })
    for (const item of body) nullsIn('Action (list item)', item)
    const { pipeline_id, retry_of, parent, children, triggered_by_user, hook_requests, ...item } = action
    assert.deepEqual(
      body.find((one: { id: number }) => one.id === full.id),
      item,
    )
  })

  test('that a hook triggered has the name of the hook and no email', async () => {
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

  test('shows its delivery even when no call triggered it', async () => {
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

  test('has an ETag that follows its updates', async () => {
    const answer = await request('GET', `/actions/${full.id}`, { token: full.viewer.token })
    assert.equal(answer.headers.etag, `W/"${full.id}-${Date.parse(CHANGED)}"`)
  })
})
