// `gantry workers`: the list, and taking a worker out of service.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openShell } from '#test/support/cli.ts'
import { openTestApp } from '#test/support/harness.ts'
import { insertWorker } from '#test/support/workers.ts'
import { createPerson } from '#test/support/world.ts'

const api = await openTestApp({ after })
const url = await api.app.listen({ host: '127.0.0.1', port: 0 })
const [admin, person] = [await createPerson(api.db, { admin: true }), await createPerson(api.db)]
const shell = await openShell({ after }, { GANTRY_URL: url, GANTRY_TOKEN: admin.token })
const gantry = (...args: string[]) => shell.gantry(['workers', ...args])

test('without workers a script gets no lines', async () => {
  const { stdout, code } = await gantry()
  assert.equal(code, 0)
  assert.equal(stdout, '')
})

test('workers are listed with their state and what they run', async () => {
  await insertWorker(api.db, 'm1', { running_targets: 2 })
  const lost = await insertWorker(api.db, 'm2', { running_targets: 3 })
  await api.db
    .updateTable('workers')
    .set({ seen_at: new Date(Date.now() - 60_000) })
    .where('id', '=', lost)
    .execute()
  const { stdout, code } = await gantry()
  assert.equal(code, 0)
  assert.match(stdout, /^m1\s+\S+\s+online\s+2\/32\s+0\.0\.0-test/m)
  assert.match(stdout, /^m2\s+\S+\s+offline\s+0\/32/m)
  const rows = JSON.parse((await gantry('ls', '--json')).stdout)
  assert.deepEqual(
    rows.map(({ name, online }: { name: string; online: boolean }) => [name, online]),
    [
      ['m1', true],
      ['m2', false],
    ],
  )
})

test('a worker is drained and undrained by its name or id', async () => {
  const drained = await gantry('drain', 'm1')
  assert.equal(drained.code, 0, drained.stderr)
  assert.match(drained.stderr + drained.stdout, /m1 drains\. It runs 2 targets/)
  assert.match((await gantry()).stdout, /^m1\s+\S+\s+draining/m)
  const { id } = await api.db
    .selectFrom('workers')
    .select('id')
    .where('name', '=', 'm1')
    .executeTakeFirstOrThrow()
  assert.equal((await gantry('drain', id, '--undo')).code, 0)
  assert.match((await gantry()).stdout, /^m1\s+\S+\s+online/m)
})

test('a name that nobody or several have is refused, and the choices are named', async () => {
  const offline = await gantry('drain', 'm2')
  assert.equal(offline.code, 2)
  assert.match(offline.stderr, /No worker "m2" is online\.\n.*m1 \(/)
  const second = await insertWorker(api.db, 'm1')
  const several = await gantry('drain', 'm1')
  assert.equal(several.code, 2)
  assert.match(several.stderr, /2 workers are named "m1": give the id of one\./)
  assert.ok(several.stderr.includes(second))
})

test('only instance administrators see workers', async () => {
  const { code, stderr } = await shell.gantry(['workers'], { env: { GANTRY_TOKEN: person.token } })
  assert.notEqual(code, 0)
  assert.match(stderr, /administrator/i)
})
