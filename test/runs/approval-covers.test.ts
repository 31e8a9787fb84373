// What people are shown besides the commits, and what stops an approval that cannot know enough.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { variableAad } from '#model/inventory/sealed-aad.ts'
import { ASKED, BUSY, openApprovals } from '#test/support/approvals.ts'
import { refused } from '#test/support/runs.ts'
import { createAction, createMember } from '#test/support/world.ts'

const world = await openApprovals({ after })
const { db, box, openTree, start, approvalOf, approve, pass, prepare, setPipeline, stateOf } = world

test('who may approve sees servers, steps, commands and the names of variables; others do not', async () => {
  const { at, admin } = await openTree()
  await sql`
    update applications set build_command = 'npm run build' where id = ${at.applicationId}`.execute(db)
  const id = await start(at)
  const { covers } = (await approvalOf(id, admin)).details
  const { rows } = await sql<{ name: string; host: string | null }>`
    select s.name, s.host from targets t join servers s on s.id = t.server_id where t.action_id = ${id}`.execute(
    db,
  )
  assert.deepEqual(
    covers.servers.map(({ name, host }: { name: string; host: string | null }) => ({ name, host })),
    rows,
  )
  assert.equal(covers.application.build_command, 'npm run build')
  assert.ok(covers.steps.length > 0)
  assert.deepEqual(covers.variables, [])
  const viewer = await createMember(db, at, 'viewer')
  assert.equal((await approvalOf(id, viewer)).details.covers, null)
})

test('a run that needs no approval any more leaves the gate when someone wants to approve it', async () => {
  const { at, admin } = await openTree()
  const id = await start(at)
  assert.equal(await stateOf(id), ASKED)
  // As a rollback does once what it runs is what ran last.
  await sql`
    update approval_terms set terms = terms || '{"operations": ["restart"]}' where environment_id = ${at.environmentId}`.execute(
    db,
  )
  await refused(approve(id, admin), 409, 'approval_outdated')
  await prepare()
  assert.notEqual(await stateOf(id), ASKED)
})

test('every part of what was approved, changed once, makes an approved run wait again', async () => {
  const { at, admin } = await openTree()
  await setPipeline(at, { max_parallel_actions: 1 })
  await createAction(db, at, {
    ...{ status: 'waiting', status_reason_code: 'WAITING_WORKER', has_place: true },
    ...{ started_at: null, completed_at: null },
  })
  const id = await start(at)
  const change = (table: 'applications' | 'servers' | 'pipelines', to: string) => {
    const one = { applications: at.applicationId, servers: at.serverIds[0]!, pipelines: at.pipelineId }[table]
    return sql`update ${sql.table(table)} set ${sql.raw(to)} where id = ${one}`.execute(db)
  }
  const variable = (to: string) =>
    sql`update application_variables set ${sql.raw(to)} where application_id = ${at.applicationId}`.execute(
      db,
    )
  const changes: Record<string, () => Promise<unknown>> = {
    'the repository': () => change('applications', `repository = repository || '/.'`),
    'its folder on servers': () => change('applications', `folder = 'elsewhere'`),
    'its root directory': () => change('applications', `root_directory = 'web'`),
    'the command that installs': () => change('applications', `install_dependencies_command = 'npm ci'`),
    'the command that builds': () => change('applications', `build_command = 'make'`),
    'what releases share': () => change('applications', `shared_paths = '{uploads}'`),
    submodules: () => change('applications', `submodules = 'ignore'`),
    'the kind of a server': () =>
      change('servers', `provider_code = 'local', host = null, port = null, login_name = null`),
    'the worker of a server': () => change('servers', `worker_name = 'other'`),
    'the host of a server': () =>
      change(
        'servers',
        `provider_code = 'ssh', worker_name = null, host = 'b.example.com', port = 22, login_name = 'deploy'`,
      ),
    'the port of a server': () => change('servers', 'port = 2222'),
    'the login of a server': () => change('servers', `login_name = 'other'`),
    'the root directory of a server': () => change('servers', `root_directory = '/srv/other'`),
    'the rollout': () => change('pipelines', `rollout = '{"batch": 1, "max_failed": 1}'`),
    'what happens on failure': () => change('pipelines', `on_failure = 'revert'`),
    'a new variable': async () => {
      const values = { application_id: at.applicationId, name: 'A', value: Buffer.from('') }
      const row = db.insertInto('application_variables').values(values).returning('id')
      const { id: variableId } = await row.executeTakeFirstOrThrow()
      const value = box.seal('x', variableAad(variableId))
      await db.updateTable('application_variables').set({ value }).where('id', '=', variableId).execute()
    },
    'the value of a variable': async () => {
      const row = db
        .selectFrom('application_variables')
        .select('id')
        .where('application_id', '=', at.applicationId)
      const { id: variableId } = await row.executeTakeFirstOrThrow()
      const value = box.seal('y', variableAad(variableId))
      await db.updateTable('application_variables').set({ value }).where('id', '=', variableId).execute()
    },
    'the name of a variable': () => variable(`name = 'B'`),
    'whether a variable is hidden': () => variable('hidden = not hidden'),
    'no variable any more': () =>
      sql`delete from application_variables where application_id = ${at.applicationId}`.execute(db),
    'the servers of the run': () =>
      sql`update targets set batch = batch + 1 where action_id = ${id} and position > 1`.execute(db),
    'a step of the run': () =>
      sql`
        update targets set steps = jsonb_set(steps, '{0,step_id}', steps #> '{1,step_id}')
        where action_id = ${id}`.execute(db),
    'a variable of the run': () =>
      sql`update actions set variables = '{"count": 2}' where id = ${id}`.execute(db),
  }
  for (const [what, make] of Object.entries(changes)) {
    await setPipeline(at, { max_parallel_actions: 1 })
    assert.equal((await approve(id, admin)).status, 200, what)
    assert.equal(await stateOf(id), BUSY, what)
    const before = (await approvalOf(id, admin)).details.decisions.length
    await make()
    await setPipeline(at, { max_parallel_actions: 2 })
    await pass(at)
    await prepare()
    assert.equal(await stateOf(id), ASKED, what)
    const { decisions } = (await approvalOf(id, admin)).details
    assert.equal(decisions.length, before)
    assert.ok(
      decisions.every(({ lapsed_at }: { lapsed_at: string | null }) => lapsed_at !== null),
      what,
    )
  }
})
