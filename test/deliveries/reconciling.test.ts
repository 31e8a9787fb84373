// Commit statuses are read back after the last delivery of a run; what the service does not show is sent again.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import {
  COMPLETED,
  FAILED,
  IN_PROGRESS,
  openDeliveries,
  startTestDelivering,
} from '#test/support/deliveries.ts'
import {
  checksOf,
  makeStatusHook,
  openStatusTree,
  SHA,
  startTestReconciler,
} from '#test/support/reconciling.ts'
import { ANSWER_IS_HTML, ANSWER_IS_HUGE, answering, failingAt } from '#test/support/services/failures.ts'
import { startGitea } from '#test/support/services/gitea.ts'
import { startGithub } from '#test/support/services/github.ts'
import { startGitlab } from '#test/support/services/gitlab.ts'
import { untilTrue } from '#test/support/until.ts'
import type { TestTree } from '#test/support/world.ts'

const LIST = 'list statuses'
const CREATE = 'create status'

const all = { after }
const world = await openDeliveries(all)
const github = await startGithub(all)
const { db, move, request, startAction } = world
const checks = checksOf(world)
const verdicts: string[] = []
startTestReconciler(all, world, ({ verdict }) => verdicts.push(verdict))

const openHook = async () => {
  const tree = await openStatusTree(world, 'github', github.url)
  const hook = await makeStatusHook(world, tree, 'github_status')
  return { tree, hook }
}

/** A run of a commit that nobody else uses, whose end is delivered. */
async function runTo(tree: TestTree, sha: string, ...ends: Parameters<typeof move>[1][]) {
  const id = await startAction(tree, { commit: sha })
  await move(id, IN_PROGRESS, ...ends)
  if (ends.length > 0) await checks.planned(id)
  return id
}

const read = async (actionId: number, tree: TestTree) => {
  const { status, body, text } = await request('GET', `/actions/${actionId}/notifications`, {
    token: tree.owner.token,
  })
  assert.equal(status, 200, text)
  return body[0]
}

const linkTo = (id: number, origin = 'http://gantry.test') => `${origin}/app/actions/${id}`
const listed = (sha: string) => github.requests.filter((one) => one.call === LIST && one.params.sha === sha)
const created = (sha: string) =>
  github.requests.filter((one) => one.call === CREATE && one.params.sha === sha).map(({ json }) => json.state)
const commit = (n: number) => n.toString(16).padStart(40, 'c')

/** What GitHub shows last for a commit. */
const shown = (sha: string) => github.statuses.findLast((one) => one.sha === sha)!

suite('a commit with many statuses', () => {
  /** Other tools set these after the run has set its own. */
  const addOthers = (repository: string, sha: string, count: number) => {
    for (let n = 0; n < count; n++)
      github.set({ repository, sha, state: 'success', context: `ci/${n}`, target_url: 'https://ci.example/' })
  }

  test('is read page by page', async () => {
    const { tree } = await openHook()
    const sha = commit(901)
    const id = await runTo(tree, sha, COMPLETED)
    addOthers('acme/shop', sha, 250)
    await checks.pass(id, 5)
    const { remote_state } = await checks.checked(id, 1)
    assert.equal(remote_state, 'matches')
    assert.deepEqual(
      listed(sha).map(({ query }) => query.page ?? '1'),
      ['1', '2', '3'],
    )
  })

  test('is not read beyond ten pages', async () => {
    const { tree } = await openHook()
    const sha = commit(902)
    const id = await runTo(tree, sha, COMPLETED)
    addOthers('acme/shop', sha, 1_050)
    await checks.pass(id, 5)
    const { remote_state, remote_detail } = await checks.checked(id, 1)
    assert.deepEqual([remote_state, listed(sha).length], ['unknown', 10])
    assert.match(remote_detail!, /too many other statuses/)
    assert.deepEqual(created(sha), ['pending', 'pending', 'success'])
  })

  test('is read within the budget: the limit ends the check, not the budget of deliveries', async () => {
    const limited = await startGithub(all)
    const tree = await openStatusTree(world, 'github', limited.url)
    await makeStatusHook(world, tree, 'github_status')
    const sha = commit(903)
    const id = await runTo(tree, sha, COMPLETED)
    for (let n = 0; n < 250; n++)
      limited.set({ repository: 'acme/shop', sha, state: 'success', context: `ci/${n}`, target_url: null })
    limited.limitTo(2, 60_000)
    await checks.pass(id, 5)
    const { remote_state, remote_detail, due_at } = await checks.checked(id, 1)
    assert.equal(remote_state, 'unknown')
    assert.match(remote_detail!, /rate limit/)
    assert.equal(limited.requests.filter(({ call }) => call === LIST).length, 2)
    assert.ok(due_at !== null)
  })
})

