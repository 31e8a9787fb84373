import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openShell } from '#test/support/cli.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createTestTree } from '#test/support/world.ts'

const { app, db } = await openTestApp({ after })
const url = await app.listen({ host: '127.0.0.1', port: 0 })
const tree = await createTestTree(db)

test('names of every script are told apart', async (t) => {
  const { environmentId, applicationId, owner } = tree
  const pipeline = {
    environment_id: environmentId,
    resource_type: 'application' as const,
    application_id: applicationId,
    operation: 'custom',
    created_by: owner.id,
  }
  await db
    .insertInto('pipelines')
    .values(['Магазин 2', 'Склад 2'].map((name) => ({ ...pipeline, name })))
    .execute()
  const shell = await openShell(t, { GANTRY_URL: url, GANTRY_TOKEN: owner.token })
  for (const given of ['Склад 2', 'shop/склад-2', 'shop/скл']) {
    const { code, stdout, stderr } = await shell.gantry(['pipelines', 'show', given])
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^Pipeline .*склад-2 /)
  }
})
