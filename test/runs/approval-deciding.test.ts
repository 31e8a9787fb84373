// Runs that wait for people: who decides, once and for what, and what becomes of the run. On the real database and real
// repositories, pass by pass.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { ASKED, openApprovals, QUEUED, tip } from '#test/support/approvals.ts'
import { assertStarted } from '#test/support/calls.ts'
import { reasonOf, refused, started } from '#test/support/runs.ts'
import { createAction, createMember, type Person } from '#test/support/world.ts'

const {
  api,
  db,
  makeHook,
  call,
  retry,
  cancel,
  rowOf,
  targetsOf,
  setPipeline,
  jobsFor,
  repositories,
  schedule,
  prepare,
  expire,
  stateOf,
  setApproval,
  openTree,
  approvalOf,
  subjectOf,
  approve,
  reject,
  start,
  startByHook,
  goLive,
} = await openApprovals({ after })

/** As stored, with the transaction that stored it. */
const requestOf = async (id: number) => {
  const { rows } = await sql`select xmin::text, r.* from approval_requests r where action_id = ${id}`.execute(
    db,
  )
  return rows[0]
}

suite('a run that needs approval', () => {
  test('waits at the gate without a slot, and starts once it is approved', async () => {
    const { at, repository, admin } = await openTree()
    const id = await start(at)
    assert.equal(await stateOf(id), ASKED)
    const { state, until, details } = await approvalOf(id, admin)
    assert.equal(state, 'closed')
    assert.ok(Date.parse(until) > Date.now() + 7 * 86_000_000)
    assert.equal(details.you_may_approve, true)
    assert.equal((await rowOf(id)).commit?.hash, await tip(repository))
    const answer = await approve(id, admin, { comment: 'Looks good' })
    assert.equal(answer.status, 200, answer.text)
    assert.equal(await stateOf(id), QUEUED)
    const after = await approvalOf(id, admin)
    assert.equal(after.state, 'open')
    assert.deepEqual(
      after.details.decisions.map(({ user, decision, comment }: never) => ({ user, decision, comment })),
      [
        {
          user: { id: admin.id, name: admin.email.split('@')[0] },
          decision: 'approved',
          comment: 'Looks good',
        },
      ],
    )
  })

  test('is not approved by its starter, nor by people without the permission', async () => {
    const { at, admin } = await openTree()
    const id = await start(at, {}, { token: admin.token })
    assert.equal((await approvalOf(id, admin)).details.why_not, 'starter')
    assert.equal((await approve(id, admin)).status, 403)
    const developer = await createMember(db, at, 'developer')
    assert.equal((await approve(id, developer)).status, 403)
    assert.equal(await stateOf(id), ASKED)
    assert.equal((await approve(id, at.owner)).status, 200)
    assert.equal(await stateOf(id), QUEUED)
  })

  test('with not_the_starter: false is approved by its starter', async () => {
    const { at } = await openTree({ not_the_starter: false })
    const id = await start(at)
    assert.equal((await approve(id, at.owner)).status, 200)
    assert.equal(await stateOf(id), QUEUED)
  })

  test('is approved for what was seen: another subject, that of another run, or none is outdated', async () => {
    const { at, admin } = await openTree()
    const [id, other] = [await start(at), await start(at)]
    const theirs = await subjectOf(other, admin)
    const send = (subject: string) =>
      api.request('POST', `/actions/${id}/approve`, { token: admin.token, body: { subject } })
    await refused(send('x'), 409, 'approval_outdated')
    assert.notEqual(theirs, await subjectOf(id, admin))
    await refused(send(theirs), 409, 'approval_outdated')
    assert.equal(await stateOf(id), ASKED)
  })

  test('needs as many people as required, each counted once', async () => {
    const { at, admin } = await openTree(null)
    const second = await createMember(db, at, 'admin')
    await setApproval(at, { required: 2 })
    const id = await start(at)
    await approve(id, admin)
    await approve(id, admin)
    assert.equal(await stateOf(id), ASKED)
    await approve(id, second)
    assert.equal(await stateOf(id), QUEUED)
  })

  test('is rejected once, by one person, and nothing is decided after that', async () => {
    const { at, admin } = await openTree()
    const id = await start(at)
    const subject = await subjectOf(id, admin)
    assert.equal((await reject(id, admin, { comment: 'No' })).status, 200)
    assert.equal(await stateOf(id), 'failed/FAILED_REJECTED')
    assert.equal((await approvalOf(id, admin)).state, 'failed')
    const late = api.request('POST', `/actions/${id}/approve`, { token: admin.token, body: { subject } })
    assert.equal(await reasonOf(late), 'The action has already ended.')
  })

  test('of several decisions at the same time, one counts', async () => {
    const { at, admin } = await openTree()
    const id = await start(at)
    const answers = await Promise.all([approve(id, admin), reject(id, admin), cancel(id, { at })])
    const done = answers.slice(0, 2).filter(({ status }) => status === 200).length
    const state = await stateOf(id)
    assert.ok(
      done <= 1 || state === 'failed/FAILED_CANCELLED',
      `${state} ${answers.map(({ status }) => status)}`,
    )
  })

  test('expires, and not once it is approved', async () => {
    const { at, admin } = await openTree()
    const [late, approved] = [await start(at), await start(at)]
    await approve(approved, admin)
    await sql`
      update approval_requests set expires_at = now() - interval '1 second'
      where environment_id = ${at.environmentId} and expires_at is not null`.execute(db)
    const subject = await subjectOf(late, admin)
    const tooLate = api.request('POST', `/actions/${late}/approve`, { token: admin.token, body: { subject } })
    assert.equal(await reasonOf(tooLate), 'The time to approve it is over. Start the action again.')
    await expire()
    assert.equal(await stateOf(late), 'skipped/SKIPPED_EXPIRED')
    assert.equal(await stateOf(approved), QUEUED)
  })

  test('whose source cannot be found fails', async () => {
    const { at } = await openTree()
    const id = await start(at, { source_type: 'branch', source_ref: 'missing' })
    assert.equal(await stateOf(id), 'failed/FAILED_SOURCE')
    assert.deepEqual(
      (await targetsOf(id)).map(({ status_reason_code }) => status_reason_code),
      ['FAILED_SOURCE', 'FAILED_SOURCE'],
    )
  })

  test('keeps its commit when the branch moves, also by force', async () => {
    const { at, repository, admin } = await openTree()
    const id = await start(at)
    const hash = await tip(repository)
    await repository.removeBranch('main')
    await repository.commit({ 'index.html': 'another history' })
    await approve(id, admin)
    assert.equal(await stateOf(id), QUEUED)
    assert.equal((await rowOf(id)).commit?.hash, hash)
    const signal = new AbortController().signal
    assert.ok((await repositories.pinned({ applicationId: at.applicationId, signal })).includes(id))
  })

  test('is canceled at the gate', async () => {
    const { at, admin } = await openTree()
    const id = await start(at)
    assert.equal((await cancel(id, { at })).status, 202)
    assert.equal(await stateOf(id), 'failed/FAILED_CANCELLED')
    assert.equal(await reasonOf(reject(id, admin)), 'The action has already ended.')
  })

  test('of another operation needs none', async () => {
    const { at } = await openTree({ operations: ['restart'] })
    assert.equal(await stateOf(await start(at)), QUEUED)
  })
})

