// POST /pipelines/{id}/actions: the input of a run, its source and variables.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { loadRun } from '#engine/runner/load-run.ts'
import { assertStarted, withVariables } from '#test/support/calls.ts'
import { commitOf, FAILED, faultsOf, openRuns, reasonOf, started } from '#test/support/runs.ts'
import { createAction, createTestTree, type TestTree } from '#test/support/world.ts'

const runs = await openRuns({ after })
const { api, db, tree, makeHook, call, ask, run, retry, cancel } = runs
const { readAction, targetsOf, addStep, addDeployPipeline, deployed } = runs

suite('the source of a run', () => {
  test('is a branch by default; full ref names carry their type', async () => {
    const hash = 'ab12'.repeat(10)
    const inputs: [object, [string, string]][] = [
      [{ source_ref: 'next' }, ['branch', 'next']],
      [{ source_type: 'branch' }, ['branch', 'main']],
      [{ source_type: 'tag', source_ref: 'v1.2' }, ['tag', 'v1.2']],
      [{ source_type: 'commit', source_ref: hash }, ['commit', hash]],
      [{ source_type: 'branch', source_ref: 'refs/heads/feature/x' }, ['branch', 'feature/x']],
      [{ source_ref: 'refs/tags/v2' }, ['tag', 'v2']],
      [{ type: 'deploy', source_ref: 'next' }, ['branch', 'next']],
    ]
    for (const [input, source] of inputs) {
      const { deployment } = (await started(run(input))).action_data
      assert.deepEqual([deployment.source_type, deployment.source_ref], source)
      assert.equal(deployment.type, 'deploy')
    }
  })

  test('must be valid: no name that git rejects, no type without a name', async () => {
    const errorOf = async (input: object) => (await faultsOf(run(input))).source_ref[0]
    assert.equal(
      await errorOf({ source_ref: '--upload-pack=x' }),
      '"--upload-pack=x" is not a valid branch name.',
    )
    assert.match(await errorOf({ source_ref: 'a..b' }), /is not a valid branch/)
    assert.match(await errorOf({ source_type: 'commit', source_ref: 'main' }), /is not a commit/)
    assert.equal(await errorOf({ source_type: 'tag' }), 'is required when source_type is tag')
    assert.equal(
      await errorOf({ source_type: 'tag', source_ref: 'refs/heads/x' }),
      'is the full name of a branch, not of a tag',
    )
  })

  test('can be set only for deploy pipelines', async () => {
    await addStep(tree.serverPipelineId, 'restart', 1)
    const url = `/pipelines/${tree.serverPipelineId}/actions`
    const why = ['is only for deploy pipelines']
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

  test('is the commit of the live release for a redeploy, in a new release', async () => {
    const at = await createTestTree(db)
    assert.match(await reasonOf(run({ type: 'redeploy' }, { at })), /no live release/)
    await deployed(at, '1')
    await deployed(at, '2')
    const { action_data } = await started(run({ type: 'redeploy' }, { at }))
    assert.deepEqual(action_data.commit, commitOf('2'))
    assert.equal(action_data.release_name, null)
    const { type, source_type, source_ref } = action_data.deployment
    assert.deepEqual([type, source_type, source_ref], ['redeploy', 'commit', commitOf('2').hash])
  })

  test('is the release before the live one for a rollback, whichever pipeline deployed it', async () => {
    const at = await createTestTree(db)
    assert.match(await reasonOf(run({ type: 'rollback' }, { at })), /no live release/)
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

  test('is the named release for a rollback, if it completed once and is not live', async () => {
    const at = await createTestTree(db)
    const back = (release_name: string) => run({ type: 'rollback', release_name }, { at })
    const nameOf = (digit: string) => `2026010100000${digit}-${digit.repeat(8)}`
    assert.match(await reasonOf(back(nameOf('1'))), /no live release/)
    await deployed(at, '1')
    const alone = await faultsOf(back('yesterday'))
    assert.deepEqual(alone.release_name, [
      'is not a release of this application; it has none to roll back to',
    ])
    for (const digit of ['2', '3', '4', '5']) await deployed(at, digit)
    const { action_data } = await started(back(nameOf('2')))
    assert.equal(action_data.release_name, nameOf('2'))
    assert.deepEqual(action_data.commit, commitOf('2'))
    assert.equal(action_data.deployment.type, 'rollback')

    const elsewhere = await createTestTree(db)
    await deployed(elsewhere, '7')
    await createAction(db, at, {
      ...FAILED,
      commit: JSON.stringify(commitOf('8')),
      release_name: nameOf('8'),
    })
    for (const name of [nameOf('7'), nameOf('8'), nameOf('9')]) {
      const [message] = (await faultsOf(back(name))).release_name
      assert.match(message, /^is not a release to roll back to; the nearest are (\S+, ){2}\S+$/)
      assert.doesNotMatch(message, /-(5|7|8){8}/)
    }
    const byCommit = (await faultsOf(back('33333333'))).release_name[0]
    assert.match(byCommit, new RegExp(`the nearest are ${nameOf('3')}, `))
    assert.deepEqual((await faultsOf(back(nameOf('5')))).release_name, [
      'is the live release; name an earlier one',
    ])
  })

  test('can name a release only for a rollback', async () => {
    const release_name = '20260101000001-11111111'
    const why = { release_name: ['is only for rollbacks'] }
    assert.deepEqual(await faultsOf(run({ release_name })), why)
    assert.deepEqual(await faultsOf(run({ type: 'redeploy', release_name })), why)
    const url = `/pipelines/${tree.serverPipelineId}/actions`
    assert.deepEqual(await faultsOf(ask(url, { release_name })), {
      release_name: ['is only for deploy pipelines'],
    })
  })

  test('cannot be set for a redeploy or a rollback', async () => {
    for (const type of ['redeploy', 'rollback']) {
      const why = [`cannot be set: a ${type} uses an earlier release`]
      assert.deepEqual(await faultsOf(run({ type, source_type: 'tag', source_ref: 'v1' })), {
        source_type: why,
        source_ref: why,
      })
    }
  })
})

suite('variables', () => {
  const given = { Release: 'v1', count: -7, 'dry-run': false, hosts: ['a', { b: 1 }] }

  /** Without a credential, which tests cannot decrypt. */
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

  test('reach the steps, and are not shown as those of a hook', async () => {
    const at = await treeToRun()
    const action = await started(run({ variables: given }, { at }))
    assert.deepEqual(action.triggered_from.hook_parsed_variables, {})
    assert.deepEqual(await variablesOfRun(action.id), given)
    const bare = await started(run({}, { at }))
    assert.deepEqual(await variablesOfRun(bare.id), {})
  })

  test('do not select the source, as those of a hook do', async () => {
    const { deployment } = (await started(run({ variables: { branch: 'next' } }))).action_data
    assert.equal(deployment.source_ref, 'main')
  })

  test('come from the call when a hook has started the run, and a retry keeps them', async () => {
    const at = await treeToRun()
    const hook = await makeHook(withVariables({ name: 'tag' }), at)
    const id = assertStarted(await call(hook, { tag: 'v3' }))
    assert.deepEqual(await variablesOfRun(id), { tag: 'v3' })
    await cancel(id, { at })
    const again = await started(retry(id, { at }))
    assert.deepEqual(await variablesOfRun(again.id), { tag: 'v3' })
  })

  test('of a call reach all descendants, and all of them show them', async () => {
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
      assert.deepEqual([triggered_from.hook_id, triggered_from.hook_parsed_variables], [null, { tag: 'v3' }])
      assert.deepEqual(await variablesOfRun(id), { tag: 'v3' })
    }
    await cancel(child.id, { at })
    const again = await started(retry(child.id, { at }))
    assert.deepEqual(again.triggered_from.hook_parsed_variables, { tag: 'v3' })
    assert.deepEqual(await variablesOfRun(again.id), { tag: 'v3' })
    const manual = await started(run({ variables: { tag: 'v4' } }, { at }))
    const follower = await readAction(manual.children[0].id, at)
    assert.deepEqual(follower.triggered_from.hook_parsed_variables, {}, 'those of a person are not of a hook')
    assert.deepEqual(await variablesOfRun(follower.id), { tag: 'v4' })
  })

  test('follow the rules of hook variables: every error is listed', async () => {
    const variables = {
      '1st': 'x',
      'a b': 'x',
      Same: 1,
      same: 2,
      long: 'x'.repeat(64 * 1024 + 1),
      large: 2 ** 53,
    }
    const errors = await faultsOf(run({ variables }))
    assert.deepEqual(Object.keys(errors).sort(), [
      'variables.1st',
      'variables.a b',
      'variables.large',
      'variables.long',
      'variables.same',
    ])
    assert.deepEqual(errors['variables.long'], ['is longer than 64 KiB'])
    const wrongKinds = await faultsOf(run({ variables: { a: null, b: { c: 1 }, d: 1.5 } }))
    assert.deepEqual(Object.keys(wrongKinds), ['variables.a', 'variables.b', 'variables.d'])
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`v${index}`, index]))
    assert.deepEqual(Object.keys(await faultsOf(run({ variables: many }))), ['variables'])
    await started(run({ variables: { ['x'.repeat(64)]: 1, constructor: 'x' } }))
  })
})
