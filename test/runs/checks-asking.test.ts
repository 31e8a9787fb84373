// How a repository host is asked about the checks of a commit, and what it may answer.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { ASKING, addBuild, endBuild, openChecks, QUEUED } from '#test/support/checks.ts'
import { BAD_GATEWAY, failingAt } from '#test/support/services/failures.ts'
import type { Github } from '#test/support/services/github.ts'
import { stateOf as reported } from '#test/support/services/github-checks.ts'
import type { TestTree } from '#test/support/world.ts'

const { db, openTree, start, stateOf, look, later, gateOf, stopWaiting, settle } = await openChecks({ after })

const repository = 'acme/shop'

const messageOf = async (at: TestTree, id: number) => (await gateOf(at, id)).details.message

suite('the host is asked', () => {
  stopWaiting()

  const questions = (host: Github, sha: string) =>
    host.requests.filter(({ call, path }) => call === 'list check runs' && path.includes(sha)).length

  test('once for many runs, at most every 15 seconds', async () => {
    const { at, host, tip } = await openTree()
    const build = addBuild(host, tip, 'in_progress')
    const ids = [await start(at), await start(at), await start(at)]
    for (let times = 0; times < 5; times++) await look()
    assert.equal(questions(host, tip), 1)
    await later(5)
    await look()
    assert.equal(questions(host, tip), 1)
    await later(11)
    await look()
    assert.equal(questions(host, tip), 2)
    endBuild(build, 'success')
    await settle()
    for (const id of ids) assert.equal(await stateOf(id), QUEUED)
    const before = questions(host, tip)
    await later(600)
    await look()
    assert.equal(questions(host, tip), before, 'no one waits any more')
  })

  test('not while it limits requests, and its gate says so', async () => {
    const { at, host, tip } = await openTree()
    addBuild(host, tip, 'in_progress')
    host.limitTo(1, 60_000)
    const id = await start(at)
    assert.match(await messageOf(at, id), /^GitHub limits requests: it is asked again in \d+ s\.$/)
    const before = host.requests.length
    for (let times = 0; times < 4; times++) {
      await later(16)
      await look()
    }
    assert.equal(host.requests.length, before)
    assert.equal(await stateOf(id), ASKING)
    assert.ok(!host.requests.some(({ limited }) => limited), 'it said so before')
    await sql`delete from rate_budgets`.execute(db)
  })

  test('again after it did not answer, and the run keeps waiting', async () => {
    const { at, host, tip } = await openTree()
    const build = addBuild(host, tip, 'success')
    host.fail(failingAt('list check runs', BAD_GATEWAY))
    const id = await start(at)
    assert.equal(await messageOf(at, id), 'GitHub answered with 502.')
    assert.equal(await stateOf(id), ASKING)
    await later(31)
    await look()
    await settle()
    assert.equal(await stateOf(id), QUEUED)
    assert.ok(build)
  })

  test('and may say anything: nonsense, a huge page, not found, a token that has expired', async () => {
    const { at, host, tip } = await openTree()
    addBuild(host, tip, 'success')
    const id = await start(at)
    const answers: [object | string, number, RegExp][] = [
      [{ check_suites: 'many' }, 200, /^GitHub sent something other than a list of checks\.$/],
      ['<html>', 200, /^GitHub sent something other than JSON\.$/],
      ['x'.repeat(9 * 1024 * 1024), 200, /bytes/],
      [
        { message: 'Not Found' },
        404,
        /^GitHub does not find the commit .* or does not allow the token to read its checks \(Not Found\)\./,
      ],
      [{ message: 'Bad credentials' }, 401, /^GitHub does not accept the token .* It may have expired\.$/],
      [{ message: 'Moved' }, 301, /renamed or transferred/],
      [{ message: 'No commit found for SHA' }, 422, /^GitHub rejected the question for checks with 422/],
    ]
    for (const [body, status, message] of answers) {
      host.fail(failingAt('list check suites', { answer: { status, body } }))
      await later(150)
      await look()
      assert.match(await messageOf(at, id), message)
      assert.equal(await stateOf(id), ASKING)
    }
  })

  test('page by page: the last of 3,000 checks counts, and more are a problem', async () => {
    const { at, host, tip } = await openTree()
    const many = host.checks.addSuite({ repository, sha: tip, ...reported('success') })
    for (let count = 0; count < 2_999; count++) host.checks.addRun(many, `job ${count}`, 'success')
    const last = host.checks.addRun(many, 'job last', 'queued')
    const id = await start(at)
    const { details } = await gateOf(at, id)
    assert.deepEqual([details.message, details.total], ['Waiting for job last (queued).', 3_000])
    assert.equal(details.checks.length, 200)
    Object.assign(last, reported('success'))
    for (let count = 0; count < 200; count++) host.checks.addRun(many, `more ${count}`, 'success')
    await later(16)
    await look()
    assert.equal(await messageOf(at, id), 'GitHub lists more than 3000 checks for the commit.')
  })

  test('for workflow runs and statuses when the token cannot read check runs, and the gate says what it does not see', async () => {
    const { at, host, tip } = await openTree()
    host.permit('token-of-the-host', 'fine-grained')
    const build = addBuild(host, tip, 'in_progress')
    host.set({ repository, sha: tip, state: 'success', context: 'ci/lint' })
    const id = await start(at)
    const { details } = await gateOf(at, id)
    assert.equal(details.message, 'Waiting for CI (in_progress).')
    assert.match(details.notice, /checks of other apps are invisible/)
    assert.deepEqual(
      details.checks.map(({ name }: { name: string }) => name),
      ['CI', 'ci/lint'],
    )
    endBuild(build, 'success')
    await settle()
    assert.equal(await stateOf(id), QUEUED)
  })

  test('at GitLab and Gitea for statuses', async () => {
    const gitlab = await openTree('gitlab')
    const set = (name: string, status: string, more: object = {}) =>
      gitlab.host.set({ project: repository, sha: gitlab.tip, name, status, ...more } as never)
    set('build', 'success')
    set('optional', 'failed', { allow_failure: true })
    set('deploy', 'manual')
    const atGitlab = await start(gitlab.at)
    assert.equal(await messageOf(gitlab.at, atGitlab), 'Waiting for deploy (manual).')
    set('deploy', 'success')
    const gitea = await openTree('gitea')
    const status = (context: string, state: string) =>
      gitea.host.set({ repository, sha: gitea.tip, context, status: state } as never)
    status('ci/build', 'failure')
    status('ci/build', 'pending')
    const atGitea = await start(gitea.at)
    assert.equal(await messageOf(gitea.at, atGitea), 'Waiting for ci/build (pending).')
    status('ci/build', 'success')
    await settle()
    assert.deepEqual([await stateOf(atGitlab), await stateOf(atGitea)], [QUEUED, QUEUED])
  })
})
