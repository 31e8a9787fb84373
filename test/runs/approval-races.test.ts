// Decisions that meet: of two that exclude each other one counts, the other gets 409, and nothing starts that should not.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { ASKED, openApprovals, QUEUED } from '#test/support/approvals.ts'
import type { Answer } from '#test/support/harness.ts'
import { createAction, createMember, type Person, type TestTree } from '#test/support/world.ts'

const world = await openApprovals({ after })
const { api, db, cancel, expire, openTree, pass, prepare, setApproval, setPipeline, start, stateOf } = world
const { subjectOf } = world

const TIMES = 6
const REJECTED = 'failed/FAILED_REJECTED'
const CANCELED = 'failed/FAILED_CANCELLED'
const EXPIRED = 'skipped/SKIPPED_EXPIRED'

type Asked = { at: TestTree; id: number; admin: Person; second: Person; subject: string }

async function ask(terms: object = {}): Promise<Asked> {
  const { at, admin } = await openTree(null)
  const second = await createMember(db, at, 'admin')
  assert.equal((await setApproval(at, terms)).status, 200)
  const id = await start(at)
  return { at, id, admin, second, subject: await subjectOf(id, admin) }
}

const decide = (verb: string, { id, subject }: Asked, by: Person) =>
  api.request('POST', `/actions/${id}/${verb}`, { token: by.token, body: { subject } })

/** In both orders of asking; the lock decides. */
async function race(one: () => Promise<Answer>, other: () => Promise<Answer>, turn: number) {
  if (turn % 2 === 0) return Promise.all([one(), other()])
  const [second, first] = await Promise.all([other(), one()])
  return [first, second] as const
}

const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status)

const eventsOf = async (id: number, event: string) => {
  const { rows } = await sql`select from events where action_id = ${id} and gate_event = ${event}`.execute(db)
  return rows.length
}

function repeatedly(what: string, once: (turn: number) => Promise<void>): void {
  test(what, async () => {
    for (let turn = 0; turn < TIMES; turn++) await once(turn)
  })
}

suite('at the same time', () => {
  repeatedly(
    'two approvals where one is enough: the second finds a run that no longer waits',
    async (turn) => {
      const asked = await ask()
      const answers = await race(
        () => decide('approve', asked, asked.admin),
        () => decide('approve', asked, asked.second),
        turn,
      )
      assert.deepEqual(statuses(answers).sort(), [200, 409])
      assert.equal(await stateOf(asked.id), QUEUED)
      assert.equal(await eventsOf(asked.id, 'approved'), 1)
    },
  )

  repeatedly('two approvals where two are needed: both count, and the gate opens once', async (turn) => {
    const asked = await ask({ required: 2 })
    const answers = await race(
      () => decide('approve', asked, asked.admin),
      () => decide('approve', asked, asked.second),
      turn,
    )
    assert.deepEqual(statuses(answers), [200, 200])
    assert.equal(await stateOf(asked.id), QUEUED)
    assert.equal(await eventsOf(asked.id, 'approved'), 1)
  })

  repeatedly('the same approval twice counts once', async (turn) => {
    const asked = await ask({ required: 2 })
    const once = () => decide('approve', asked, asked.admin)
    await race(once, once, turn)
    assert.equal(await stateOf(asked.id), ASKED)
  })

  repeatedly('an approval and a rejection: the first one counts', async (turn) => {
    const asked = await ask()
    const [approved, rejected] = await race(
      () => decide('approve', asked, asked.admin),
      () => decide('reject', asked, asked.second),
      turn,
    )
    assert.deepEqual(statuses([approved, rejected]).sort(), [200, 409])
    assert.equal(await stateOf(asked.id), approved.status === 200 ? QUEUED : REJECTED)
  })

  repeatedly('an approval and a cancellation: the run ends, whichever was first', async (turn) => {
    const asked = await ask()
    const [approved, canceled] = await race(
      () => decide('approve', asked, asked.admin),
      () => cancel(asked.id, { at: asked.at }),
      turn,
    )
    assert.equal(canceled.status, 202)
    assert.ok([200, 409].includes(approved.status))
    assert.equal(await stateOf(asked.id), CANCELED)
  })

  repeatedly('a rejection and a cancellation: the first one counts', async (turn) => {
    const asked = await ask()
    const [rejected, canceled] = await race(
      () => decide('reject', asked, asked.admin),
      () => cancel(asked.id, { at: asked.at }),
      turn,
    )
    assert.equal([rejected.status === 200, canceled.status === 202].filter(Boolean).length, 1)
    assert.equal(await stateOf(asked.id), rejected.status === 200 ? REJECTED : CANCELED)
  })

  repeatedly('an approval and the end of the period: the first one counts', async (turn) => {
    const asked = await ask()
    await sql`
      update approval_requests set expires_at = clock_timestamp() + ${turn * 10}::int * interval '1 ms'
      where action_id = ${asked.id}`.execute(db)
    let isOver = false
    const expiring = async () => {
      while (!isOver) await expire()
      await expire()
    }
    const [{ status }] = await Promise.all([
      decide('approve', asked, asked.admin).finally(() => {
        isOver = true
      }),
      expiring(),
    ])
    if (status !== 200) while ((await stateOf(asked.id)) === ASKED) await expire()
    assert.ok([200, 409].includes(status))
    assert.equal(await stateOf(asked.id), status === 200 ? QUEUED : EXPIRED)
  })
})

const isAnswer = (result: unknown): result is Answer =>
  typeof result === 'object' && result !== null && 'status' in result

suite('an approval does not start the run', () => {
  /** Another run has the only slot until `start` lets both run. */
  async function busy() {
    const { at, admin } = await openTree()
    await setPipeline(at, { max_parallel_actions: 1 })
    await createAction(db, at, {
      ...{ status: 'waiting', status_reason_code: 'WAITING_WORKER', has_place: true },
      ...{ started_at: null, completed_at: null },
    })
    const id = await start(at)
    const asked = { at, id, admin, second: admin, subject: await subjectOf(id, admin) }
    const slot = async () => {
      await setPipeline(at, { max_parallel_actions: 2 })
      await pass(at)
      await prepare()
      return stateOf(id)
    }
    return { ...asked, asked, slot }
  }

  const meanwhile: Record<string, (at: TestTree, admin: Person) => Promise<unknown>> = {
    'if the permission was lost': (_, admin) =>
      sql`delete from grants where user_id = ${admin.id}`.execute(db),
    'if the member was removed': ({ organizationId, owner }, admin) =>
      api.request('DELETE', `/organizations/${organizationId}/members/${admin.id}`, { token: owner.token }),
    'if the account was deactivated': (_, admin) =>
      sql`update users set active = false where id = ${admin.id}`.execute(db),
    'if others have to approve by now': (at) =>
      setApproval(at, { from: { user_ids: [at.owner.id] }, not_the_starter: false }),
    'if a command changed': ({ applicationId }) =>
      sql`update applications set build_command = 'make' where id = ${applicationId}`.execute(db),
  }
  for (const [what, change] of Object.entries(meanwhile))
    repeatedly(what, async (turn) => {
      const { at, admin, asked, slot } = await busy()
      const approve = () => decide('approve', asked, admin)
      const changing = async (): Promise<void> => {
        const done = await change(at, admin)
        // Without the lock in time, nothing has changed: clients repeat it.
        if (isAnswer(done) && done.status === 503) return changing()
        if (isAnswer(done)) assert.ok(done.status < 300, done.text)
      }
      await Promise.all(turn % 2 === 0 ? [approve(), changing()] : [changing(), approve()])
      assert.equal(await slot(), ASKED)
    })
})
