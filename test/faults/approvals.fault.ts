// Approvals with Gantry's own processes, each killed by -9 at a moment at which it is about to store something: no run is lost,
// none starts without approval, and none starts twice.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { call } from '#test/support/process.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { until, untilLockWait } from '#test/support/until.ts'

// Everything is asked of the first one; the others are killed.
const world = await openRunWorld({ after }, { roles: ['api', 'worker', 'api'] })
const { db, ask, run, show, completed, endedWith, notes } = world
const { token } = world.owner

/** A run whose only step leaves a line, waiting for approval in an environment of its own. */
async function open(name: string) {
  const path = join(notes, `${name}.ran`)
  const made = await world.makeCustom([{ name: 'once', command: `echo ran >> '${path}'` }])
  const approval = { not_the_starter: false }
  const { status } = await ask('PUT', `/environments/${made.environmentId}`, { approval })
  assert.equal(status, 200)
  const times = async () => (await readFile(path, 'utf8').catch(() => '')).split('\n').length - 1
  return { ...made, times }
}

const subjectOf = (id: number) =>
  until(`the subject of ${id} is known`, 60_000, async () => {
    const { body } = await ask('GET', `/actions/${id}/gates`)
    return body.gates[0]?.details.subject as string | undefined
  })
const decide = async (verb: string, id: number) =>
  ask('POST', `/actions/${id}/${verb}`, { subject: await subjectOf(id) })

/** Keeps everyone else from storing anything about the runs of this environment. */
async function lock(environmentId: number): Promise<() => Promise<void>> {
  const client = new pg.Client(world.settings)
  await client.connect()
  await client.query('begin')
  await client.query(`select pg_advisory_xact_lock(hashtextextended('scheduling ' || $1::bigint, 0))`, [
    environmentId,
  ])
  return () => client.end()
}

type Role = 'api' | 'worker'
const indexOf = (role: Role) => (role === 'api' ? 2 : 1)
const processOf = (role: Role) => world.processes[indexOf(role)]!

/** It waits for the lock before it stores; then it is killed, and another process continues. */
async function killWhileStoring(role: Role, environmentId: number, cause: () => Promise<unknown>) {
  const unlock = await lock(environmentId)
  const causing = cause()
  await untilLockWait(db)
  await processOf(role).kill()
  await unlock()
  await causing
  world.processes[indexOf(role)] = await world.start(role)
}

const reasonOf = async (id: number) => (await show(id)).status_reason_code

suite('killed while it stores', () => {
  test('what a run ships: another worker finds it out', async () => {
    const { pipelineId, environmentId, times } = await open('prepared')
    const id = await run(pipelineId)
    await subjectOf(id)
    await killWhileStoring('worker', environmentId, () =>
      sql`update approval_requests set due_at = now(), subject = null where action_id = ${id}`.execute(db),
    )
    assert.equal((await decide('approve', id)).status, 200)
    await completed(id)
    assert.equal(await times(), 1)
  })

  test('an approval: nothing is approved, and it can be given again', async () => {
    const { pipelineId, environmentId, times } = await open('approved')
    const id = await run(pipelineId)
    const subject = await subjectOf(id)
    const send = () => call(processOf('api'), 'POST', `/actions/${id}/approve`, { token, body: { subject } })
    await killWhileStoring('api', environmentId, () => send().catch(() => {}))
    assert.equal(await reasonOf(id), 'WAITING_APPROVAL')
    assert.equal(await times(), 0)
    assert.equal((await decide('approve', id)).status, 200)
    await completed(id)
    assert.equal(await times(), 1)
  })

  test('a rejection: the run still waits', async () => {
    const { pipelineId, environmentId, times } = await open('rejected')
    const id = await run(pipelineId)
    const subject = await subjectOf(id)
    const send = () => call(processOf('api'), 'POST', `/actions/${id}/reject`, { token, body: { subject } })
    await killWhileStoring('api', environmentId, () => send().catch(() => {}))
    assert.equal(await reasonOf(id), 'WAITING_APPROVAL')
    assert.equal((await decide('reject', id)).status, 200)
    await endedWith('FAILED_REJECTED', id)
    assert.equal(await times(), 0)
  })

  test('the end of the period: another worker ends it', async () => {
    const { pipelineId, environmentId, times } = await open('expired')
    const id = await run(pipelineId)
    await subjectOf(id)
    await killWhileStoring('worker', environmentId, () =>
      sql`update approval_requests set expires_at = now() where action_id = ${id}`.execute(db),
    )
    await endedWith('SKIPPED_EXPIRED', id)
    assert.equal(await times(), 0)
  })

  test('an override: the freeze still holds the run, and it can be given again', async () => {
    const path = join(notes, 'overridden.ran')
    const { pipelineId, environmentId } = await world.makeCustom([
      { name: 'once', command: `echo ran >> '${path}'` },
    ])
    const freeze = { name: 'Stop the line', reason: 'Incident 7', starts_at: '2026-01-01T00:00:00Z' }
    assert.equal((await ask('POST', `/environments/${environmentId}/freezes`, freeze)).status, 201)
    const id = await run(pipelineId)
    const isHeld = async () => (await reasonOf(id)) === 'WAITING_FREEZE'
    await until('the freeze holds it', 60_000, isHeld)
    const body = { gate: 'freeze', reason: 'Fixes the incident' }
    const send = () => call(processOf('api'), 'POST', `/actions/${id}/override`, { token, body })
    await killWhileStoring('api', environmentId, () => send().catch(() => {}))
    assert.equal(await isHeld(), true)
    const { rows } = await sql`select from gate_overrides where action_id = ${id}`.execute(db)
    assert.equal(rows.length, 0)
    assert.ok((await ask('POST', `/actions/${id}/override`, body)).status < 300)
    await completed(id)
    assert.equal(await readFile(path, 'utf8'), 'ran\n')
  })

  test('the beginning of an approved run, between the last gate and the first step: it runs once', async () => {
    const { pipelineId, environmentId, times } = await open('begun')
    const id = await run(pipelineId)
    await subjectOf(id)
    processOf('worker').child.kill('SIGSTOP')
    assert.equal((await decide('approve', id)).status, 200)
    await killWhileStoring('worker', environmentId, async () => processOf('worker').child.kill('SIGCONT'))
    await completed(id)
    assert.equal(await times(), 1)
  })
})

test('no run is lost at the gate, and no slot stays taken', async () => {
  const { rows } = await sql<Record<string, number>>`select
    (select count(*) from actions where has_place or gate is not null) as actions,
    (select count(*) from approval_requests where due_at is not null or expires_at is not null) as requests`.execute(
    db,
  )
  assert.deepEqual(rows[0], { actions: 0, requests: 0 })
})
