// Rollbacks, where approval is required.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { ASKED, openApprovals, QUEUED, tip } from '#test/support/approvals.ts'
import { commitOf } from '#test/support/runs.ts'
import { createAction } from '#test/support/world.ts'

const { db, cancel, stateOf, openTree, start } = await openApprovals({ after })

suite('rollbacks', () => {
  test('need approval when they run something else than the last run, or with rollbacks: true', async () => {
    const { at, repository } = await openTree()
    const a = await tip(repository)
    const b = await repository.commit({ b: '' })
    const done = (hash: string, digit: string) =>
      createAction(
        db,
        at,
        {
          release_name: `2026010100000${digit}-${hash.slice(0, 8)}`,
          commit: JSON.stringify({ ...commitOf('a'), hash }),
          deployment: JSON.stringify({
            ...{ type: 'deploy', source_type: 'branch', source_ref: 'main' },
            ...{ repository: repository.address, provider_name: null },
          }),
        },
        { release_name: `2026010100000${digit}-${hash.slice(0, 8)}` },
      )
    await done(a, '1')
    const live = await done(b, '2')
    for (const server of at.serverIds)
      await sql`
        insert into live_releases (application_id, server_id, action_id, release_name, commit_sha)
        values (${at.applicationId}, ${server}, ${live}, ${`20260101000002-${b.slice(0, 8)}`}, ${b})`.execute(
        db,
      )
    const back = async () => start(at, { type: 'rollback' })
    // Nothing has started since approval is required: it is not known what the last run consisted of.
    const unknown = await back()
    assert.equal(await stateOf(unknown), ASKED)
    await cancel(unknown, { at })
    await sql`
      insert into started_settings (pipeline_id, action_id, stamp)
      select ${at.pipelineId}::bigint, ${live}::bigint, md5(jsonb_build_array(
        (select jsonb_path_query_array(t.steps, '$[*].step_id ? (@ != null)') from targets t
          where t.action_id = ${unknown} order by t.position limit 1),
        (select jsonb_build_array(app.folder, app.repository, app.root_directory, app.install_dependencies_command,
          app.build_command, app.shared_paths, app.submodules) from applications app where app.id = ${at.applicationId}),
        null::jsonb)::text)`.execute(db)
    assert.equal(await stateOf(await back()), QUEUED)
    await sql`update applications set build_command = 'make' where id = ${at.applicationId}`.execute(db)
    assert.equal(await stateOf(await back()), ASKED)
  })
})
