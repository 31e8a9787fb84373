// Fifty thousand actions in three environments, and an app that lists them.
import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { openTestApp } from '#test/support/harness.ts'
import type { later } from '#test/support/later.ts'
import {
  addEnvironment,
  createHook,
  createHookRequest,
  createTestTree,
  grantRole,
} from '#test/support/world.ts'

export const ACTIONS = 50_000
export const START = Date.parse('2026-01-01T00:00:00Z')
export const SECOND = 1_000

export async function openManyActions(t: Parameters<typeof later>[0]) {
  const { app, db, statements } = await openTestApp(t)
  const first = await createTestTree(db)
  const second = {
    ...first,
    ...(await addEnvironment(db, first.owner.id, first.projectId, first.credentialId)),
  }
  const third = await createTestTree(db)
  await grantRole(db, first.owner.id, 'viewer', { organizationId: third.organizationId })
  const { token } = first.owner
  const places = [first, second, third]
  const environmentIds = places.map((place) => place.environmentId)
  const hookId = await createHook(db, first, 'incoming')
  const callId = await createHookRequest(db, hookId, 'incoming')

  // Half in the first environment, a third in the second, a sixth in the third; times waver by a minute.
  await sql`
    insert into actions (environment_id, pipeline_id, type, status, status_reason_code, trigger_type, triggered_by, hook_id,
      hook_request_id, credential_id, started_at, completed_at, created_at)
    select environment_id, case when on_server then server_pipeline_id else pipeline_id end,
      case when on_server then 'restart' else 'deploy' end,
      case when failed then 'failed' else 'completed' end, case when failed then 'FAILED' else 'COMPLETED' end,
      case when hooked then 'hook' when number % 11 = 0 then 'pipeline' else 'manual' end,
      case when not hooked and number % 11 <> 0 then ${first.owner.id}::bigint end,
      case when hooked then ${hookId}::uuid end, case when hooked then ${callId}::uuid end,
      case when not on_server then credential_id end, moment, moment, moment
    from generate_series(1, ${ACTIONS}::int) as number, lateral (
      select number % 10 = 0 as on_server, number % 13 = 0 as failed,
        number % 2 = 0 and number % 7 = 0 and number % 10 <> 0 as hooked,
        case when number % 2 = 0 then 1 when number % 3 = 0 then 3 else 2 end as place,
        ${new Date(START)}::timestamptz + (number + number * 7919 % 60) * interval '1 second' as moment
    ) as chosen join unnest(
      ${environmentIds}::bigint[], ${places.map((one) => one.pipelineId)}::bigint[],
      ${places.map((one) => one.serverPipelineId)}::bigint[], ${places.map((one) => one.credentialId)}::bigint[]
    ) with ordinality as places (environment_id, pipeline_id, server_pipeline_id, credential_id, place) using (place)
    order by number`.execute(db)
  await sql`
    insert into targets (action_id, position, server_id, status, status_reason_code, steps, started_at, completed_at)
    select a.id, 1, s.id, a.status, a.status_reason_code, jsonb_build_array(jsonb_build_object('order', 1,
      'name', 'build', 'description', null, 'status', 'completed', 'reason', 'COMPLETED', 'started_at', null,
      'completed_at', null, 'updated_at', '2026-01-01T00:00:00.000Z')), a.started_at, a.completed_at
    from actions a join lateral (
      select id from servers where environment_id = a.environment_id order by id limit 1) as s on true
    where a.id <= 3000 or a.id > ${ACTIONS - 3_000}`.execute(db)
  // What is live is none of the newest: every page has something to fetch besides its own actions.
  await sql`
    insert into live_releases (application_id, server_id, action_id, release_name)
    select p.application_id, min(s.server_id), min(a.id), '20260101000000-aaaaaaa'
    from actions a join pipelines p on p.id = a.pipeline_id
    join application_servers s on s.application_id = p.application_id group by 1`.execute(db)
  await sql`analyze`.execute(db)

  /** Not checked against the schemas, as other files do that: the check of a long page takes longer than the page. */
  async function get(address: string): Promise<{ id: number }[]> {
    const response = await app.inject({ url: address, headers: { authorization: `Bearer ${token}` } })
    assert.equal(response.statusCode, 200)
    return response.json()
  }

  return { db, statements, first, second, third, places, environmentIds, hookId, get }
}
