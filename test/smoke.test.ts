import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTestApp } from './harness.ts'
import { createAction, createTestTree } from './world.ts'

test('an owner reads the actions of the organization', async (t) => {
  const { db, request } = await openTestApp(t)
  const tree = await createTestTree(db)
  const id = await createAction(db, tree)
  const list = await request('GET', '/actions', { token: tree.owner.token })
  assert.equal(list.status, 200)
  assert.deepEqual(
    list.body.map((one: { id: number }) => one.id),
    [id],
  )
  const single = await request('GET', `/actions/${id}`, { token: tree.owner.token })
  assert.equal(single.status, 200)
  console.log(JSON.stringify(single.body, null, 1).slice(0, 3000), single.text.length)
})
