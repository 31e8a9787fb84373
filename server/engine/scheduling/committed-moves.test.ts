import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { type CommittedMoves, noteActions, notePass, noteTargets, reportMoves } from './committed-moves.ts'

const AT = '2026-11-15T12:00:30.000Z'

/** The transaction rolls back when its work throws. */
const db = {
  transaction: () => ({ execute: async (work: (trx: Transaction) => unknown) => work({} as Transaction) }),
} as unknown as Database

const action = (more: object = {}) => ({
  id: 7,
  parentId: null,
  createdAt: '2026-11-15T12:00:00.000Z',
  startedAt: '2026-11-15T12:00:10.000Z',
  ...more,
})

function report(work: (trx: Transaction) => void) {
  const reported: CommittedMoves[] = []
  const committed = reportMoves(
    db,
    (moves) => reported.push(moves),
    async (trx) => work(trx),
  )
  return { reported, committed }
}

test('moves are reported when their transaction has committed', async () => {
  const { reported, committed } = report((trx) => {
    notePass(trx)
    noteActions(trx, AT, [
      { previous: 'queued', status: 'in-progress', reason: 'IN_PROGRESS', action: action() },
      { previous: 'in-progress', status: 'in-progress', reason: 'PENDING', action: action() },
      { previous: 'in-progress', status: 'failed', reason: 'FAILED_TIMEOUT', action: action() },
      { previous: 'waiting', status: 'skipped', reason: 'SKIPPED', action: action({ startedAt: null }) },
    ])
    noteTargets(trx, [{ stepMoves: [{ status: 'completed' }, { status: 'in-progress' }] }])
  })
  await committed
  const { seconds, ...moves } = reported[0]!
  assert.ok(seconds >= 0)
  assert.deepEqual(moves, {
    passes: 1,
    actions: 4,
    targets: 1,
    started: [{ queuedSeconds: 30 }],
    ended: [
      { id: 7, status: 'failed', reason: 'FAILED_TIMEOUT', ranSeconds: 20 },
      { id: 7, status: 'skipped', reason: 'SKIPPED', ranSeconds: null },
    ],
    endedSteps: ['completed'],
  })
})

test('a transaction that is rolled back reports nothing', async () => {
  const { reported, committed } = report((trx) => {
    notePass(trx)
    throw new Error('rolled back')
  })
  await assert.rejects(committed, /rolled back/)
  assert.deepEqual(reported, [])
})

test('a run that followed another one has no time in the queue', async () => {
  const { reported, committed } = report((trx) =>
    noteActions(trx, AT, [
      {
        previous: 'queued',
        status: 'in-progress',
        reason: 'IN_PROGRESS',
        action: action({ parentId: 7 }),
      },
    ]),
  )
  await committed
  assert.deepEqual(reported[0]!.started, [{ queuedSeconds: null }])
})
