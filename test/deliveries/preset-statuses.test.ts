// Commit statuses and deployments of presets, as the stand-ins of the services show them after real runs.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import type { PresetKind } from '#model/hooks/presets/schema.ts'
import { COMPLETED, IN_PROGRESS, openDeliveries } from '#test/support/deliveries.ts'
import { newCommit, openPreset, permalink, presetOf, RUNS } from '#test/support/presets.ts'
import { ANSWER_LOST } from '#test/support/services/failures.ts'
import { startGitea } from '#test/support/services/gitea.ts'
import { startGithub } from '#test/support/services/github.ts'
import { startGitlab } from '#test/support/services/gitlab.ts'
import type { TestTree } from '#test/support/world.ts'

const all = { after }
const world = await openDeliveries(all)
const { db, move, startAction } = world
const github = await startGithub(all)
const gitlab = await startGitlab(all)
const gitea = await startGitea(all)

const NO_COMMIT = {
  ...{ repository: null, author_name: null, author_email: null, committed_at: null, message: null },
  ...{ url: null, clone_url: null, download_url: null },
}

type Opened = { tree: TestTree; hook: { id: string } }

/** A run whose every state was delivered. */
async function run({ tree, hook }: Opened, kind: keyof typeof RUNS, commit = newCommit()) {
  const id = await startAction(tree, { commit })
  // What has been created and not updated yet is superseded by the end.
  await world.untilIdle(hook.id)
  await move(id, ...RUNS[kind])
  const deliveries = await world.untilIdle(hook.id)
  assert.deepEqual(new Set(deliveries.map(({ state }) => state)), new Set(['delivered']))
  return { id, commit }
}

const GITHUB_STATES = {
  completed: ['pending', 'pending', 'success'],
  failed: ['pending', 'pending', 'failure'],
  canceled: ['pending', 'pending', 'error'],
  skipped: ['pending', 'error'],
}
const STATUSES = {
  github_status: { service: github, states: GITHUB_STATES },
  gitlab_status: {
    service: gitlab,
    states: {
      completed: ['pending', 'running', 'success'],
      failed: ['pending', 'running', 'failed'],
      canceled: ['pending', 'running', 'canceled'],
      skipped: ['pending', 'canceled'],
    },
  },
  gitea_status: { service: gitea, states: GITHUB_STATES },
} satisfies Partial<Record<PresetKind, object>>

async function namesOf({ pipelineId }: TestTree) {
  const { environment, pipeline } = await db
    .selectFrom('pipelines as p')
    .innerJoin('environments as e', 'e.id', 'p.environment_id')
    .select(['p.name as pipeline', 'e.name as environment'])
    .where('p.id', '=', pipelineId)
    .executeTakeFirstOrThrow()
  return `gantry/${environment}/${pipeline}`
}

suite('the commit of a run', () => {
  for (const [kind, { service, states }] of Object.entries(STATUSES))
    test(`shows every state of it with ${kind}`, async () => {
      const preset = presetOf(kind as PresetKind)
      const opened = await openPreset(world, service, preset)
      const context = preset.context ?? (await namesOf(opened.tree))
      for (const [name, expected] of Object.entries(states)) {
        const { id, commit } = await run(opened, name as keyof typeof RUNS)
        const sent = service.requests.filter(({ params }) => params.sha === commit)
        assert.deepEqual(
          sent.map(({ json }) => json.state),
          expected,
          name,
        )
        assert.deepEqual(new Set(sent.map(({ token }) => token)), new Set([opened.token]))
        assert.deepEqual(service.shown(commit), { [context]: expected.at(-1) })
        const { target_url } = service.statuses.findLast(({ sha }) => sha === commit)!
        assert.equal(target_url, permalink(id))
      }
    })

  test('shows one status per pipeline, whose context fits however long the names are', async () => {
    for (const [kind, { service }] of Object.entries(STATUSES)) {
      const preset = { kind: kind as keyof typeof STATUSES }
      const opened = await openPreset(world, service, preset)
      const rename = (table: 'pipelines' | 'environments', id: number, name: string) =>
        db.updateTable(table).set({ name }).where('id', '=', id).execute()
      await rename('pipelines', opened.tree.pipelineId, '🚀'.repeat(127))
      await rename('environments', opened.tree.environmentId, 'é'.repeat(255))
      const { commit } = await run(opened, 'skipped')
      const [context, ...others] = Object.keys(service.shown(commit))
      assert.deepEqual(others, [])
      assert.match(context!, /^gantry\/é{117}\.\.\.\/🚀{117}\.\.\.$/u)
    }
  })

  test('keeps the status at GitLab that it has already, which counts as delivered', async () => {
    const { tree, hook } = await openPreset(world, gitlab, { kind: 'gitlab_status' })
    const commit = newCommit()
    const id = await startAction(tree, { commit })
    await world.untilIdle(hook.id)
    gitlab.fail(ANSWER_LOST)
    await move(id, IN_PROGRESS)
    await world.recorded(hook.id, 2)
    await world.passTime(hook.id, 10)
    const [, lost, again] = await world.recorded(hook.id, 3)
    assert.equal(lost!.outcome, 'unreachable')
    assert.deepEqual([again!.response_status_code, again!.outcome, again!.error], [400, 'delivered', null])
    await move(id, COMPLETED)
    await world.untilIdle(hook.id)
    assert.deepEqual(Object.values(gitlab.shown(commit)), ['success'])
    assert.equal(gitlab.statuses.filter(({ sha }) => sha === commit).length, 1)
  })
})

