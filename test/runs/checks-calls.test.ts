// Calls of repository hosts about checks.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { addBuild, endBuild, openChecks, QUEUED } from '#test/support/checks.ts'

const world = await openChecks({ after })
const { db, openTree, start, stateOf, look, later, waitFor, stopWaiting } = world

const repository = 'acme/shop'

suite('a call of the host about checks', () => {
  stopWaiting()

  const TOLD = { requires_secret: true, secret_header_name: 'X-Hub-Signature-256' }

  test('makes waiting runs of that commit look again, starts nothing, and little of it is stored', async () => {
    const { at, host, tip } = await openTree('github', null)
    const hook = await world.makeHook({ ...TOLD, connect: true }, at)
    assert.equal((await waitFor(at, {})).status, 200)
    const { rows: connections } = await sql<{ events: string[]; task: string }>`
      select events, task from hook_connections where hook_id = ${hook.id}`.execute(db)
    assert.deepEqual(connections, [{ events: ['check_suite', 'push', 'status'], task: 'connect' }])
    const build = addBuild(host, tip, 'in_progress')
    const id = await start(at)
    const due = async () => {
      const { rows } = await sql<{ isDue: boolean }>`
        select c.due_at <= clock_timestamp() as "isDue" from commit_checks c
        join check_requests r on r.commit_checks_id = c.id where r.action_id = ${id}`.execute(db)
      return rows[0]!.isDue
    }
    const call = (sha: string, full_name = repository, delivery = 'one') =>
      world.call(
        hook,
        { repository: { full_name }, check_suite: { head_sha: sha } },
        { headers: { 'x-github-event': 'check_suite', 'x-github-delivery': delivery } },
      )
    assert.equal((await call('b'.repeat(40))).status, 200)
    assert.equal((await call(tip, 'acme/other')).status, 200)
    assert.equal(await due(), false, 'of another commit, of another repository')
    endBuild(build, 'success')
    const asked = host.requests.length
    for (let calls = 0; calls < 25; calls++) {
      const { status, body } = await call(tip, repository, calls < 2 ? 'same' : `call ${calls}`)
      assert.deepEqual([status, body.action_id], [200, null])
    }
    assert.equal(await due(), true)
    await look()
    assert.equal(host.requests.length, asked, 'no sooner than 15 seconds after the last question')
    await later(16)
    await look()
    await later(31)
    await look()
    assert.equal(await stateOf(id), QUEUED)
    const { rows } = await sql<{ outcome: string; bodies: number; calls: number }>`
      select outcome, count(request_body)::int as bodies, count(*)::int as calls from hook_requests
      where hook_id = ${hook.id} group by outcome`.execute(db)
    assert.deepEqual(rows, [{ outcome: 'checks', bodies: 0, calls: 20 }])
  })
})
