// The routes of freezes, and what shows the runs that they hold.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { cancelAction } from '#engine/scheduling/cancel.ts'
import { NOW, openFreezes, soon } from '#test/support/freezes.ts'
import { started } from '#test/support/runs.ts'
import { createTestTree } from '#test/support/world.ts'

const world = await openFreezes({ after })
const {
  api,
  db,
  enqueueTargets,
  release,
  freezeAt,
  freezeOrganization,
  change,
  remove,
  gatesOf,
  start,
  limit,
  limitServers,
} = world

suite('the routes of freezes', () => {
  const WEEKEND = {
    name: 'Weekend',
    reason: 'No one is on call',
    weekly: { from: { day: 'friday', time: '16:00' }, to: { day: 'monday', time: '08:00' } },
    time_zone: 'Europe/Berlin',
  }

  test('create, list, change and remove, with an audit entry each', async () => {
    const at = await createTestTree(db)
    const created = await started(freezeAt(at, WEEKEND))
    assert.deepEqual(created.weekly, WEEKEND.weekly)
    assert.deepEqual([created.starts_at, created.ends_at, created.when_over], [null, null, 'all'])
    const wide = await started(freezeOrganization(at))
    assert.deepEqual([wide.environment_id, wide.in_force, wide.in_force_until], [null, true, null])
    const list = async (path: string) =>
      (await api.request('GET', path, { token: at.owner.token })).body.map(({ id }: { id: number }) => id)
    assert.deepEqual(await list(`/environments/${at.environmentId}/freezes`), [wide.id, created.id])
    assert.deepEqual(await list(`/organizations/${at.organizationId}/freezes`), [wide.id])
    const changed = await change(at, created.id, {
      starts_at: '2026-01-01T00:00:00+01:00',
      ends_at: soon(60),
    })
    assert.equal(changed.status, 200, changed.text)
    assert.deepEqual([changed.body.weekly, changed.body.time_zone], [null, null])
    assert.equal(changed.body.starts_at, '2025-12-31T23:00:00.000Z')
    assert.equal((await remove(at, created.id)).status, 204)
    assert.equal((await remove(at, created.id)).status, 404)
    const { rows } = await sql<{ verb: string }>`
      select verb from audit_entries where subject_type = 'freeze' and subject_id = ${String(created.id)} order by id`.execute(
      db,
    )
    assert.deepEqual(
      rows.map(({ verb }) => verb),
      ['created', 'changed', 'removed'],
    )
  })

  test('reject times that make no sense, each at its field', async () => {
    const at = await createTestTree(db)
    const faults = async (body: object) => {
      const { body: answer, status } = await freezeAt(at, { name: 'F', reason: 'r', ...body })
      assert.equal(status, 422)
      return Object.keys(answer.errors).sort()
    }
    const week = { weekly: WEEKEND.weekly }
    assert.deepEqual(await faults({}), ['starts_at'])
    assert.deepEqual(await faults({ starts_at: NOW.starts_at, time_zone: 'UTC' }), ['time_zone'])
    assert.deepEqual(await faults(week), ['time_zone'])
    assert.deepEqual(await faults({ ...week, time_zone: 'Mars/Olympus' }), ['time_zone'])
    assert.deepEqual(await faults({ ...week, time_zone: '+02:00' }), ['time_zone'])
    assert.deepEqual(await faults({ ...week, time_zone: 'UTC', starts_at: NOW.starts_at }), ['starts_at'])
    assert.deepEqual(await faults({ ...week, time_zone: 'UTC', ends_at: NOW.starts_at }), ['ends_at'])
    assert.deepEqual(await faults({ starts_at: soon(1), ends_at: soon(0) }), ['ends_at'])
    assert.deepEqual(await faults({ starts_at: '0000-01-01T00:00:00Z' }), ['starts_at'])
    const { from } = WEEKEND.weekly
    assert.deepEqual(await faults({ weekly: { from, to: from }, time_zone: 'UTC' }), ['weekly.to'])
    assert.deepEqual(
      await faults({ weekly: { from, to: { day: 'monday', time: '24:00' } }, time_zone: 'UTC' }),
      ['weekly.to.time'],
    )
    assert.deepEqual(await faults({ starts_at: soon(0), reason: '' }), ['reason'])
  })

  test('runs are found by their gate and their branch, with other filters', async () => {
    const at = await createTestTree(db)
    await limit(at, 0)
    await limitServers(at, 0)
    const find = async (query: string) => {
      const path = `/actions?filter[environment_id]=${at.environmentId}&${query}`
      const { body, status } = await api.request('GET', path, { token: at.owner.token })
      assert.equal(status, 200, JSON.stringify(body))
      return body.map(({ id }: { id: number }) => id)
    }
    const ended = await start(at, { source_ref: 'main' })
    await cancelAction({ db, enqueueTargets }, ended, at.owner)
    const running = await start(at, { source_ref: 'main' })
    const other = await start(at, { source_ref: 'next' })
    await started(freezeAt(at))
    const held = await start(at, { source_ref: 'main' })
    assert.deepEqual(await find('filter[gate]=freeze'), [held])
    assert.deepEqual(await find('filter[gate]=checks,approval'), [])
    assert.deepEqual(await find('filter[branch]=main'), [held, running, ended])
    assert.deepEqual(await find('filter[branch]=refs/heads/next'), [other])
    assert.deepEqual(await find('filter[branch]=main&filter[status]=failed,queued'), [running, ended])
    assert.deepEqual(await find('filter[branch]=main&filter[gate]=freeze'), [held])
    assert.deepEqual(await find('filter[branch]=next&filter[gate]=freeze'), [])
    assert.deepEqual(await find(`filter[branch]=main&filter[user_id]=${at.owner.id}&per_page=1&page=2`), [
      running,
    ])
    assert.deepEqual(await find('filter[branch]=main&filter[trigger_type]=hook'), [])
    const bad = await api.request('GET', '/actions?filter[gate]=door&filter[branch]=', {
      token: at.owner.token,
    })
    assert.deepEqual(Object.keys(bad.body.errors), ['filter[gate]', 'filter[branch]'])
  })

  test('show the gates of a run, and its branch', async () => {
    const at = await createTestTree(db)
    const id = await start(at, { source_ref: 'main' })
    await limit(at, 0)
    const open = await gatesOf(at, id)
    assert.equal(open.branch, 'main')
    assert.deepEqual(
      open.gates.map(({ gate, state, since, until }: Record<string, unknown>) => [gate, state, since, until]),
      [['freeze', 'open', null, null]],
    )
    const ends_at = soon(60)
    const freeze = await started(freezeAt(at, { ...NOW, ends_at }))
    const held = await start(at)
    const [gate] = (await gatesOf(at, held)).gates
    assert.equal(gate.state, 'closed')
    assert.equal(gate.until, ends_at)
    assert.ok(Date.parse(gate.since) <= Date.now())
    const { id: freezeId, name, reason } = freeze
    assert.deepEqual(gate.details.freezes, [
      { id: freezeId, name, reason, environment_id: at.environmentId, until: ends_at },
    ])
    await remove(at, freezeId)
    await release()
    const [left] = (await gatesOf(at, held)).gates
    assert.equal(left.state, 'open')
    assert.ok(left.since >= gate.since)
  })
})
