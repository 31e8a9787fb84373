// POST /pipelines/{id}/actions: the response, when it is rejected, and who may start a run.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { DEPLOY_STEPS } from '#model/pipelines/built-in-steps.ts'
import { assertStarted } from '#test/support/calls.ts'
import { commitOf, FAILED, faultsOf, openRuns, reasonOf, refused, started } from '#test/support/runs.ts'
import { addEnvironment, createAction, createMember, createTestTree } from '#test/support/world.ts'

const runs = await openRuns({ after })
const { api, db, tree, makeHook, call, archive, setPipeline, jobsFor, memberWith } = runs
const { ask, run, retry, cancel, readAction, rowOf, targetsOf, eventsOf } = runs
const { countActions, addStep, addDeployPipeline, deployed } = runs

suite('a run', () => {
  test('without a body deploys the default branch to every server, and returns the action', async () => {
    const action = await started(run())
    assert.deepEqual(action, await readAction(action.id))
    assert.equal(action.status, 'queued')
    assert.equal(action.trigger_comment, null)
    assert.deepEqual(action.action_data, {
      release_name: null,
      commit: null,
      deployment: {
        type: 'deploy',
        source_type: 'branch',
        source_ref: 'main',
        repository: 'https://github.com/acme/shop.git',
        provider_name: 'github',
        pipeline_id: tree.pipelineId,
      },
    })
    assert.deepEqual(action.summary.targets, {
      count: 2,
      pending: 2,
      in_progress: 0,
      completed: 0,
      failed: 0,
    })
    for (const target of action.targets)
      assert.deepEqual(
        target.steps.map((step: { name: string }) => step.name),
        DEPLOY_STEPS.map((step) => step.name),
      )
    assert.equal((await rowOf(action.id)).credential_id, tree.credentialId)
    assert.deepEqual(await eventsOf(action.id), [{ previous_status: null, status: 'queued' }])
    assert.equal(await jobsFor(action.id), 1)
  })

  test('is attributed to the user who started it', async () => {
    const developer = await createMember(db, tree, 'developer')
    const me = (await api.request('GET', '/users/me', { token: developer.token })).body
    const headers = { origin: 'https://gantry.example.com', 'user-agent': 'Browser/1' }
    const input = { trigger_comment: 'Hot fix' }
    const action = await started(run(input, { token: developer.token, headers, address: '203.0.113.5' }))
    assert.equal(action.trigger_comment, 'Hot fix')
    assert.deepEqual(action.triggered_from, {
      origin: 'https://gantry.example.com',
      trigger_type: 'manual',
      name: me.name,
      email: me.email,
      ip_address: '203.0.113.5',
      user_id: me.id,
      hook_id: null,
      hook_request_id: null,
      hook_parsed_variables: {},
    })
    assert.deepEqual(action.triggered_by_user, me)
    assert.equal(action.retry_of, null)
    const byAgent = await started(run({}, { headers: { 'user-agent': 'Browser/1' } }))
    assert.equal(byAgent.triggered_from.origin, 'Browser/1')
  })

  test('runs on the given servers, in the order of the plan and in its own batches', async () => {
    const at = await createTestTree(db)
    await setPipeline(at, { rollout: JSON.stringify({ batch: 1, max_failed: 0 }) })
    const [first, second] = at.serverIds
    const one = await started(run({ servers: [second] }, { at }))
    const both = await started(run({ servers: [second, first] }, { at }))
    const serversOf = async (id: number) =>
      (await targetsOf(id)).map(({ server_id, position, batch }) => [server_id, position, batch])
    assert.deepEqual(await serversOf(one.id), [[second, 1, 1]])
    assert.deepEqual(await serversOf(both.id), [
      [first, 1, 1],
      [second, 2, 2],
    ])
  })

  test('rejects servers of other pipelines, duplicates, and an empty list', async () => {
    const other = await createTestTree(db)
    const before = await countActions(tree)
    const [own] = tree.serverIds
    const [stranger] = other.serverIds
    const strangers = await refused(run({ servers: [own, stranger, 999_999] }), 404, 'not_found')
    assert.deepEqual(strangers.errors, {
      'servers.1': [`${stranger} is not a server of this pipeline`],
      'servers.2': ['999999 is not a server of this pipeline'],
    })
    assert.deepEqual(await faultsOf(run({ servers: [own, own] })), {
      servers: ['must not contain duplicates'],
    })
    assert.deepEqual(await faultsOf(run({ servers: [] })), { servers: ['must have 1 item or more'] })
    assert.deepEqual(await faultsOf(run({ servers: [0] })), { 'servers.0': ['must be 1 or more'] })
    assert.equal(await countActions(tree), before)
  })

  test('reports unknown fields and invalid values', async () => {
    const errors = await faultsOf(
      run({ server: 1, type: 'undeploy', source_ref: '', trigger_comment: 'x'.repeat(256) }),
    )
    assert.deepEqual(Object.keys(errors).sort(), ['server', 'source_ref', 'trigger_comment', 'type'])
    assert.deepEqual(errors.trigger_comment, ['must have 255 characters or fewer'])
    assert.deepEqual(await faultsOf(ask(`/pipelines/${tree.pipelineId}/actions`, [])), {
      body: ['must be an object'],
    })
  })
})

