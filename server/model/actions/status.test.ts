import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Status } from '#platform/database/tables.ts'
import { canMove, firstState, isEnd, SKIPPED, UNFINISHED } from './status.ts'

const STATUSES: Status[] = ['pending', 'waiting', 'queued', 'in-progress', 'completed', 'failed', 'skipped']

test('the moves are exactly those of the contract', () => {
  const allowed = STATUSES.flatMap((from) =>
    STATUSES.filter((to) => canMove(from, to)).map((to) => `${from} → ${to}`),
  )
  assert.deepEqual(allowed, [
    'pending → waiting',
    'pending → queued',
    'pending → failed',
    'pending → skipped',
    'waiting → queued',
    'waiting → failed',
    'waiting → skipped',
    'queued → waiting',
    'queued → in-progress',
    'queued → failed',
    'queued → skipped',
    'in-progress → completed',
    'in-progress → failed',
  ])
})

test('ends are final, and everything else can still end', () => {
  assert.deepEqual(STATUSES.filter(isEnd), ['completed', 'failed', 'skipped'])
  assert.deepEqual([...UNFINISHED].sort(), ['in-progress', 'pending', 'queued', 'waiting'])
  for (const from of UNFINISHED) assert.ok(canMove(from, 'failed'), from)
})

test('an action starts as queued, or as pending when it waits for another', () => {
  assert.deepEqual(firstState({ waitsForParent: false }), { status: 'queued', reason: 'QUEUED' })
  assert.deepEqual(firstState({ waitsForParent: true }), { status: 'pending', reason: 'PENDING' })
})

test('whatever has not started can be superseded', () => {
  assert.deepEqual(SKIPPED, { status: 'skipped', reason: 'SKIPPED' })
  for (const from of STATUSES)
    assert.equal(canMove(from, SKIPPED.status), ['pending', 'waiting', 'queued'].includes(from), from)
})
