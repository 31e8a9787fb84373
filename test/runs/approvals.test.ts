// Approvals: who approves, what that covers, and what lets it lapse. On the real database and real repositories, pass by pass.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { lookAtStale } from '#engine/gates/stale-approvals.ts'
import { variableAad } from '#model/inventory/sealed-aad.ts'
import { readInstallation } from '#ops/metrics/read-state.ts'
import { ASKED, BUSY, openApprovals, QUEUED, tip } from '#test/support/approvals.ts'
import { assertStarted } from '#test/support/calls.ts'
import { commitOf, reasonOf, refused, started } from '#test/support/runs.ts'
import {
  createAction,
  createMember,
  createTestTree,
  type Person,
  type TestTree,
} from '#test/support/world.ts'

const world = await openApprovals({ after })
const { api, db, box, makeHook, call, retry, cancel, rowOf, targetsOf, setPipeline, jobsFor } = world
const { repositories, schedule, prepare, expire, pass, stateOf, setApproval, openTree } = world
const { approvalOf, subjectOf, approve, reject, start, startByHook, goLive } = world

/** As stored, with the transaction that stored it. */
const requestOf = async (id: number) => {
  const { rows } = await sql`select xmin::text, r.* from approval_requests r where action_id = ${id}`.execute(
    db,
  )
  return rows[0]
}

suite('the setting of an environment', () => {
  test('has defaults, is shown, and is removed with null', async () => {
    const at = await createTestTree(db)
    const { body } = await setApproval(at, {})
    assert.deepEqual(body.approval, {
      required: 1,
      from: null,
      not_the_starter: true,
      expires_after_minutes: 10_080,
      operations: null,
      rollbacks: false,
    })
    assert.equal((await setApproval(at, null)).body.approval, null)
  })

  test('that demands more people than there are is rejected', async () => {
    const at = await createTestTree(db)
    const errorsOf = async (approval: object) => {
      const { errors } = await refused(setApproval(at, approval), 422, 'invalid')
      return Object.keys(errors)
    }
    assert.deepEqual(await errorsOf({ required: 2 }), ['approval.required'])
    assert.deepEqual(await errorsOf({ from: { roles: ['admin'] } }), ['approval.required'])
    const viewer = await createMember(db, at, 'viewer')
    assert.deepEqual(await errorsOf({ from: { user_ids: [viewer.id] } }), ['approval.required'])
    const stranger = await createTestTree(db)
    const foreign = await refused(
      setApproval(at, { from: { user_ids: [stranger.owner.id] } }),
      404,
      'not_found',
    )
    assert.deepEqual(Object.keys(foreign.errors), ['approval.from.user_ids.0'])
    assert.deepEqual(await errorsOf({ from: {} }), ['approval.from'])
    await createMember(db, at, 'admin')
    assert.equal((await setApproval(at, { required: 2 })).status, 200)
  })

  test('requires environment:edit', async () => {
    const at = await createTestTree(db)
    const developer = await createMember(db, at, 'developer')
    await refused(setApproval(at, {}, { token: developer.token }), 403, 'forbidden')
  })
})

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