suite('a pipeline that cannot run', () => {
  test('is 409 with the reason, and nothing is stored', async () => {
    const at = await createTestTree(db)
    await archive(at)
    assert.equal(await reasonOf(run({}, { at })), 'The environment of the pipeline is archived.')
    await archive(at, null)
    await db.deleteFrom('application_servers').where('application_id', '=', at.applicationId).execute()
    assert.equal(await reasonOf(run({}, { at })), 'The pipeline has no servers to run on.')
    const link = { application_id: at.applicationId, environment_id: at.environmentId }
    await db
      .insertInto('application_servers')
      .values({ ...link, server_id: at.serverIds[0]! })
      .execute()
    await db.deleteFrom('pipeline_steps').where('pipeline_id', '=', at.pipelineId).execute()
    assert.equal(await reasonOf(run({}, { at })), 'The pipeline has no steps.')
    assert.equal(await countActions(at), 0)
  })

  test('is one that rejects runs while busy: of several concurrent ones, one starts', async () => {
    const at = await createTestTree(db)
    await setPipeline(at, { queue_policy: 'reject' })
    const answers = await Promise.all([1, 2, 3, 4].map(() => run({}, { at })))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409])
    assert.match(answers.find(({ status }) => status === 409)!.body.message, /busy/)
    const { body } = answers.find(({ status }) => status === 201)!
    await cancel(body.id, { at })
    const ended = await createAction(db, at, FAILED)
    await started(retry(ended, { at }))
    assert.match(await reasonOf(retry(ended, { at })), /busy/)
  })

  test('is not one with the policy latest: waiting runs stay', async () => {
    const at = await createTestTree(db)
    await setPipeline(at, { queue_policy: 'latest' })
    const waiting = assertStarted(await call(await makeHook({}, at)))
    await started(run({}, { at }))
    assert.equal((await rowOf(waiting)).status, 'queued')
  })
})

suite('pipelines that run after another', () => {
  test('get their run with it: pending, with its variables, and with the commit of a rollback', async () => {
    const at = await createTestTree(db)
    const after = await addDeployPipeline(at, 'Deploy once more')
    await addStep(after, 'get-new-release', 1)
    const link = { pipeline_id: after, after_pipeline_id: at.pipelineId, environment_id: at.environmentId }
    await db.insertInto('pipeline_run_after').values(link).execute()
    await deployed(at, '1')
    await deployed(at, '2')
    const parent = await started(run({ type: 'rollback', variables: { why: 'broken' } }, { at }))
    const [child] = parent.children
    assert.equal(child.status, 'pending')
    const row = await rowOf(child.id)
    assert.deepEqual(row.variables, { why: 'broken' })
    assert.equal(row.release_name, null)
    assert.equal(row.deployment?.type, 'deploy')
    assert.equal(row.deployment?.source_ref, commitOf('1').hash)
    assert.equal(await jobsFor(child.id), 0)
    await cancel(parent.id, { at })
    assert.equal((await rowOf(child.id)).status, 'skipped')
    const again = await started(retry(parent.id, { at }))
    assert.equal(again.children.length, 1)
  })
})

suite('permissions', () => {
  test('outsiders get 404, viewers 403, and unknown objects are 404', async () => {
    const ended = await createAction(db, tree, FAILED)
    const [outsider, viewer] = [(await createTestTree(db)).owner, await createMember(db, tree, 'viewer')]
    const before = await countActions(tree)
    for (const url of [
      `/pipelines/${tree.pipelineId}/actions`,
      `/actions/${ended}/retry`,
      `/actions/${ended}/cancel`,
    ]) {
      await refused(ask(url, {}, { token: outsider.token }), 404, 'not_found')
      await refused(ask(url, {}, { token: viewer.token }), 403, 'forbidden')
      await refused(ask(url.replace(/\d+/, '999999'), {}), 404, 'not_found')
      await refused(ask(url.replace(/\d+/, '0'), {}), 422, 'invalid')
    }
    assert.equal(await countActions(tree), before)
  })

  test('a user who may run but not view sees the run they started, and no other', async () => {
    const environment = await addEnvironment(db, tree.owner.id, tree.projectId, tree.credentialId)
    const at = { ...tree, ...environment }
    const user = await memberWith('pipeline:view', 'pipeline:run')
    await deployed(at, '1')
    const { resource, ...action } = await started(run({}, { at, token: user.token }))
    assert.equal(action.status, 'queued')
    assert.equal(resource.data.last_deployments.latest.id, action.id)
    assert.equal(resource.data.last_deployments.live, null)
    await refused(retry(action.id, { token: user.token }), 404, 'not_found')
  })
})
