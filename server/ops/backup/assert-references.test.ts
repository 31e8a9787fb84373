import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Client } from '#platform/database/client.ts'
import { openDatabase } from '#platform/database/connect.ts'
import { createTestDatabase } from '#test/support/database.ts'
import { createAction, createTestTree } from '#test/support/world.ts'
import { assertReferences } from './assert-references.ts'

const { settings, drop } = await createTestDatabase()
after(drop)
const { db, close } = openDatabase(settings, { onIdleError: () => {} })
after(close)
const client = new Client(settings)
await client.connect()
after(() => client.end())

await createAction(db, await createTestTree(db))

const HOOK = `update actions
  set trigger_type = 'hook', hook_id = gen_random_uuid(), hook_request_id = gen_random_uuid()`
const MOVE = `insert into target_moves (target_id, previous_status, status, status_reason_code, occurred_at)
  values (999, 'pending', 'queued', 'QUEUED', now())`
const REQUEST = `insert into approval_requests (action_id, environment_id, pipeline_id)
  select 999, environment_id, pipeline_id from actions`
const LOG = `insert into step_log_chunks (target_id, step_order, start_offset, attempt, text, bytes)
  values (999, 1, 0, 1, 'x', 1)`

for (const [what, statement] of [
  ['runs of a pipeline', 'update actions set pipeline_id = 999'],
  ['runs of a hook', HOOK],
  ['targets of a run', 'update targets set action_id = 999'],
  ['targets on a server', 'update targets set server_id = 999 where position = 1'],
  ['requests to approve a run', REQUEST],
  ['status changes of a target', MOVE],
  ['logs of a target', LOG],
] as const) {
  test(`${what} that is not in the backup are found`, async () => {
    await assertReferences(client)
    await client.query('begin')
    try {
      await client.query(statement)
      await assert.rejects(
        assertReferences(client),
        new RegExp(`the backup has ${what} that is not in the backup`),
      )
    } finally {
      await client.query('rollback')
    }
  })
}