suite('a final status', () => {
  test('is read back after 5 s, 1 min and 10 min, and then no more', async () => {
    const { tree, hook } = await openHook()
    const sha = commit(1)
    const id = await runTo(tree, sha, COMPLETED)
    const before = await read(id, tree)
    assert.deepEqual(
      [before.state, before.remote_state, before.checked_at],
      ['delivered', 'not_checked', null],
    )
    for (const [index, seconds] of [5, 55, 540].entries()) {
      assert.equal(listed(sha).length, index)
      await checks.pass(id, seconds)
      await checks.checked(id, index + 1)
    }
    assert.equal((await checks.read(id))!.due_at, null)
    const found = await read(id, tree)
    assert.deepEqual([found.remote_state, found.remote_status, found.repairs], ['matches', 'success', 0])
    assert.ok(found.checked_at)
    assert.deepEqual(created(sha), ['pending', 'pending', 'success'])
    // Read-backs are no requests of the hook.
    assert.equal((await world.requests(hook.id)).length, 3)
  })

  test('that got lost is sent again, recorded as a retry and audited', async () => {
    const { tree, hook } = await openHook()
    const sha = commit(2)
    const id = await runTo(tree, sha, COMPLETED)
    github.statuses.splice(github.statuses.indexOf(shown(sha)), 1)
    await checks.pass(id, 5)
    await untilTrue(() => created(sha).length === 4)
    await untilTrue(async () => (await checks.read(id))!.due_at !== null)
    assert.equal(shown(sha).state, 'success')
    await checks.pass(id, 5)
    await checks.checked(id, 1)
    const { remote_state, repairs, state } = await read(id, tree)
    assert.deepEqual([state, remote_state, repairs], ['delivered', 'repaired', 1])
    const [, , first, again] = await world.requests(hook.id)
    assert.equal(again!.retry_of, first!.id)
    const { body } = await request(
      'GET',
      `/organizations/${tree.organizationId}/audit?filter[verb]=repaired`,
      {
        token: tree.owner.token,
      },
    )
    assert.equal(body.length, 1)
    assert.deepEqual(
      [body[0].subject_type, body[0].subject_id, body[0].user, body[0].before.status, body[0].after.status],
      ['outgoing_hook', hook.id, null, 'pending', 'success'],
    )
  })

  test('that is changed behind our back is sent again twice, and then left alone', async () => {
    const { tree } = await openHook()
    const sha = commit(3)
    const id = await runTo(tree, sha, COMPLETED)
    const { repository, context } = shown(sha)
    for (const repairs of [1, 2]) {
      github.set({ repository, sha, context, state: 'failure', target_url: linkTo(id) })
      await checks.pass(id, 5)
      await untilTrue(() => shown(sha).state === 'success')
      await untilTrue(async () => (await checks.read(id))!.due_at !== null)
      assert.equal((await read(id, tree)).repairs, repairs)
    }
    github.set({ repository, sha, context, state: 'failure', target_url: linkTo(id) })
    await checks.pass(id, 5)
    await checks.checked(id, 1)
    const { remote_state, remote_status, remote_detail } = await read(id, tree)
    assert.deepEqual([remote_state, remote_status], ['overridden', 'failure'])
    assert.match(remote_detail, /sent again 2 times/)
    assert.equal(created(sha).length, 5)
  })

  test('whose URL is not ours is left alone, so that two installations do not fight over it', async () => {
    const { tree } = await openHook()
    const sha = commit(4)
    const id = await runTo(tree, sha, COMPLETED)
    const { repository, context } = shown(sha)
    const target_url = linkTo(id, 'https://other.example')
    github.set({ repository, sha, context, state: 'failure', target_url })
    await checks.pass(id, 5)
    await checks.checked(id, 1)
    const { remote_state, remote_status, repairs } = await read(id, tree)
    assert.deepEqual([remote_state, remote_status, repairs], ['overridden', 'failure', 0])
    assert.equal((await checks.read(id))!.due_at, null)
    assert.equal(created(sha).length, 3)
  })

  test('of the newer of two runs of one commit wins, whichever is delivered last', async () => {
    const { tree } = await openHook()
    const sha = commit(6)
    const [older, newer] = [await runTo(tree, sha), await runTo(tree, sha)]
    await move(newer, COMPLETED)
    await checks.planned(newer)
    await checks.pass(newer, 3_600)
    await checks.checked(newer, 1)
    await move(older, FAILED)
    await checks.planned(older)
    assert.equal(shown(sha).state, 'failure')
    await checks.pass(older, 5)
    await untilTrue(() => shown(sha).state === 'success')
    assert.equal(shown(sha).target_url, linkTo(newer))
    assert.equal((await checks.read(older))!.remote_state, 'overridden')
    await checks.pass(older, 60)
    await checks.checked(older, 2)
    assert.equal((await checks.read(older))!.due_at, null)
    assert.deepEqual([(await checks.read(older))!.repairs, (await checks.read(newer))!.repairs], [0, 1])
  })

  test('is checked again when an earlier status of the run was replayed over it', async () => {
    const { tree, hook } = await openHook()
    const sha = commit(7)
    const id = await runTo(tree, sha, COMPLETED)
    await checks.pass(id, 3_600)
    await checks.checked(id, 1)
    const [, second] = await world.requests(hook.id)
    const { token } = tree.owner
    assert.equal((await request('POST', `/hook-requests/${second!.id}/replay`, { token })).status, 202)
    await checks.planned(id)
    assert.equal(shown(sha).state, 'pending')
    await checks.pass(id, 5)
    await untilTrue(() => shown(sha).state === 'success')
  })
})