suite('a run that a hook started', () => {
  test('is stored at the gate, with the request that a worker claims, and nothing to schedule', async () => {
    const { at, admin } = await openTree()
    const hook = await makeHook({}, at)
    const id = assertStarted(await call(hook))
    assert.equal(await stateOf(id), ASKED)
    const request = (await requestOf(id)) as { xmin: string; due_at: string | null }
    assert.notEqual(request.due_at, null)
    const { rows } = await sql<{ xmin: string }>`select xmin::text from actions where id = ${id}`.execute(db)
    assert.equal(request.xmin, rows[0]!.xmin, 'in one transaction')
    assert.equal(await jobsFor(id), 0)
    await prepare()
    assert.equal((await approve(id, admin)).status, 200)
    assert.equal(await stateOf(id), QUEUED)
  })

  test('is not approved by who wrote or committed what it ships', async () => {
    const { at, repository, admin } = await openTree()
    await goLive(at, await tip(repository))
    await repository.commit({ a: 'a' }, { author: { name: 'A', email: admin.email.toUpperCase() } })
    await repository.commit({ b: 'b' })
    const id = await startByHook(at)
    assert.equal((await approve(id, admin)).status, 403)
    // By hand, the same commits may be approved by their author.
    const manual = await start(at)
    assert.equal((await approve(manual, admin)).status, 200)
    // What is live already does not ship.
    await goLive(at, await tip(repository))
    const unchanged = await startByHook(at)
    assert.equal((await approve(unchanged, admin)).status, 200)
  })

  test('supersedes older ones once it is approved, with queue_policy latest', async () => {
    const { at, admin } = await openTree()
    await setPipeline(at, { queue_policy: 'latest' })
    const hook = await makeHook({}, at)
    const ids: number[] = []
    for (let count = 0; count < 3; count++) ids.push(assertStarted(await call(hook)))
    await schedule(ids)
    await prepare()
    assert.deepEqual(await Promise.all(ids.map(stateOf)), [ASKED, ASKED, ASKED])
    await approve(ids[1]!, admin)
    assert.deepEqual(await Promise.all(ids.map(stateOf)), ['skipped/SKIPPED', QUEUED, ASKED])
  })

  test('is outdated when a newer one of its branch has started', async () => {
    const { at, admin } = await openTree()
    const id = await startByHook(at, { branch: 'main' })
    const { hook_id, hook_request_id } = await rowOf(id)
    await createAction(db, at, { trigger_type: 'hook', hook_id, hook_request_id, branch: 'main' })
    await approve(id, admin)
    assert.equal(await stateOf(id), 'skipped/SKIPPED_OUTDATED')
  })
})