suite('the commit that is reported', () => {
  const resolve = (id: number, hash: string) =>
    sql`update actions set commit = ${JSON.stringify({ ...NO_COMMIT, hash })} where id = ${id}`.execute(db)
  const sentTo = () => github.requests.map(({ params, json }) => [params.sha, json.state])

  test('is the resolved one; before that, what the caller named if it is a full hash', async () => {
    const { tree, hook } = await openPreset(world, github, { kind: 'github_status' })
    const [named, resolved] = [newCommit(), newCommit()]
    github.requests.length = 0
    const id = await startAction(tree, { commit: named.toUpperCase() })
    await world.untilIdle(hook.id)
    await resolve(id, resolved)
    await move(id, IN_PROGRESS, COMPLETED)
    await world.untilIdle(hook.id)
    assert.deepEqual(sentTo(), [
      [named, 'pending'],
      [resolved, 'pending'],
      [resolved, 'success'],
    ])
  })

  test('is waited for if the caller named a branch or a part of a hash', async () => {
    for (const commit of ['main', 'c0ffee1', 'refs/heads/main', 12345678]) {
      const { tree, hook } = await openPreset(world, github, { kind: 'github_status' })
      github.requests.length = 0
      const id = await startAction(tree, { commit })
      const [waiting] = await world.recorded(hook.id, 1)
      assert.match(waiting!.error!, /not known yet/)
      const resolved = newCommit()
      await resolve(id, resolved)
      await world.passTime(hook.id, 10)
      // What has not been sent by the end of the run never is.
      await world.recorded(hook.id, 2)
      await move(id, IN_PROGRESS, COMPLETED)
      await world.untilIdle(hook.id)
      assert.deepEqual(sentTo(), [
        [resolved, 'pending'],
        [resolved, 'pending'],
        [resolved, 'success'],
      ])
    }
  })

  test('is nothing that only has the length of a hash', async () => {
    const { tree, hook } = await openPreset(world, github, { kind: 'github_status' })
    github.requests.length = 0
    const branch = 'a-branch-whose-name-has-forty-characters'
    assert.equal(branch.length, 40)
    await startAction(tree, { commit: branch })
    await world.untilIdle(hook.id)
    assert.ok(!JSON.stringify(github.requests).includes(branch))
    assert.ok(github.statuses.every(({ sha }) => sha !== branch))
  })
})

suite('a deployment at GitHub', () => {
  const STATES = {
    completed: ['queued', 'in_progress', 'success'],
    failed: ['queued', 'in_progress', 'failure'],
    canceled: ['queued', 'in_progress', 'error'],
    skipped: ['queued', 'inactive'],
  }
  const deploymentOf = (commit: string) => {
    const [deployment, ...others] = github.deployments.filter(({ ref }) => ref === commit)
    assert.deepEqual(others, [])
    return deployment!
  }
  const statesOf = (commit: string) => deploymentOf(commit).statuses.map(({ state }) => state)

  test('is created once per run and gets every state of it', async () => {
    const opened = await openPreset(world, github, presetOf('github_deployment'))
    for (const [name, expected] of Object.entries(STATES)) {
      const { id, commit } = await run(opened, name as keyof typeof RUNS)
      assert.deepEqual(statesOf(commit), expected, name)
      const { environment, statuses, description, task } = deploymentOf(commit)
      assert.deepEqual([environment, task, description], ['staging', 'deploy', `Deploy, run ${id}`])
      for (const { log_url, environment_url } of statuses)
        assert.deepEqual([log_url, environment_url], [permalink(id), 'https://staging.example.com'])
    }
  })

  test('makes the earlier ones of its environment inactive, unless that is switched off', async () => {
    for (const auto_inactive of [true, false]) {
      const environment = `auto ${auto_inactive}`
      const opened = await openPreset(world, github, {
        kind: 'github_deployment',
        environment,
        auto_inactive,
      })
      const first = await run(opened, 'completed')
      const second = await run(opened, 'completed')
      assert.equal(statesOf(first.commit).at(-1), auto_inactive ? 'inactive' : 'success')
      assert.equal(statesOf(second.commit).at(-1), 'success')
    }
  })

  test('is named after the environment, is production when the hook says so, and waits for no status', async () => {
    const { tree, hook } = await openPreset(world, github, { kind: 'github_status' })
    const commit = newCommit()
    await startAction(tree, { commit })
    await world.untilIdle(hook.id)
    assert.deepEqual(Object.values(github.shown(commit)), ['pending'])
    const opened = await openPreset(world, github, { kind: 'github_deployment', production: true }, { tree })
    await run(opened, 'completed', commit)
    const { environment, production_environment } = deploymentOf(commit)
    assert.equal(`gantry/${environment}/Deploy`, await namesOf(tree))
    assert.equal(production_environment, true)
  })
})
