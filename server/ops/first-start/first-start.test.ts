import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openTestApp } from '#test/support/harness.ts'
import { createAccessToken } from '#test/support/world.ts'
import { prepareFirstStart } from './first-start.ts'

const { db, request } = await openTestApp({ after })
const home = await mkdtemp(join(tmpdir(), 'gantry-first-start-'))
after(() => rm(home, { recursive: true }))

test('the pipeline of the sample has the settings of every new one: it reverts', async () => {
  const settings = { adminEmail: 'admin@example.com', adminPassword: 'correct horse', home, sample: true }
  const started = await prepareFirstStart(db, settings, async () => undefined)
  assert.equal(started.kind, 'first')
  const { id } = await db.selectFrom('users').select('id').executeTakeFirstOrThrow()
  const token = await createAccessToken(db, id)
  const sample = await db.selectFrom('pipelines').selectAll().executeTakeFirstOrThrow()
  const url = `/pipelines/application/${sample.application_id}`
  const body = { name: 'Another', operation: 'deploy' }
  const created = await request('POST', url, { token, body })
  assert.equal(created.status, 201, created.text)
  const { body: pipelines } = await request('GET', url, { token })
  const settingsOf = (number: number) => {
    const { id: _, name: __, created_at: ___, updated_at: ____, steps, ...rest } = pipelines[number]
    return { ...rest, steps: steps.map(({ name }: { name: string }) => name) }
  }
  assert.equal(settingsOf(0).on_failure, 'revert')
  assert.deepEqual(settingsOf(1), settingsOf(0))
})
