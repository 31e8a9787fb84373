// A check that turns red after all of them were green: what it still does to the run depends on what the run does by then.
import assert from 'node:assert/strict'
import { after, afterEach, suite, test } from 'node:test'
import { sql } from 'kysely'
import { prepareDue } from '#engine/gates/approval-loop.ts'
import { makeDuePasses } from '#engine/gates/release-loop.ts'
import { ASKING, FAILED, openChecks, QUEUED } from '#test/support/checks.ts'
import { HELD, NOW } from '#test/support/freezes.ts'
import { createMember } from '#test/support/world.ts'

const ASKED = 'waiting/WAITING_APPROVAL at approval'

const world = await openChecks({ after })
const { db, api, deps, start, stateOf, look, later } = world

/** Runs of the tree wait for the status `build`. */
async function openTree() {
  const { at, host, tip } = await world.openTree('github', { names: ['build'], settle_seconds: 0 })
  const report = async (state: 'success' | 'failure') => {
    host.set({ repository: 'acme/shop', sha: tip, context: 'build', state })
    await later(61)
    await look()
  }
  const request = async (method: string, path: string, body?: object, by = at.owner) => {
    const answer = await api.request(method, path, { token: by.token, ...(body && { body }) })
    assert.ok(answer.status < 300, answer.text)
    return answer.body
  }
  /** As its job does, before the first step. */
  const begin = async (id: number) => {
    const [target] = await world.targetsOf(id)
    await world.askAgain(target!.id)
    await world.begin(id)
  }
  /** The slot is returned, and the host is asked once more before the run ends. */
  const assertEnds = async (id: number) => {
    assert.equal(await stateOf(id), QUEUED)
    await begin(id)
    assert.equal(await stateOf(id), ASKING)
    await later(16)
    await look()
    assert.equal(await stateOf(id), FAILED)
    assert.equal((await world.gateOf(at, id)).details.message, 'build reported failure.')
  }
  return { at, host, report, request, begin, assertEnds }
}

suite('a check that turns red after it was green', () => {
  afterEach(async () => {
    await sql`update check_requests set expires_at = null, due_at = null`.execute(db)
    await sql`update commit_checks set due_at = null`.execute(db)
  })

  test('does nothing to a run that has started, and the host is not asked about that any more', async () => {
    const { at, host, report, begin } = await openTree()
    await report('success')
    const id = await start(at)
    assert.equal(await stateOf(id), QUEUED)
    await begin(id)
    const running = await stateOf(id)
    assert.match(running, /^in-progress/)
    const asked = host.requests.length
    await report('failure')
    await begin(id)
    await world.pass(at)
    assert.equal(await stateOf(id), running)
    assert.equal((await world.gateOf(at, id)).state, 'open')
    assert.equal(host.requests.length, asked)
  })

  test('leaves a run waiting for approval, and ends it when it is approved and gets its slot', async () => {
    const { at, host, report, request, assertEnds } = await openTree()
    const admin = await createMember(db, at, 'admin')
    await request('PUT', `/environments/${at.environmentId}`, { approval: {} })
    await report('success')
    const id = await start(at)
    await prepareDue(deps, new AbortController().signal)
    assert.equal(await stateOf(id), ASKED)
    const asked = host.requests.length
    await report('failure')
    assert.deepEqual([await stateOf(id), host.requests.length], [ASKED, asked])
    const { gates } = await request('GET', `/actions/${id}/gates`, undefined, admin)
    const { subject } = gates.find(({ gate }: { gate: string }) => gate === 'approval').details
    await request('POST', `/actions/${id}/approve`, { subject }, admin)
    await assertEnds(id)
  })

  test('leaves a run waiting for the end of a freeze, and ends it when it gets its slot', async () => {
    const { at, host, report, request, assertEnds } = await openTree()
    const freeze = await request('POST', `/environments/${at.environmentId}/freezes`, NOW)
    await report('success')
    const id = await start(at)
    assert.equal(await stateOf(id), HELD)
    const asked = host.requests.length
    await report('failure')
    assert.deepEqual([await stateOf(id), host.requests.length], [HELD, asked])
    await request('DELETE', `/freezes/${freeze.id}`)
    await makeDuePasses(deps)
    await assertEnds(id)
  })
})