suite('starters', () => {
  test('of any run in the chain of retries cannot approve', async () => {
    const { at, admin } = await openTree()
    const first = await start(at, {}, { token: admin.token })
    await reject(first, at.owner)
    const { id } = await started(retry(first, { at }))
    await schedule([id])
    await prepare()
    assert.equal(await stateOf(id), ASKED)
    assert.equal((await approve(id, admin)).status, 403)
    assert.equal((await approve(id, at.owner)).status, 403)
    const third = await createMember(db, at, 'admin')
    assert.equal((await approve(id, third)).status, 200)
  })
})

suite('with freezes', () => {
  test('approval comes first, and an approved run waits for the end of the freeze', async () => {
    const { at, admin } = await openTree()
    const body = { name: 'Stop', reason: 'Incident', starts_at: '2026-01-01T00:00:00Z' }
    await started(
      api.request('POST', `/environments/${at.environmentId}/freezes`, { token: at.owner.token, body }),
    )
    const id = await start(at)
    assert.equal(await stateOf(id), ASKED)
    await approve(id, admin)
    assert.equal(await stateOf(id), 'waiting/WAITING_FREEZE at freeze')
  })
})

suite('personal access tokens', () => {
  const tokenWith = async (person: Person, scopes: string[] | null, by = person.token) =>
    api.request('POST', '/users/personal-access-tokens', { token: by, body: { name: 'CI', scopes } })

  test('approve with the scope approve by name only', async () => {
    const { at, admin } = await openTree()
    const id = await start(at)
    const subject = await subjectOf(id, admin)
    const send = (token: string) =>
      api.request('POST', `/actions/${id}/approve`, { token, body: { subject } })
    const everything = (await started(tokenWith(admin, null))).token
    await refused(send(everything), 403, 'forbidden')
    await refused(send((await started(tokenWith(admin, ['manage', 'run']))).token), 403, 'forbidden')
    // Nor does a token without scopes create one that approves.
    await refused(tokenWith(admin, ['approve'], everything), 403, 'forbidden')
    assert.equal((await send((await started(tokenWith(admin, ['approve']))).token)).status, 200)
    assert.equal(await stateOf(id), QUEUED)
  })
})
