// A host that gives trouble in the middle of a catch-up: each time the connection says what it is, and nothing is lost or doubled.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { moveTo, openConnections, startHost, TOKEN } from '#test/support/connections.ts'
import { ANSWER_DRIPS, failingAt } from '#test/support/services/failures.ts'
import type { Closer } from '#test/support/services/service.ts'
import { until } from '#test/support/until.ts'

const world = await openConnections({ after })
const { db, tree, request, createHook, read, pass } = world
const { token } = tree.owner
const hash = (of: number) => String(of).padStart(40, '0')
const variables = [{ name: 'commit', path: 'after', type: 'string', required: true }]

world.startWorker()

/** A connected hook that GitHub could not deliver three pushes of two branches to: two are to be delivered again. */
async function openMissed(t: Closer) {
  const host = await startHost(t, 'github')
  await moveTo(world, tree, 'github', host.url)
  host.hooks.deliverTo(world.deliver)
  const hook = await createHook('github', { connect: true, settings: { variables } })
  await checked(hook.id)
  host.hooks.deliverTo(async () => null)
  for (const [branch, commit] of [
    ['main', 1],
    ['main', 2],
    ['next', 3],
  ] as const) {
    host.tips.set(branch, hash(commit))
    await host.hooks.push('acme/shop', {
      ref: `refs/heads/${branch}`,
      before: hash(0),
      after: hash(commit),
    })
  }
  host.hooks.deliverTo(world.deliver)
  return { host, id: hook.id as string }
}

/** The connection, once what is due is done. A dripping answer is waited for ten seconds. */
async function checked(id: string) {
  return until('the connection is not under way', 40_000, async () => {
    const { rows } = await sql`
      select from hook_connections where hook_id = ${id} and due_at > now() + interval '1 second' and leased_until is null`.execute(
      db,
    )
    return rows.length > 0 && (await read(id)).connection
  })
}

async function check(id: string) {
  await pass(id)
  return checked(id)
}

async function assertCaughtUp(id: string): Promise<void> {
  // biome-ignore lint/suspicious/noExplicitAny: as the API shows them
  let missed: any[] = []
  await until('everything missed has come', 40_000, async () => {
    const { state } = await check(id)
    const { body } = await request('GET', `/hooks/incoming/${id}/missed-calls`, { token })
    missed = body.toReversed()
    return state === 'connected' && missed.every((one) => ['received', 'superseded'].includes(one.state))
  })
  assert.deepEqual(
    missed.map(({ commit, state }) => [commit, state]),
    [
      [hash(1), 'superseded'],
      [hash(2), 'received'],
      [hash(3), 'received'],
    ],
  )
  const { body: calls } = await request('GET', `/hooks/incoming/${id}/requests`, { token })
  const outcomes = calls.map(({ outcome }: { outcome: string }) => outcome)
  assert.deepEqual(
    outcomes.filter((outcome: string) => outcome === 'accepted'),
    ['accepted', 'accepted'],
  )
}

suite('a host that drips its answer, a byte per second', () => {
  test('is unreachable when it is asked for its webhooks, and then everything is caught up with', async (t) => {
    const { host, id } = await openMissed(t)
    host.fail(failingAt('list webhooks', ANSWER_DRIPS))
    const { state, problem } = await check(id)
    assert.equal(state, 'unreachable')
    assert.match(problem, /10 s/)
    await assertCaughtUp(id)
  })

  for (const call of ['list deliveries', 'show delivery'])
    test(`in the middle of a catch-up ("${call}"): the webhook is there all the same, and the rest is caught up with`, async (t) => {
      const { host, id } = await openMissed(t)
      host.fail(failingAt(call, ANSWER_DRIPS))
      assert.equal((await check(id)).state, 'connected')
      const { rows } = await sql<{ seconds: number }>`
        select extract(epoch from due_at - now()) as seconds from hook_connections where hook_id = ${id}`.execute(
        db,
      )
      assert.ok(rows[0]!.seconds < 60, 'it is soon tried again')
      await assertCaughtUp(id)
    })
})

suite('a token that expires in the middle of a catch-up', () => {
  for (const call of ['list deliveries', 'show delivery', 'redeliver'])
    test(`("${call}"): is named at once, and what is missing is caught up with when it is replaced`, async (t) => {
      const { host, id } = await openMissed(t)
      host.permit(TOKEN, 'write')
      host.fail({
        call,
        performed: true,
        answer() {
          host.permit(TOKEN, 'revoked')
          return { status: 401, body: { message: 'Bad credentials' } }
        },
      })
      const expired = await check(id)
      assert.equal(expired.state, 'forbidden')
      assert.match(expired.problem, /does not accept the token of the credential \(Bad credentials\)/)
      const again = await check(id)
      assert.deepEqual([again.state, again.problem], [expired.state, expired.problem])

      const replaced = await request('PUT', `/credentials/${tree.credentialId}`, {
        token,
        body: { token: 'another-token-of-the-host' },
      })
      assert.equal(replaced.status, 200, replaced.text)
      await assertCaughtUp(id)
    })
})
