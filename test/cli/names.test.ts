import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { openShell } from '#test/support/cli.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createTestTree, grantRole } from '#test/support/world.ts'

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

test('equal names in two organizations are told apart by the organization, or by id, and the message says how', async (t) => {
  const [one, two] = [await createTestTree(db), await createTestTree(db)]
  await grantRole(db, one.owner.id, 'owner', { organizationId: two.organizationId })
  for (const [at, name] of [
    [one, 'Acme'],
    [two, 'Globex'],
  ] as const) {
    await sql`update organizations set name = ${name} where id = ${at.organizationId}`.execute(db)
    await sql`update projects set name = 'Shop' where id = ${at.projectId}`.execute(db)
    await sql`update environments set name = 'Production' where id = ${at.environmentId}`.execute(db)
  }
  const { gantry } = await openShell(t, { GANTRY_URL: url, GANTRY_TOKEN: one.owner.token })
  const frozen = async (at: typeof one) => {
    const { rows } = await sql`select from freezes where environment_id = ${at.environmentId}`.execute(db)
    return rows.length
  }
  const because = ['--reason', 'Incident 7']
  const which = await gantry(['freeze', 'shop/production', ...because])
  assert.deepEqual([which.code, which.stdout], [6, ''])
  const lines = [
    '"shop/production" matches 2 names. Which one?',
    'Give one of these:',
    `  acme/shop/production  (#${one.environmentId})`,
    `  globex/shop/production  (#${two.environmentId})`,
  ]
  assert.ok(which.stderr.includes(lines.join('\n')), which.stderr)

  const made = await gantry(['freeze', 'globex/shop/production', ...because])
  assert.equal(made.code, 0, made.stderr)
  assert.match(made.stdout, /^globex\/shop\/production is frozen: nothing starts there\.$/m)
  assert.match(made.stderr, /gantry unfreeze globex\/shop\/production/)
  assert.deepEqual([await frozen(one), await frozen(two)], [0, 1])
  const ended = await gantry(['unfreeze', 'globex/prod'])
  assert.equal(ended.code, 0, ended.stderr)
  const byId = await gantry(['freeze', `environment-${one.environmentId}`, ...because])
  assert.equal(byId.code, 0, byId.stderr)
  assert.deepEqual([await frozen(one), await frozen(two)], [1, 0])
  assert.match((await gantry(['freeze', 'shop', ...because])).stderr, /acme\/shop\/production/)

  // The same for everything else that has a name.
  const pipeline = await gantry(['pipelines', 'show', 'shop/production/web-1/restart'])
  assert.match(pipeline.stderr, /acme\/shop\/production\/web-1\/restart/)
  const shown = await gantry(['pipelines', 'show', 'globex/shop/production/web-1/restart'])
  assert.equal(shown.code, 0, shown.stderr)
})

test('two organizations of one name are told apart by their ids', async (t) => {
  const [one, two] = [await createTestTree(db), await createTestTree(db)]
  await grantRole(db, one.owner.id, 'owner', { organizationId: two.organizationId })
  for (const at of [one, two]) {
    await sql`update organizations set name = 'Twin' where id = ${at.organizationId}`.execute(db)
    await sql`update projects set name = 'Api' where id = ${at.projectId}`.execute(db)
    await sql`update environments set name = 'Live' where id = ${at.environmentId}`.execute(db)
  }
  const { gantry } = await openShell(t, { GANTRY_URL: url, GANTRY_TOKEN: one.owner.token })
  const name = `environment-${two.environmentId}`
  const which = await gantry(['freeze', 'twin/api/live', '--reason', 'Incident 7'])
  assert.ok(which.stderr.includes(`  ${name}  (#${two.environmentId})`), which.stderr)
  assert.equal((await gantry(['freeze', name, '--reason', 'Incident 7'])).code, 0)
})
