// Actions and targets have no foreign keys to what they name: statements that insert them check it once instead, and
// triggers keep it from being removed.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { type Start, startActions } from '#model/actions/start-actions.ts'
import { assertReferences } from '#ops/backup/assert-references.ts'
import { Client } from '#platform/database/client.ts'
import type { Database } from '#platform/database/connect.ts'
import { assertStarted, openCalls } from '#test/support/calls.ts'
import { untilLockWait } from '#test/support/until.ts'
import { createTestTree } from '#test/support/world.ts'

const { api, db, makeHook, call, actionsOf } = await openCalls({ after })

async function assertNoOrphans(): Promise<void> {
  const client = new Client(api.settings)
  await client.connect()
  await assertReferences(client).finally(() => client.end())
}

/** For good, which the service itself never does. */
async function eraseServer(trx: Database, id: number): Promise<void> {
  await trx.deleteFrom('application_servers').where('server_id', '=', id).execute()
  await trx.deleteFrom('servers').where('id', '=', id).execute()
}

let added = 0

async function addServer(at: Awaited<ReturnType<typeof createTestTree>>): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    insert into servers (environment_id, created_by, name, provider_code, host, port, login_name, root_directory)
    select environment_id, created_by, ${`added-${++added}`}, provider_code, 'added.example.com', port, login_name, root_directory
    from servers where id = ${at.serverIds[0]!} returning id`.execute(db)
  const { applicationId: application_id, environmentId: environment_id } = at
  const link = { application_id, environment_id, server_id: rows[0]!.id }
  await db.insertInto('application_servers').values(link).execute()
  return link.server_id
}

test('a call waits for a removal that has begun, and then runs on what is left', async () => {
  const at = await createTestTree(db)
  const hook = await makeHook({}, at)
  const server = await addServer(at)
  const removal = await db.startTransaction().execute()
  await eraseServer(removal, server)
  const called = call(hook)
  await untilLockWait(db)
  await removal.commit().execute()
  const actionId = assertStarted(await called)
  const targets = await db
    .selectFrom('targets')
    .select('server_id')
    .where('action_id', '=', actionId)
    .execute()
  assert.deepEqual(
    targets.map(({ server_id }) => server_id),
    at.serverIds,
  )
  await assertNoOrphans()
})

test('what a run names cannot be removed, and its pipeline cannot become another kind', async () => {
  const at = await createTestTree(db)
  const hook = await makeHook({}, at)
  assertStarted(await call(hook))
  const violation = { code: '23503' }
  await assert.rejects(
    db.transaction().execute((trx) => eraseServer(trx, at.serverIds[0]!)),
    violation,
  )
  await assert.rejects(db.deleteFrom('hooks').where('id', '=', hook.id).execute(), violation)
  await assert.rejects(sql`delete from pipelines where id = ${at.pipelineId}`.execute(db), violation)
  await assert.rejects(
    sql`update pipelines set operation = 'custom' where id = ${at.pipelineId}`.execute(db),
    violation,
  )
})

test('a run of a pipeline that is another by now is not started', async () => {
  const at = await createTestTree(db)
  const actionId = assertStarted(await call(await makeHook({}, at)))
  const { rows } = await sql<Start>`select * from actions where id = ${actionId}`.execute(db)
  const start = (more: Partial<Start>) =>
    db.transaction().execute((trx) => startActions(trx, [{ ...rows[0]!, plan: 0, ...more }], []))
  const gone = /names a pipeline, a hook or a server that no longer exists/
  await assert.rejects(start({ type: 'restart', deployment: null }), gone)
  await assert.rejects(start({ environment_id: at.environmentId + 1_000 }), gone)
  await assert.rejects(start({ hook_id: '00000000-0000-4000-8000-000000000000' }), gone)
  assert.equal((await start({})).length, 1)
})

test('calls against removals at the same time leave no run without its server', async () => {
  const at = await createTestTree(db)
  const hook = await makeHook({}, at)
  const removed = new Set<number>()
  let calls = 0
  for (let round = 0; round < 12; round += 1) {
    const server = await addServer(at)
    const erase = async () => {
      await pause(round % 4)
      await db.transaction().execute((trx) => eraseServer(trx, server))
      removed.add(server)
    }
    const erased = erase().catch((error) => assert.equal(error.code, '23503'))
    const answers = await Promise.all(Array.from({ length: 6 }, (_, n) => call(hook, { round, n })))
    await erased
    for (const answer of answers) assertStarted(answer)
    calls += answers.length
    await db.deleteFrom('application_servers').where('server_id', '=', server).execute()
  }
  assert.equal((await actionsOf(hook)).length, calls)
  const named = await db.selectFrom('targets').select('server_id').distinct().execute()
  for (const { server_id } of named) assert.ok(!removed.has(server_id), `server ${server_id} is gone`)
  await assertNoOrphans()
})
