import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type LiveWorker, mayRun, type PlacedServer, placeTarget, sharedName } from './placement.ts'

const worker = (name: string | null, draining = false): LiveWorker => ({ name, draining })
const local = (workerName: string | null): PlacedServer => ({ isLocal: true, workerName })
const SSH: PlacedServer = { isLocal: false, workerName: null }

const place = (server: PlacedServer, ...workers: LiveWorker[]) => {
  const placement = placeTarget(server, workers)
  return placement.kind === 'worker' ? placement.name : placement.kind
}

test('a target on an SSH server may run anywhere, whichever workers are online', () => {
  assert.equal(place(SSH), 'anywhere')
  assert.equal(place(SSH, worker('m1'), worker('m2', true)), 'anywhere')
})

test('one on a local server needs a live worker of its name that is not draining', () => {
  assert.equal(place(local('m1'), worker('m2'), worker('m1')), 'm1')
  assert.equal(place(local('m1'), worker('m1', true), worker('m1')), 'm1')
  assert.equal(place(local('m1'), worker('m1', true)), 'none')
  assert.equal(place(local('m1'), worker('m2')), 'none')
  assert.equal(place(local('m1')), 'none')
})

test('without a name, all live workers have to share one, draining or not', () => {
  assert.equal(place(local(null), worker('m1'), worker('m1')), 'm1')
  assert.equal(place(local(null), worker('m1'), worker('m2')), 'none')
  assert.equal(place(local(null), worker('m1'), worker('m2', true)), 'none')
  assert.equal(place(local(null), worker('m1', true)), 'none')
})

test('without a name, and without workers that have one, the first worker to take it decides', () => {
  assert.equal(place(local(null)), 'anywhere')
  assert.equal(place(local(null), worker(null)), 'anywhere')
  assert.equal(place(local(null), worker(null), worker('m1')), 'm1')
})

test('a worker takes only what belongs to its machine', () => {
  assert.ok(mayRun('m1', SSH, 'm2', [worker('m1'), worker('m2')]))
  assert.ok(mayRun('m1', local('m1'), null, [worker('m1'), worker('m2')]))
  assert.ok(!mayRun('m1', local('m2'), 'm1', [worker('m1')]))
  assert.ok(mayRun('m1', local(null), null, [worker('m1'), worker(null)]))
  assert.ok(!mayRun('m1', local(null), null, [worker('m1'), worker('m2')]))
})

test('what ran here continues here, and moves to another name only with everything else', () => {
  assert.ok(mayRun('m1', local(null), 'm1', [worker('m1'), worker('m2')]))
  assert.ok(!mayRun('m2', local(null), 'm1', [worker('m1'), worker('m2')]))
  assert.ok(mayRun('m2', local(null), 'm1', [worker('m2')]))
})

test('the shared name is that of all workers that have one', () => {
  assert.equal(sharedName([worker('m1'), worker('m1'), worker(null)]), 'm1')
  assert.equal(sharedName([worker('m1'), worker('m2')]), null)
  assert.equal(sharedName([]), null)
})
