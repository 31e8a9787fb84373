// Who cannot approve a run, whatever they come with: everyone who started it, or one that it repeats or follows.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { scheduleEnvironment } from '#engine/scheduling/schedule-new.ts'
import { ASKED, openApprovals, QUEUED, tip } from '#test/support/approvals.ts'
import { assertStarted } from '#test/support/calls.ts'
import { started } from '#test/support/runs.ts'
import { createMember, type Person, type TestTree } from '#test/support/world.ts'

const world = await openApprovals({ after })
const { api, db, makeHook, call, run, retry, cancel, schedule, prepare, stateOf, openTree } = world
const { addDeployPipeline, addStep, approvalOf, subjectOf, goLive } = world

type Open = Awaited<ReturnType<typeof openTree>> & { starter: Person }

const tokenOf = async (person: Person, scopes: string[]) => {
  const body = { name: 'CI', scopes }
  return (await started(api.request('POST', '/users/personal-access-tokens', { token: person.token, body })))
    .token as string
}

/** A deploy that runs after another pipeline, `custom`, which needs no approval. */
async function addChild(at: TestTree): Promise<{ parentPipeline: number; childPipeline: number }> {
  const { id: parentPipeline } = await db
    .insertInto('pipelines')
    .values({
      ...{ environment_id: at.environmentId, resource_type: 'application' as const, name: 'Before' },
      ...{ application_id: at.applicationId, operation: 'custom', created_by: at.owner.id },
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await addStep(parentPipeline, 'one', 1)
  const childPipeline = await addDeployPipeline(at, 'After')
  await addStep(childPipeline, 'get-new-release', 1)
  const link = { pipeline_id: childPipeline, after_pipeline_id: parentPipeline }
  await db
    .insertInto('pipeline_run_after')
    .values({ ...link, environment_id: at.environmentId })
    .execute()
  return { parentPipeline, childPipeline }
}

/** As its worker would. */
async function complete(at: TestTree, id: number): Promise<void> {
  const ended = sql`status = 'completed', status_reason_code = 'COMPLETED', started_at = now(), completed_at = now()`
  await sql`
    update actions set status = 'in-progress', status_reason_code = 'IN_PROGRESS', started_at = now()
    where id = ${id}`.execute(db)
  await sql`update targets set ${ended} where action_id = ${id}`.execute(db)
  await scheduleEnvironment(db, at.environmentId, { actionIds: [id] }, async () => {})
}

async function startChild({ at }: Open, by: { token: string }): Promise<number> {
  const { parentPipeline } = await addChild(at)
  const path = `/pipelines/${parentPipeline}/actions`
  const parent = await started(api.request('POST', path, { token: by.token, body: {} }))
  await schedule([parent.id])
  await complete(at, parent.id)
  return parent.children[0].id
}

const atGate = async (id: number) => {
  await schedule([id])
  await prepare()
  assert.equal(await stateOf(id), ASKED)
  return id
}

async function callOf({ at }: Open): Promise<{ id: number; request: string }> {
  const answer = await call(await makeHook({}, at))
  return { id: assertStarted(answer), request: answer.body.hook_request_id }
}

const ended = async (at: TestTree, id: number) => {
  await cancel(id, { at })
  return id
}

/** Each returns a run of which the person is a starter, in one of the ways that there are. */
const KINDS: Record<string, (open: Open) => Promise<number>> = {
  'started it': async ({ at, starter }) => (await started(run({}, { at, token: starter.token }))).id,
  'started it with a personal access token': async ({ at, starter }) =>
    (await started(run({}, { at, token: await tokenOf(starter, ['run', 'read']) }))).id,
  'retried it': async ({ at, starter }) => {
    const first = await ended(at, (await started(run({}, { at }))).id)
    return (await started(retry(first, { at, token: starter.token }))).id
  },
  'started the run that another person retried': async ({ at, starter }) => {
    const first = await ended(at, (await started(run({}, { at, token: starter.token }))).id)
    return (await started(retry(first, { at }))).id
  },
  'retried a run in the middle of the chain': async ({ at, starter }) => {
    const first = await ended(at, (await started(run({}, { at }))).id)
    const second = await ended(at, (await started(retry(first, { at, token: starter.token }))).id)
    return (await started(retry(second, { at }))).id
  },
  'replayed the call': async (open) => {
    const { request } = await callOf(open)
    const path = `/hook-requests/${request}/replay`
    return assertStarted(await api.request('POST', path, { token: open.starter.token }))
  },
  'retried the run of a hook': async (open) => {
    const { id } = await callOf(open)
    await ended(open.at, id)
    return (await started(retry(id, { at: open.at, token: open.starter.token }))).id
  },
  'started the run that it follows': (open) => startChild(open, open.starter),
  'started the run that the retried one follows': async (open) => {
    const child = await atGate(await startChild(open, open.starter))
    return (await started(retry(await ended(open.at, child), { at: open.at }))).id
  },
  'wrote a commit that a hook ships': async (open) => {
    await goLive(open.at, await tip(open.repository))
    const email = open.starter.email.toUpperCase()
    await open.repository.commit({ a: '' }, { author: { name: 'A', email } })
    await open.repository.commit({ b: '' })
    return (await callOf(open)).id
  },
  'committed one that another person wrote': async (open) => {
    await goLive(open.at, await tip(open.repository))
    const { git, branch } = open.repository
    const [tree, parent] = [await git(['rev-parse', 'refs/heads/main^{tree}']), await tip(open.repository)]
    const [author, committer] = ['D <d@example.com>', `C <${open.starter.email}>`].map(
      (who) => `${who} 1793520000 +0000`,
    )
    const commit = `tree ${tree}\nparent ${parent}\nauthor ${author}\ncommitter ${committer}\n\nC\n`
    const hash = await git(['hash-object', '-t', 'commit', '-w', '--stdin'], commit)
    await branch('main', hash)
    return (await callOf(open)).id
  },
  'wrote what the retry of a run of a hook ships': async (open) => {
    await goLive(open.at, await tip(open.repository))
    await open.repository.commit({ a: '' }, { author: { name: 'A', email: open.starter.email } })
    const { id } = await callOf(open)
    return (await started(retry(await ended(open.at, id), { at: open.at }))).id
  },
}

suite('not approved by a person who', () => {
  for (const [what, make] of Object.entries(KINDS))
    test(what, async () => {
      const { admin: starter, ...open } = await openTree({ operations: ['deploy'] })
      const id = await atGate(await make({ ...open, admin: starter, starter }))
      const { details } = await approvalOf(id, starter)
      assert.deepEqual([details.you_may_approve, details.why_not], [false, 'starter'])
      const subject = await subjectOf(id, starter)
      for (const token of [
        starter.token,
        await tokenOf(starter, ['approve']),
        await tokenOf(starter, ['approve', 'manage', 'run']),
      ])
        for (const verb of ['approve', 'reject']) {
          const { status, body } = await api.request('POST', `/actions/${id}/${verb}`, {
            token,
            body: { subject },
          })
          assert.deepEqual([status, body.code], [403, 'forbidden'])
        }
      const listed = await api.request('GET', '/actions?filter[approvable]=true', { token: starter.token })
      assert.ok(!listed.body.some((one: { id: number }) => one.id === id))
      assert.equal(await stateOf(id), ASKED)
      const other = await createMember(db, open.at, 'admin')
      const send = { token: other.token, body: { subject: await subjectOf(id, other) } }
      const answer = await api.request('POST', `/actions/${id}/approve`, send)
      assert.equal(answer.status, 200, answer.text)
      assert.equal(await stateOf(id), QUEUED)
    })
})
