// What people ask of runs: POST /pipelines/{id}/actions, /actions/{id}/retry, /actions/{id}/cancel.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import type { Commit } from '#database/tables.ts'
import { DEPLOY_STEPS } from '#pipelines/built-in-steps.ts'
import { loadRun } from '#runner/load-run.ts'
import { assertRefused, assertStarted, openCalls, withVariables } from './calls.ts'
import type { RequestOptions } from './harness.ts'
import { addEnvironment, createAction, createMember, createTestTree, type TestTree } from './world.ts'

const { api, db, tree, makeHook, call, archive, setPipeline, jobsFor, memberWith } = await openCalls({
  after,
})

type By = RequestOptions & { at?: TestTree; token?: string }

const ask = (url: string, body?: unknown, { at = tree, ...more }: By = {}) =>
  api.request('POST', url, { token: at.owner.token, body, ...more })
const run = (body?: unknown, by: By = {}) => ask(`/pipelines/${(by.at ?? tree).pipelineId}/actions`, body, by)
const retry = (id: number, by?: By) => ask(`/actions/${id}/retry`, undefined, by)
const cancel = (id: number, by?: By) => ask(`/actions/${id}/cancel`, undefined, by)

async function started(answer: ReturnType<typeof run>) {
  const { status, body, text } = await answer
  assert.equal(status, 201, text)
  return body
}

async function refused(answer: ReturnType<typeof run>, status: number, code: string) {
  const got = await answer
  assertRefused(got, status, code)
  return got.body
}
const faultsOf = async (answer: ReturnType<typeof run>) => (await refused(answer, 422, 'invalid')).errors
const reasonOf = async (answer: ReturnType<typeof run>) => (await refused(answer, 409, 'conflict')).message

const readAction = async (id: number, at = tree) =>
  (await api.request('GET', `/actions/${id}`, { token: at.owner.token })).body
const rowOf = (id: number) =>
  db.selectFrom('actions').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
const targetsOf = (id: number) =>
  db.selectFrom('targets').selectAll().where('action_id', '=', id).orderBy('position').execute()
const eventsOf = (id: number) =>
  db
    .selectFrom('events')
    .select(['previous_status', 'status'])
    .where('action_id', '=', id)
    .orderBy('id')
    .execute()