suite('an approval lapses', () => {
  /** Approved, and without a slot: another run has it. */
  async function approvedAndWaiting(open: Awaited<ReturnType<typeof openTree>>): Promise<number> {
    const { at, admin } = open
    await setPipeline(at, { max_parallel_actions: 1 })
    const first = await start(at)
    await approve(first, admin)
    const id = await start(at)
    await approve(id, admin)
    assert.equal(await stateOf(id), BUSY)
    await setPipeline(at, { max_parallel_actions: 2 })
    return id
  }
  const changes: Record<string, (at: TestTree) => Promise<unknown>> = {
    'a build command': (at) =>
      sql`update applications set build_command = 'make' where id = ${at.applicationId}`.execute(db),
    'a shared path': (at) =>
      sql`update applications set shared_paths = '{x}' where id = ${at.applicationId}`.execute(db),
    'the host of a server': (at) =>
      sql`update servers set host = 'other.example.com' where id = ${at.serverIds[0]}`.execute(db),
    'the port of a server': (at) =>
      sql`update servers set port = 23 where id = ${at.serverIds[0]}`.execute(db),
    'the rollout': (at) =>
      sql`update pipelines set rollout = '{"batch": 1, "max_failed": 0}' where id = ${at.pipelineId}`.execute(
        db,
      ),
    'a variable': async (at) => {
      const { id } = await db
        .insertInto('application_variables')
        .values({ application_id: at.applicationId, name: 'A', value: Buffer.from('') })
        .returning('id')
        .executeTakeFirstOrThrow()
      const value = box.seal('x', variableAad(id))
      await db.updateTable('application_variables').set({ value }).where('id', '=', id).execute()
    },
  }
  for (const [what, change] of Object.entries(changes))
    test(`when ${what} changes before the start`, async () => {
      const open = await openTree()
      const { at, admin } = open
      const id = await approvedAndWaiting(open)
      const subject = (await approvalOf(id, admin)).details.subject
      await change(at)
      await pass(at)
      assert.equal(await stateOf(id), ASKED)
      await prepare()
      assert.equal(await stateOf(id), ASKED)
      const { details } = await approvalOf(id, admin)
      assert.notEqual(details.subject, subject)
      assert.notEqual(details.decisions[0].lapsed_at, null)
      await approve(id, admin)
      assert.equal(await stateOf(id), QUEUED)
    })

  test('when a variable is stored again with the same value, it does not', async () => {
    const open = await openTree()
    const { at } = open
    await changes['a variable']!(at)
    const id = await approvedAndWaiting(open)
    const { id: variable } = await db
      .selectFrom('application_variables')
      .select('id')
      .where('application_id', '=', at.applicationId)
      .executeTakeFirstOrThrow()
    const value = box.seal('x', variableAad(variable))
    await db.updateTable('application_variables').set({ value }).where('id', '=', variable).execute()
    await pass(at)
    assert.equal(await stateOf(id), ASKED)
    await prepare()
    assert.equal(await stateOf(id), QUEUED)
  })

  test('when an approver has lost the permission', async () => {
    const open = await openTree()
    const { at, admin } = open
    const id = await approvedAndWaiting(open)
    await sql`delete from grants where user_id = ${admin.id}`.execute(db)
    await pass(at)
    await prepare()
    assert.equal(await stateOf(id), ASKED)
  })

  test('when the setting was tightened; loosened, it stays as it was', async () => {
    const open = await openTree()
    const { at } = open
    const id = await approvedAndWaiting(open)
    await setApproval(at, { required: 2 })
    await setApproval(at, null)
    await pass(at)
    await prepare()
    assert.equal(await stateOf(id), ASKED)
    assert.equal((await approvalOf(id, at.owner)).details.required, 2)
    assert.equal(await stateOf(await start(at)), QUEUED)
  })
})