suite('a status that cannot be read back', () => {
  const answers: [string, Parameters<typeof failingAt>[1], RegExp][] = [
    ['HTML', ANSWER_IS_HTML, /something other than a list/],
    ['2 MB', ANSWER_IS_HUGE, /more than 1 MiB|something else/],
    ['a redirect', answering(301, {}, { location: 'http://169.254.169.254/' }), /has moved/],
    [
      'a token without the permission',
      answering(403, { message: 'Resource not accessible' }),
      /may not read/,
    ],
    ['a commit that is gone', answering(404, { message: 'Not Found' }), /no such commit/],
  ]
  test('is unknown, with the reason, and not asked for forever', async () => {
    const { tree } = await openHook()
    for (const [index, [what, failure, reason]] of answers.entries()) {
      const sha = commit(100 + index)
      const id = await runTo(tree, sha, COMPLETED)
      github.fail(failingAt(LIST, failure))
      await checks.pass(id, 3_600)
      await checks.checked(id, 1)
      const { remote_state, remote_detail, state } = await read(id, tree)
      assert.deepEqual([state, remote_state], ['delivered', 'unknown'], what)
      assert.match(remote_detail, reason)
      assert.equal((await checks.read(id))!.due_at, null, what)
      assert.equal(created(sha).length, 3, what)
    }
  })

  test('is not asked for with a token that the hook may no longer use, nor by a disabled hook', async () => {
    const { tree, hook } = await openHook()
    const [first, second] = [commit(110), commit(111)]
    const [one, other] = [await runTo(tree, first, COMPLETED), await runTo(tree, second, COMPLETED)]
    await db.updateTable('credentials').set({ active: false }).where('id', '=', tree.credentialId).execute()
    await checks.pass(one, 5)
    await checks.checked(one, 1)
    assert.match((await read(one, tree)).remote_detail, /credential/)
    await world.change(hook.id, { active: false }, tree.owner.token)
    await checks.pass(other, 5)
    await untilTrue(async () => (await checks.read(other))!.due_at === null)
    assert.equal(listed(first).length + listed(second).length, 0)
  })
})

test('a run that ends during a downtime is reported and checked after the restart, and repaired', async (t) => {
  const apart = await openDeliveries(t, { delivers: false })
  const own = checksOf(apart)
  const tree = await openStatusTree(apart, 'github', github.url)
  await makeStatusHook(apart, tree, 'github_status')
  const sha = commit(300)
  const live = async () => {
    const delivering = await startTestDelivering(t, apart.api, apart)
    const reconciler = startTestReconciler(t, apart)
    return async () => {
      await Promise.all([delivering.stop({ graceMs: 0 }), reconciler.stop()])
    }
  }
  const stopFirst = await live()
  const id = await apart.startAction(tree, { commit: sha })
  await apart.move(id, IN_PROGRESS)
  await untilTrue(() => created(sha).length === 2)
  await stopFirst()
  await apart.move(id, FAILED)

  // GitHub accepts the status and loses it.
  github.fail({ call: CREATE, answer: { status: 201, body: {} } })
  const stopSecond = await live()
  await own.planned(id)
  await stopSecond()
  assert.deepEqual([created(sha).length, shown(sha).state], [3, 'pending'])
  await own.pass(id, 86_400)
  await live()
  await untilTrue(() => shown(sha).state === 'failure')
  await own.planned(id)
  await own.pass(id, 86_400)
  assert.equal((await own.checked(id, 1)).remote_state, 'repaired')
  assert.equal(listed(sha).length, 2, 'checks that were missed are one')
})