async function countActions(at: TestTree): Promise<number> {
  const { count } = await db
    .selectFrom('actions')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('environment_id', '=', at.environmentId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

const addStep = (pipeline_id: number, name: string, position: number) =>
  db.insertInto('pipeline_steps').values({ pipeline_id, name, position, command: 'true' }).execute()

async function addDeployPipeline(at: TestTree, name: string): Promise<number> {
  const { id } = await db
    .insertInto('pipelines')
    .values({
      environment_id: at.environmentId,
      resource_type: 'application',
      application_id: at.applicationId,
      name,
      operation: 'deploy',
      created_by: at.owner.id,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

function commitOf(digit: string): Commit & { hash: string } {
  const nothing = { author_name: null, author_email: null, committed_at: null, clone_url: null }
  const hash = digit.repeat(40)
  return { ...nothing, repository: 'acme/shop', hash, message: digit, url: null, download_url: null }
}

const DEPLOYMENT = {
  type: 'deploy',
  source_type: 'branch',
  source_ref: 'main',
  repository: 'https://github.com/acme/shop.git',
  provider_name: 'github',
}

/** A deploy that has completed, and is the live one by now. */
async function deployed(at: TestTree, digit: string, more: object = {}): Promise<number> {
  const id = await createAction(db, at, {
    release_name: `2026010100000${digit}-${digit.repeat(8)}`,
    commit: JSON.stringify(commitOf(digit)),
    deployment: JSON.stringify(DEPLOYMENT),
    ...more,
  })
  await db
    .updateTable('applications')
    .set({ live_action_id: id })
    .where('id', '=', at.applicationId)
    .execute()
  return id
}

const FAILED = { status: 'failed', status_reason_code: 'FAILED' } as const
const RUNNING = {
  status: 'in-progress',
  status_reason_code: 'IN_PROGRESS',
  started_at: '2026-01-01T00:00:00Z',
  completed_at: null,
} as const
const QUEUED = {
  status: 'queued',
  status_reason_code: 'QUEUED',
  started_at: null,
  completed_at: null,
} as const

suite('a run', () => {
  test('without a body takes the default branch to every server, and is answered as the single action', async () => {
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

  test('is attributed to the person who asked for it', async () => {
    const developer = await createMember(db, tree, 'developer')
    const me = (await api.request('GET', '/users/me', { token: developer.token })).body
    const headers = { origin: 'https://gantry.example.com', 'user-agent': 'Browser/1' }
    const wish = { trigger_comment: 'Hot fix' }
    const action = await started(run(wish, { token: developer.token, headers, address: '203.0.113.5' }))
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

  test('takes the servers that are given, in the order of the plan and in batches of their own', async () => {
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

  test('does not take servers of others, the same server twice, or none', async () => {
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
      servers: ['must not list the same thing twice'],
    })
    assert.deepEqual(await faultsOf(run({ servers: [] })), { servers: ['must have 1 item or more'] })
    assert.deepEqual(await faultsOf(run({ servers: [0] })), { 'servers.0': ['must be 1 or more'] })
    assert.equal(await countActions(tree), before)
  })

  test('names fields that it does not know, and what is wrong with those that it knows', async () => {
    const faults = await faultsOf(
      run({ server: 1, type: 'undeploy', source_ref: '', trigger_comment: 'x'.repeat(256) }),
    )
    assert.deepEqual(Object.keys(faults).sort(), ['server', 'source_ref', 'trigger_comment', 'type'])
    assert.deepEqual(faults.trigger_comment, ['must have 255 characters or fewer'])
    assert.deepEqual(await faultsOf(ask(`/pipelines/${tree.pipelineId}/actions`, [])), {
      body: ['must be an object'],
    })
  })
})

suite('what a run deploys', () => {
  test('is a branch unless something else is said; full names say it themselves', async () => {
    const hash = 'ab12'.repeat(10)
    const wishes: [object, [string, string]][] = [
      [{ source_ref: 'next' }, ['branch', 'next']],
      [{ source_type: 'branch' }, ['branch', 'main']],
      [{ source_type: 'tag', source_ref: 'v1.2' }, ['tag', 'v1.2']],
      [{ source_type: 'commit', source_ref: hash }, ['commit', hash]],
      [{ source_type: 'branch', source_ref: 'refs/heads/feature/x' }, ['branch', 'feature/x']],
      [{ source_ref: 'refs/tags/v2' }, ['tag', 'v2']],
      [{ type: 'deploy', source_ref: 'next' }, ['branch', 'next']],
    ]
    for (const [wish, source] of wishes) {
      const { deployment } = (await started(run(wish))).action_data
      assert.deepEqual([deployment.source_type, deployment.source_ref], source)
      assert.equal(deployment.type, 'deploy')
    }
  })

  test('must be possible: no name that git would refuse, no kind without a name', async () => {
    const fault = async (wish: object) => (await faultsOf(run(wish))).source_ref[0]
    assert.equal(
      await fault({ source_ref: '--upload-pack=x' }),
      '"--upload-pack=x" cannot be the name of a branch.',
    )
    assert.match(await fault({ source_ref: 'a..b' }), /cannot be the name of a branch/)
    assert.match(await fault({ source_type: 'commit', source_ref: 'main' }), /is no commit/)
    assert.equal(await fault({ source_type: 'tag' }), 'is required: which tag?')
    assert.equal(
      await fault({ source_type: 'tag', source_ref: 'refs/heads/x' }),
      'is the full name of a branch, not of a tag',
    )
  })

  test('can be chosen only for pipelines that deploy', async () => {
    await addStep(tree.serverPipelineId, 'restart', 1)
    const url = `/pipelines/${tree.serverPipelineId}/actions`
    const why = ['is for pipelines that deploy an application']
    assert.deepEqual(
      await faultsOf(ask(url, { source_type: 'branch', source_ref: 'main', type: 'deploy' })),
      {
        source_type: why,
        source_ref: why,
        type: why,
      },
    )
    const action = await started(ask(url, { variables: { force: true } }))
    assert.equal(action.type, 'restart')
    assert.deepEqual(action.action_data, { release_name: null, commit: null, deployment: null })
    assert.deepEqual(
      (await targetsOf(action.id)).map(({ server_id }) => server_id),
      [tree.serverIds[0]],
    )
  })

  test('is the commit of the live release for a redeploy, in a release of its own', async () => {
    const at = await createTestTree(db)
    assert.match(await reasonOf(run({ type: 'redeploy' }, { at })), /no live release yet/)
    await deployed(at, '1')
    await deployed(at, '2')
    const { action_data } = await started(run({ type: 'redeploy' }, { at }))
    assert.deepEqual(action_data.commit, commitOf('2'))
    assert.equal(action_data.release_name, null)
    const { type, source_type, source_ref } = action_data.deployment
    assert.deepEqual([type, source_type, source_ref], ['redeploy', 'commit', commitOf('2').hash])
  })

  test('is the release before the live one for a rollback, whichever pipeline made it', async () => {
    const at = await createTestTree(db)
    assert.match(await reasonOf(run({ type: 'rollback' }, { at })), /no live release yet/)
    const other = await addDeployPipeline(at, 'Deploy by hand')
    await deployed({ ...at, pipelineId: other }, '1')
    assert.match(await reasonOf(run({ type: 'rollback' }, { at })), /no release before the live one/)
    await createAction(db, at, { ...FAILED, commit: JSON.stringify(commitOf('8')), release_name: 'failed' })
    await createAction(db, await createTestTree(db), { release_name: 'of another application' })
    await deployed(at, '2')
    await deployed(at, '2', { trigger_type: 'retry' })
    const { action_data } = await started(run({ type: 'rollback' }, { at }))
    assert.equal(action_data.release_name, '20260101000001-11111111')
    assert.deepEqual(action_data.commit, commitOf('1'))
    const { type, source_type, source_ref } = action_data.deployment
    assert.deepEqual([type, source_type, source_ref], ['rollback', 'commit', commitOf('1').hash])
  })

  test('cannot be chosen for a redeploy or a rollback', async () => {
    for (const type of ['redeploy', 'rollback']) {
      const why = [`cannot be chosen: a ${type} takes an earlier release`]
      assert.deepEqual(await faultsOf(run({ type, source_type: 'tag', source_ref: 'v1' })), {
        source_type: why,
        source_ref: why,
      })
    }
  })
})

suite('variables', () => {
  const given = { Release: 'v1', count: -7, 'dry-run': false, hosts: ['a', { b: 1 }] }

  /** Without a credential, which no test can open. */
  async function treeToRun(): Promise<TestTree> {
    const at = await createTestTree(db)
    await db
      .updateTable('applications')
      .set({ credential_id: null })
      .where('id', '=', at.applicationId)
      .execute()
    return at
  }
  async function variablesOfRun(id: number) {
    const loaded = await loadRun(db, api.box, (await targetsOf(id))[0]!.id)
    assert.ok(!('kind' in loaded))
    return loaded.hookVariables
  }

  test('reach the steps, and are not taken for those of a hook', async () => {
    const at = await treeToRun()
    const action = await started(run({ variables: given }, { at }))
    assert.deepEqual(action.triggered_from.hook_parsed_variables, {})
    assert.deepEqual(await variablesOfRun(action.id), given)
    const bare = await started(run({}, { at }))
    assert.deepEqual(await variablesOfRun(bare.id), {})
  })

  test('do not choose the source, as those of a hook do', async () => {
    const { deployment } = (await started(run({ variables: { branch: 'next' } }))).action_data
    assert.equal(deployment.source_ref, 'main')
  })

  test('are those of the call when a hook has started the run, and its retry has them too', async () => {
    const at = await treeToRun()
    const hook = await makeHook(withVariables({ name: 'tag' }), at)
    const id = assertStarted(await call(hook, { tag: 'v3' }))
    assert.deepEqual(await variablesOfRun(id), { tag: 'v3' })
    await cancel(id, { at })
    const again = await started(retry(id, { at }))
    assert.deepEqual(await variablesOfRun(again.id), { tag: 'v3' })
  })

  test('of a call reach the runs that follow, and those after them, which show none: no hook started them', async () => {
    const at = await treeToRun()
    const [next, last] = [await addDeployPipeline(at, 'Next'), await addDeployPipeline(at, 'Last')]
    for (const [pipeline_id, after_pipeline_id] of [
      [next, at.pipelineId],
      [last, next],
    ] as const) {
      await addStep(pipeline_id, 'get-new-release', 1)
      const link = { pipeline_id, after_pipeline_id, environment_id: at.environmentId }
      await db.insertInto('pipeline_run_after').values(link).execute()
    }
    const hook = await makeHook(withVariables({ name: 'tag' }), at)
    const parent = await readAction(assertStarted(await call(hook, { tag: 'v3' })), at)
    assert.deepEqual(parent.triggered_from.hook_parsed_variables, { tag: 'v3' })
    const child = await readAction(parent.children[0].id, at)
    const grandchild = await readAction(child.children[0].id, at)
    for (const { id, triggered_from } of [child, grandchild]) {
      assert.deepEqual([triggered_from.hook_id, triggered_from.hook_parsed_variables], [null, {}])
      assert.deepEqual(await variablesOfRun(id), { tag: 'v3' })
    }
    await cancel(child.id, { at })
    const again = await started(retry(child.id, { at }))
    assert.deepEqual(again.triggered_from.hook_parsed_variables, {})
    assert.deepEqual(await variablesOfRun(again.id), { tag: 'v3' })
  })

  test('have names and values like those of hooks: every fault is named', async () => {
    const variables = {
      '1st': 'x',
      'a b': 'x',
      Same: 1,
      same: 2,
      long: 'x'.repeat(64 * 1024 + 1),
      large: 2 ** 53,
    }
    const faults = await faultsOf(run({ variables }))
    assert.deepEqual(Object.keys(faults).sort(), [
      'variables.1st',
      'variables.a b',
      'variables.large',
      'variables.long',
      'variables.same',
    ])
    assert.deepEqual(faults['variables.long'], ['is longer than 64 KiB'])
    const wrongKinds = await faultsOf(run({ variables: { a: null, b: { c: 1 }, d: 1.5 } }))
    assert.deepEqual(Object.keys(wrongKinds), ['variables.a', 'variables.b', 'variables.d'])
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`v${index}`, index]))
    assert.deepEqual(Object.keys(await faultsOf(run({ variables: many }))), ['variables'])
    await started(run({ variables: { ['x'.repeat(64)]: 1, constructor: 'x' } }))
  })
})

suite('a pipeline that cannot run', () => {
  test('is 409 with the reason, and nothing is stored', async () => {
    const at = await createTestTree(db)
    await archive(at)
    assert.equal(await reasonOf(run({}, { at })), 'The environment of the pipeline is archived.')
    await archive(at, null)
    await db.deleteFrom('application_servers').where('application_id', '=', at.applicationId).execute()
    assert.equal(await reasonOf(run({}, { at })), 'The pipeline has no server to run on.')
    const link = { application_id: at.applicationId, environment_id: at.environmentId }
    await db
      .insertInto('application_servers')
      .values({ ...link, server_id: at.serverIds[0]! })
      .execute()
    await db.deleteFrom('pipeline_steps').where('pipeline_id', '=', at.pipelineId).execute()
    assert.equal(await reasonOf(run({}, { at })), 'The pipeline has no step to run.')
    assert.equal(await countActions(at), 0)
  })

  test('is one that rejects runs while it is busy: of several at once, one starts', async () => {
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

  test('is not one that runs only the latest of its hooks: what waits there stays', async () => {
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

suite('a retry', () => {
  test('repeats an ended action for the person who asks: servers, variables, hook and commit', async () => {
    const at = await createTestTree(db)
    const hook = await makeHook(withVariables({ name: 'branch' }), at)
    const first = assertStarted(await call(hook, { branch: 'next' }))
    const commit = JSON.stringify(commitOf('3'))
    await db.updateTable('actions').set({ commit, release_name: 'made' }).where('id', '=', first).execute()
    await db
      .deleteFrom('targets')
      .where('action_id', '=', first)
      .where('server_id', '=', at.serverIds[0]!)
      .execute()
    assert.equal(
      await reasonOf(retry(first, { at })),
      'The action has not ended yet; cancel it first, or wait.',
    )
    await cancel(first, { at })
    await addStep(at.pipelineId, 'smoke-test', 7)
    const developer = await createMember(db, at, 'developer')
    const action = await started(retry(first, { at, token: developer.token, address: '203.0.113.9' }))
    const { triggered_from: before } = await readAction(first, at)
    assert.equal(action.retry_of, first)
    assert.equal(action.parent, null)
    assert.deepEqual(action.triggered_from, {
      ...before,
      trigger_type: 'retry',
      origin: action.triggered_from.origin,
      name: developer.email.split('@')[0],
      email: developer.email,
      user_id: developer.id,
      ip_address: '203.0.113.9',
    })
    assert.deepEqual(action.triggered_from.hook_parsed_variables, { branch: 'next' })
    assert.equal(action.hook_requests.incoming.id, before.hook_request_id)
    const { release_name, deployment } = action.action_data
    assert.equal(release_name, null)
    assert.deepEqual(action.action_data.commit, commitOf('3'))
    assert.deepEqual(
      [deployment.type, deployment.source_type, deployment.source_ref],
      ['deploy', 'commit', commitOf('3').hash],
    )
    const [target, ...others] = await targetsOf(action.id)
    assert.equal(target!.server_id, at.serverIds[1])
    assert.deepEqual(others, [])
    assert.deepEqual(
      target!.steps.map(({ name, status }) => [name, status]),
      [...DEPLOY_STEPS.map(({ name }) => [name, 'pending']), ['smoke-test', 'pending']],
    )
    assert.deepEqual(await eventsOf(action.id), [{ previous_status: null, status: 'queued' }])
    assert.equal(await jobsFor(action.id), 1)
  })

  test('asks for the same source when no commit was found', async () => {
    const first = await started(run({ source_type: 'tag', source_ref: 'v9', variables: { a: 1 } }))
    await cancel(first.id)
    const again = await started(retry(first.id))
    const { source_type, source_ref } = again.action_data.deployment
    assert.deepEqual([source_type, source_ref, again.action_data.commit], ['tag', 'v9', null])
    assert.deepEqual((await rowOf(again.id)).variables, { a: 1 })
    assert.equal(again.trigger_comment, null)
  })

  test('of a rollback goes back to the same release', async () => {
    const at = await createTestTree(db)
    await deployed(at, '1')
    await deployed(at, '2')
    const rollback = await started(run({ type: 'rollback' }, { at }))
    await cancel(rollback.id, { at })
    await deployed(at, '4')
    const again = await started(retry(rollback.id, { at }))
    assert.deepEqual(again.action_data, rollback.action_data)
  })

  test('leaves out servers that the pipeline no longer has, and is 409 when none is left', async () => {
    const at = await createTestTree(db)
    const first = await createAction(db, at, FAILED)
    const unlink = (id: number) => db.deleteFrom('application_servers').where('server_id', '=', id).execute()
    await unlink(at.serverIds[0]!)
    const again = await started(retry(first, { at }))
    assert.deepEqual(
      (await targetsOf(again.id)).map(({ server_id }) => server_id),
      [at.serverIds[1]],
    )
    await unlink(at.serverIds[1]!)
    assert.match(await reasonOf(retry(first, { at })), /no longer has any of the servers/)
    assert.equal(await countActions(at), 2)
  })

  test('can be asked for twice at once: these are two', async () => {
    const first = await createAction(db, tree, FAILED)
    const [one, other] = await Promise.all([started(retry(first)), started(retry(first))])
    assert.notEqual(one.id, other.id)
    assert.deepEqual([one.retry_of, other.retry_of], [first, first])
  })

  test('takes no fields', async () => {
    const first = await createAction(db, tree, FAILED)
    for (const verb of ['retry', 'cancel'])
      assert.deepEqual(Object.keys(await faultsOf(ask(`/actions/${first}/${verb}`, { servers: [1] }))), [
        'servers',
      ])
  })
})

suite('cancelling', () => {
  test('ends at once what has not begun, with its event; twice is once', async () => {
    const developer = await createMember(db, tree, 'developer')
    const { id } = await started(run())
    const { status, body } = await cancel(id, { token: developer.token })
    assert.equal(status, 202)
    assert.deepEqual(body, await readAction(id))
    assert.deepEqual([body.status, body.status_reason_code], ['failed', 'FAILED_CANCELLED'])
    for (const target of body.targets) assert.equal(target.status_reason_code, 'FAILED_CANCELLED')
    const again = await cancel(id)
    assert.equal(again.status, 202)
    assert.deepEqual(again.body, body)
    assert.equal((await rowOf(id)).cancelled_by, developer.id)
    assert.deepEqual(
      (await eventsOf(id)).map(({ status }) => status),
      ['queued', 'failed'],
    )
  })

  test('leaves to its worker what has begun', async () => {
    const id = await createAction(db, tree, { ...RUNNING, has_place: true }, RUNNING)
    const { status, body } = await cancel(id)
    assert.equal(status, 202)
    assert.equal(body.status, 'in-progress')
    assert.equal((await cancel(id)).status, 202)
    assert.ok((await rowOf(id)).cancelled_at)
  })

  test('is 409 for what has ended by itself, even when the wish came in time', async () => {
    const ended = [
      await createAction(db, tree),
      await createAction(db, tree, FAILED),
      await createAction(db, tree, { cancelled_at: new Date(), cancelled_by: tree.owner.id }),
    ]
    for (const id of ended) assert.equal(await reasonOf(cancel(id)), 'The action has ended already.')
  })

  test('lets the next one have the place', async () => {
    const at = await createTestTree(db)
    const idle = { ...QUEUED, status: 'pending', status_reason_code: 'PENDING' } as const
    const first = await createAction(db, at, { ...QUEUED, has_place: true }, QUEUED)
    const next = await createAction(db, at, QUEUED, idle)
    await cancel(first, { at })
    const row = await rowOf(next)
    assert.ok(row.has_place)
    const targets = await targetsOf(next)
    assert.deepEqual(
      targets.map(({ status }) => status),
      ['queued', 'queued'],
    )
    const { rows } = await sql<{ jobs: number }>`
      select count(*) as jobs from queue.job where name = 'targets.run'
        and (data ->> 'target_id')::bigint = any(${targets.map(({ id }) => id)}::bigint[])`.execute(db)
    assert.equal(Number(rows[0]!.jobs), 2)
  })
})

suite('who may', () => {
  test('outsiders get 404, viewers 403, and unknown things are 404', async () => {
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

  test('someone who may run but not view actions sees the run they have started, and no other', async () => {
    const place = await addEnvironment(db, tree.owner.id, tree.projectId, tree.credentialId)
    const at = { ...tree, ...place }
    const person = await memberWith('pipeline:view', 'pipeline:run')
    await deployed(at, '1')
    const { resource, ...action } = await started(run({}, { at, token: person.token }))
    assert.equal(action.status, 'queued')
    assert.equal(resource.data.last_deployments.latest.id, action.id)
    assert.equal(resource.data.last_deployments.live, null)
    await refused(retry(action.id, { token: person.token }), 404, 'not_found')
  })
})