suite('what goes live between approval and start', () => {
  /** main: A–B–C–D, side: A–X. */
  async function history() {
    const open = await openTree()
    const { repository, at, admin } = open
    const a = await tip(repository)
    await repository.branch('side', a)
    const b = await repository.commit({ b: '' })
    const c = await repository.commit({ c: '' })
    const d = await repository.commit({ d: '' })
    const x = await repository.commit({ x: '' }, { branch: 'side' })
    const approvedOnto = async (live: string | null, commit: string) => {
      await setPipeline(at, { max_parallel_actions: 1 })
      if (live) await goLive(at, live)
      await createAction(db, at, {
        ...{ status: 'waiting', status_reason_code: 'WAITING_WORKER', has_place: true },
        ...{ started_at: null, completed_at: null },
      })
      const id = await start(at, { source_type: 'commit', source_ref: commit })
      assert.equal((await approve(id, admin)).status, 200)
      assert.equal(await stateOf(id), BUSY)
      await setPipeline(at, { max_parallel_actions: 2 })
      return id
    }
    const startNow = async (id: number) => {
      await pass(at)
      await prepare()
      return stateOf(id)
    }
    return { ...open, a, b, c, d, x, approvedOnto, startNow }
  }

  test('a part of what ships: the rest starts', async () => {
    const { at, a, b, d, approvedOnto, startNow } = await history()
    const id = await approvedOnto(a, d)
    await goLive(at, b)
    assert.equal(await startNow(id), QUEUED)
  })

  test('the same commit as another release: it starts', async () => {
    const { at, a, c, approvedOnto, startNow } = await history()
    const id = await approvedOnto(a, c)
    await goLive(at, a)
    assert.equal(await startNow(id), QUEUED)
  })

  test('an older commit: more would ship, and it waits again', async () => {
    const { at, a, b, d, approvedOnto, startNow } = await history()
    const id = await approvedOnto(b, d)
    await goLive(at, a)
    assert.equal(await startNow(id), ASKED)
  })

  test('a newer commit: it would be undone, and the run waits again', async () => {
    const { at, a, c, d, approvedOnto, startNow } = await history()
    const id = await approvedOnto(a, c)
    await goLive(at, d)
    assert.equal(await startNow(id), ASKED)
  })

  test('another branch: its commit would be undone, and the run waits again', async () => {
    const { at, a, d, x, approvedOnto, startNow } = await history()
    const id = await approvedOnto(a, d)
    await goLive(at, x)
    assert.equal(await startNow(id), ASKED)
  })

  test('something on servers where nothing was: a part of what ships', async () => {
    const { at, b, d, approvedOnto, startNow } = await history()
    const id = await approvedOnto(null, d)
    await goLive(at, b)
    assert.equal(await startNow(id), QUEUED)
  })

  test('a commit that is not known: it waits again', async () => {
    const { at, a, d, approvedOnto, startNow } = await history()
    const id = await approvedOnto(a, d)
    await goLive(at, 'f'.repeat(40))
    assert.equal(await startNow(id), ASKED)
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

suite('people see', () => {
  const listed = async (by: Person, at: TestTree) => {
    const query = `filter[approvable]=true&filter[environment_id]=${at.environmentId}`
    const { status, body, text } = await api.request('GET', `/actions?${query}`, { token: by.token })
    assert.equal(status, 200, text)
    return body.map(({ id }: { id: number }) => id)
  }
  const waiting = async (by: Person) => {
    const { body } = await api.request('GET', '/overview', { token: by.token })
    const { count, items } = body.waiting_for_you
    return { count, ids: items.map(({ id }: { id: number }) => id) }
  }

  test('the runs that wait for them, and no others', async () => {
    const { at, admin } = await openTree()
    const mine = await start(at, {}, { token: admin.token })
    const theirs = await start(at)
    const viewer = await createMember(db, at, 'viewer')
    assert.deepEqual(await listed(admin, at), [theirs])
    assert.deepEqual(await listed(at.owner, at), [mine])
    assert.deepEqual(await listed(viewer, at), [])
    assert.deepEqual(await waiting(admin), { count: 1, ids: [theirs] })
    assert.deepEqual(await waiting(viewer), { count: 0, ids: [] })
    await approve(theirs, admin)
    assert.deepEqual(await listed(admin, at), [])
  })

  test('only runs for which they are listed, and whose commits they did not write', async () => {
    const { at, repository, admin } = await openTree()
    await setApproval(at, { from: { user_ids: [at.owner.id] } })
    const id = await start(at, {}, { token: admin.token })
    assert.deepEqual(await listed(admin, at), [])
    assert.deepEqual(await listed(at.owner, at), [id])
    await repository.commit({ a: 'a' }, { author: { name: 'O', email: at.owner.email } })
    const byHook = await startByHook(at)
    assert.ok(!(await listed(at.owner, at)).includes(byHook))
  })

  test('what would ship now, once what is live has changed', async () => {
    const { at, repository, admin } = await openTree()
    const [first, id] = [await tip(repository), await start(at)]
    const { until, details } = await approvalOf(id, admin)
    await repository.commit({ b: '' }, { branch: 'side' })
    await goLive(at, first)
    const stored = await requestOf(id)
    const changed = (await approvalOf(id, admin)).details
    assert.deepEqual([changed.subject, changed.is_preparing, changed.you_may_approve], [null, true, false])
    // Looking writes nothing: it notifies the workers.
    assert.deepEqual(await requestOf(id), stored)
    await lookAtStale(db, id)
    await prepare()
    const now = await approvalOf(id, admin)
    // The same commit: nothing ships that was not shown, and the period goes on.
    assert.deepEqual([now.details.subject, now.until], [details.subject, until])
    await goLive(at, 'f'.repeat(40))
    await lookAtStale(db, id)
    await prepare()
    const other = await approvalOf(id, admin)
    assert.notEqual(other.details.subject, details.subject)
    assert.equal((await approve(id, admin)).status, 200)
    assert.equal(await stateOf(id), QUEUED)
  })

  test('which gate a run would wait at', async () => {
    const { at } = await openTree()
    const { body } = await api.request('POST', `/pipelines/${at.pipelineId}/plan`, {
      token: at.owner.token,
      body: {},
    })
    assert.equal(body.would_wait, 'WAITING_APPROVAL')
    assert.deepEqual(
      body.gates.map(({ gate }: { gate: string }) => gate),
      ['approval'],
    )
  })
})

test('metrics count the runs at the gate, and know the oldest', async () => {
  const { at } = await openTree()
  const before = (await readInstallation(db)).gates.find(({ gate }) => gate === 'approval')!
  const id = await start(at)
  await sql`update actions set created_at = now() - interval '400 days' where id = ${id}`.execute(db)
  const { runs, oldestSeconds } = (await readInstallation(db)).gates.find(({ gate }) => gate === 'approval')!
  assert.equal(runs, before.runs + 1)
  assert.equal(Math.round(oldestSeconds / 86_400), 400)
})

test('what happens at the gate are events', async () => {
  const { at, admin } = await openTree()
  const eventsOf = async (id: number) => {
    const rows = await db
      .selectFrom('events')
      .select(['status', 'gate_event'])
      .where('action_id', '=', id)
      .orderBy('id')
      .execute()
    return rows.map(({ status, gate_event }) => `${status} ${gate_event ?? ''}`.trim())
  }
  const [approved, rejected] = [await startByHook(at), await startByHook(at)]
  await approve(approved, admin)
  await reject(rejected, admin)
  const asked = ['waiting gate_changed', 'waiting approval_requested']
  assert.deepEqual((await eventsOf(approved)).slice(0, 4), [
    ...asked,
    'waiting approved',
    'waiting gate_changed',
  ])
  assert.deepEqual(await eventsOf(rejected), [...asked, 'waiting rejected', 'failed gate_changed'])
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

suite('rollbacks', () => {
  test('need approval when they run something else than the last run, or with rollbacks: true', async () => {
    const { at, repository } = await openTree()
    const a = await tip(repository)
    const b = await repository.commit({ b: '' })
    const done = (hash: string, digit: string) =>
      createAction(
        db,
        at,
        {
          release_name: `2026010100000${digit}-${hash.slice(0, 8)}`,
          commit: JSON.stringify({ ...commitOf('a'), hash }),
          deployment: JSON.stringify({
            ...{ type: 'deploy', source_type: 'branch', source_ref: 'main' },
            ...{ repository: repository.address, provider_name: null },
          }),
        },
        { release_name: `2026010100000${digit}-${hash.slice(0, 8)}` },
      )
    await done(a, '1')
    const live = await done(b, '2')
    for (const server of at.serverIds)
      await sql`
        insert into live_releases (application_id, server_id, action_id, release_name, commit_sha)
        values (${at.applicationId}, ${server}, ${live}, ${`20260101000002-${b.slice(0, 8)}`}, ${b})`.execute(
        db,
      )
    const back = async () => start(at, { type: 'rollback' })
    // Nothing has started since approval is required: it is not known what the last run consisted of.
    const unknown = await back()
    assert.equal(await stateOf(unknown), ASKED)
    await cancel(unknown, { at })
    await sql`
      insert into started_settings (pipeline_id, action_id, stamp)
      select ${at.pipelineId}::bigint, ${live}::bigint, md5(jsonb_build_array(
        (select jsonb_path_query_array(t.steps, '$[*].step_id ? (@ != null)') from targets t
          where t.action_id = ${unknown} order by t.position limit 1),
        (select jsonb_build_array(app.folder, app.repository, app.root_directory, app.install_dependencies_command,
          app.build_command, app.shared_paths, app.submodules) from applications app where app.id = ${at.applicationId}),
        null::jsonb)::text)`.execute(db)
    assert.equal(await stateOf(await back()), QUEUED)
    await sql`update applications set build_command = 'make' where id = ${at.applicationId}`.execute(db)
    assert.equal(await stateOf(await back()), ASKED)
  })
})