suite('the rate budget of a credential', () => {
  test('holds for read-backs: one that is refused pauses everything, and what is paused is not read', async () => {
    const { tree } = await openHook()
    const shas = [commit(120), commit(121)] as const
    const [one, other] = [await runTo(tree, shas[0], COMPLETED), await runTo(tree, shas[1], COMPLETED)]
    github.fail(failingAt(LIST, answering(429, {}, { 'retry-after': '60' })))
    await checks.pass(one, 5)
    await untilTrue(async () => {
      const row = (await checks.read(one))!
      return row.leased_until === null && Date.parse(row.due_at!) > Date.now() + 60_000
    })
    assert.equal((await checks.read(one))!.checks, 0)
    const pause = await db
      .selectFrom('rate_budgets')
      .select(['origin', 'paused_until'])
      .where('credential_id', '=', tree.credentialId)
      .executeTakeFirstOrThrow()
    assert.equal(pause.origin, github.url)
    await checks.pass(other, 5)
    await untilTrue(async () => Date.parse((await checks.read(other))!.due_at!) > Date.now() + 50_000)
    assert.deepEqual([listed(shas[0]).length, listed(shas[1]).length], [1, 0])

    const waiting = await runTo(tree, commit(122))
    const shown = await read(waiting, tree)
    assert.deepEqual([shown.state, shown.paused_until], ['paused', pause.paused_until])
    assert.match(shown.paused_reason, /allows no more requests until \d\d:\d\d UTC \(rate limit\)/)
    await db
      .updateTable('rate_budgets')
      .set({ paused_until: new Date(0) })
      .where('credential_id', '=', tree.credentialId)
      .execute()
    await checks.pass(one, 80)
    assert.equal((await checks.checked(one, 1)).remote_state, 'matches')
  })
})

test('a status that is sent again waits for a limit like a new one, however old its run is', async () => {
  const { tree, hook } = await openHook()
  const sha = commit(130)
  const id = await runTo(tree, sha, COMPLETED)
  await sql`update deliveries set created_at = now() - interval '2 days' where hook_id = ${hook.id}`.execute(
    db,
  )
  github.statuses.splice(github.statuses.indexOf(shown(sha)), 1)
  github.fail(failingAt(CREATE, answering(429, {}, { 'retry-after': '60' })))
  await checks.pass(id, 5)
  await untilTrue(() => created(sha).length === 4)
  await untilTrue(async () => (await read(id, tree)).attempts === 0)
  assert.equal((await read(id, tree)).state, 'paused')
})

test('several processes read each status once', async (t) => {
  const { tree } = await openHook()
  startTestReconciler(t, world)
  startTestReconciler(t, world)
  const shas = Array.from({ length: 12 }, (_, n) => commit(200 + n))
  const ids = await Promise.all(shas.map((sha) => runTo(tree, sha, COMPLETED)))
  for (const id of ids) await checks.pass(id, 3_600)
  for (const id of ids) await checks.checked(id, 1)
  assert.deepEqual(
    shas.map((sha) => listed(sha).length),
    shas.map(() => 1),
  )
})

suite('GitLab and Gitea', () => {
  test('are read back, too: a status that got lost is sent again', async (t) => {
    const [gitlab, gitea] = [await startGitlab(t), await startGitea(t)]
    for (const [provider, service] of [
      ['gitlab', gitlab],
      ['gitea', gitea],
    ] as const) {
      const tree = await openStatusTree(world, provider, service.url)
      await makeStatusHook(world, tree, `${provider}_status`)
      const id = await startAction(tree, { commit: SHA })
      await move(id, IN_PROGRESS, COMPLETED)
      await checks.planned(id)
      await checks.pass(id, 5)
      assert.equal((await checks.checked(id, 1)).remote_state, 'matches', provider)
      service.statuses.splice(0)
      await checks.pass(id, 60)
      await untilTrue(() => service.statuses.length > 0)
      await untilTrue(async () => (await checks.read(id))!.due_at !== null)
      await checks.pass(id, 5)
      assert.equal((await checks.checked(id, 1)).remote_state, 'repaired', provider)
      assert.deepEqual(Object.values(service.shown(SHA)), ['success'], provider)
    }
  })
})
