// The cards of applications on the overview: what they show, in which order, and to whom.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { lockLive, storeUnknown } from '#model/live/live-record.ts'
import { openTestApp } from '#test/support/harness.ts'
import { BUILT_IN, createApplication, createPipeline } from '#test/support/inventory.ts'
import { recordLive } from '#test/support/live.ts'
import {
  addEnvironment,
  createAction,
  createHook,
  createMember,
  createPerson,
  createTestTree,
  type Person,
  type TestTree,
} from '#test/support/world.ts'

const { db, request, statements } = await openTestApp({ after })

// biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
type Json = any

async function cardsOf({ token }: Person, query = ''): Promise<Json[]> {
  const { status, body, text } = await request('GET', `/overview/applications${query}`, { token })
  assert.equal(status, 200, text)
  return body
}

const FAILED = { status: 'failed', status_reason_code: 'FAILED' } as const
const RUNNING = { status: 'in-progress', status_reason_code: 'IN_PROGRESS', completed_at: null } as const
const commitOf = (digit: string) => ({
  hash: digit.repeat(40),
  message: `Change ${digit}`,
  url: `https://github.com/acme/shop/commit/${digit}`,
})
const nameOf = (digit: string) => `20260101000000-${digit.repeat(8)}`

async function addApplication(tree: TestTree, name: string, servers: number[] = []) {
  const place = { createdBy: tree.owner.id, environmentId: tree.environmentId }
  const row = { project_id: tree.projectId, repository: 'acme/shop', name, folder: `app-${randomUUID()}` }
  const applicationId = await createApplication(db, place, servers, row)
  const pipeline = {
    resource_type: 'application',
    application_id: applicationId,
    operation: 'deploy',
  } as const
  const pipelineId = await createPipeline(db, place, BUILT_IN, { ...pipeline, name: 'Deploy' })
  return { ...tree, applicationId, pipelineId, serverIds: servers }
}

/** A deploy that is live on these servers; `health` is the state of its health check, if it has one. */
async function deploy(tree: TestTree, digit: string, serverIds: number[], health?: string): Promise<number> {
  const id = await createAction(
    db,
    { ...tree, serverIds },
    { commit: JSON.stringify(commitOf(digit)), release_name: nameOf(digit) },
    health
      ? { steps: JSON.stringify([{ order: 1, name: 'check-health', status: health, reason: 'COMPLETED' }]) }
      : {},
  )
  for (const serverId of serverIds)
    await db.transaction().execute((trx) =>
      recordLive(trx, {
        applicationId: tree.applicationId,
        serverId,
        actionId: id,
        releaseName: nameOf(digit),
        commitSha: commitOf(digit).hash,
      }),
    )
  return id
}

suite('the cards of applications', () => {
  test('of a user who may see nothing are none', async () => {
    assert.deepEqual(await cardsOf(await createPerson(db)), [])
  })

  test('of an application that was never deployed say so', async () => {
    const tree = await createTestTree(db)
    const [card] = await cardsOf(tree.owner)
    assert.equal(card.id, tree.applicationId)
    assert.equal(card.environment.id, tree.environmentId)
    assert.deepEqual([card.project.id, card.organization.id], [tree.projectId, tree.organizationId])
    assert.deepEqual([card.live, card.runs, card.running], [[], [], []])
    assert.deepEqual(card.servers, { count: 2, unknown: 0, nothing: 2 })
    assert.deepEqual([card.drift, card.health, card.needs_attention], [false, 'not_configured', false])
    assert.deepEqual(card.deploy_pipeline, { id: tree.pipelineId, name: 'Deploy' })
  })

  test('can be limited to some applications', async () => {
    const tree = await createTestTree(db)
    const other = await addApplication(tree, 'other')
    const ids = async (filter: string | number) =>
      (await cardsOf(tree.owner, `?filter[resource_id]=${filter}`)).map(({ id }) => id)
    assert.deepEqual(await ids(other.applicationId), [other.applicationId])
    assert.equal((await ids(`${tree.applicationId},${other.applicationId}`)).length, 2)
    const stranger = await createTestTree(db)
    assert.deepEqual(await ids(stranger.applicationId), [])
    const { token } = tree.owner
    assert.equal(
      (await request('GET', '/overview/applications?filter[resource_id]=x', { token })).status,
      422,
    )
  })

  test('show each live commit, and drift', async () => {
    const tree = await createTestTree(db)
    const [one, two] = tree.serverIds as [number, number]
    const first = await deploy(tree, '1', [one, two])
    const [same] = await cardsOf(tree.owner)
    const { since } = same.live[0]
    assert.deepEqual(same.live, [{ commit: commitOf('1'), since, servers: 2, action_id: first }])
    assert.deepEqual([same.drift, same.needs_attention], [false, false])
    const second = await deploy(tree, '2', [two])
    const [drifting] = await cardsOf(tree.owner)
    assert.deepEqual(
      drifting.live.map((one: Json) => [one.commit.hash[0], one.servers, one.action_id]).sort(),
      [
        ['1', 1, first],
        ['2', 1, second],
      ],
    )
    assert.deepEqual([drifting.drift, drifting.needs_attention], [true, true])
  })

  test('count servers whose live release is unknown as drift', async () => {
    const tree = await createTestTree(db)
    await deploy(tree, '1', tree.serverIds)
    const { applicationId } = tree
    await db.transaction().execute(async (trx) => {
      await lockLive(trx, applicationId)
      const unknown = { reason: 'The run ended during the switch.', targetId: null, candidate: null }
      await storeUnknown(trx, { applicationId, serverId: tree.serverIds[0]! }, unknown)
    })
    const [card] = await cardsOf(tree.owner)
    assert.deepEqual(card.servers, { count: 2, unknown: 1, nothing: 0 })
    assert.deepEqual([card.drift, card.live[0].servers], [true, 1])
  })

  test('show the worst health check of what is live', async () => {
    const tree = await createTestTree(db)
    const [one, two] = tree.serverIds as [number, number]
    const healthIs = async (expected: string) => assert.equal((await cardsOf(tree.owner))[0].health, expected)
    await sql`update applications set health_check = '{"type": "tcp", "port": 80}' where id = ${tree.applicationId}`.execute(
      db,
    )
    await deploy(tree, '1', [one, two])
    await healthIs('unknown')
    await deploy(tree, '2', [one, two], 'completed')
    await healthIs('healthy')
    const checked = await deploy(tree, '3', [two], 'in-progress')
    await healthIs('checking')
    const failed = JSON.stringify([{ order: 1, name: 'check-health', status: 'failed', reason: 'FAILED' }])
    await db.updateTable('targets').set({ steps: failed }).where('action_id', '=', checked).execute()
    await healthIs('unhealthy')
  })

  test('show the health check of the run that reverted, when the release before is live again', async () => {
    const tree = await createTestTree(db)
    const [one] = tree.serverIds as [number]
    const first = await deploy(tree, '1', [one], 'completed')
    const step = (order: number, status: string) => ({
      order,
      name: 'check-health',
      status,
      reason: 'FAILED',
    })
    const second = await createAction(
      db,
      { ...tree, serverIds: [one] },
      { ...FAILED, status_reason_code: 'FAILED_REVERT' },
      { steps: JSON.stringify([step(1, 'failed'), step(2, 'failed')]) },
    )
    await sql`
      insert into deployments (action_id, application_id, environment_id, is_rollback, has_new_commit, server_ids,
        reverted_server_ids, first_activated_at, last_activated_at, reverted_at)
      values (${second}, ${tree.applicationId}, ${tree.environmentId}, false, true, array[${one}::bigint],
        array[${one}::bigint], now(), now(), now())`.execute(db)
    const [card] = await cardsOf(tree.owner)
    assert.deepEqual([card.live[0].action_id, card.health], [first, 'unhealthy'])
  })

  test('have the last ten runs of all pipelines, and what runs now', async () => {
    const tree = await createTestTree(db)
    const place = { createdBy: tree.owner.id, environmentId: tree.environmentId }
    const other = await createPipeline(db, place, BUILT_IN, {
      resource_type: 'application',
      application_id: tree.applicationId,
      name: 'Deploy slowly',
      operation: 'deploy',
    })
    const none = { ...tree, serverIds: [] }
    const old = await createAction(db, none, RUNNING)
    const ids: number[] = []
    for (let n = 0; n < 12; n++) ids.unshift(await createAction(db, { ...none, pipelineId: other }, FAILED))
    const rollback = await createAction(db, none, {
      ...RUNNING,
      deployment: JSON.stringify({ type: 'rollback' }),
    })
    const [card] = await cardsOf(tree.owner)
    assert.deepEqual(
      card.runs.map(({ id }: Json) => id),
      [rollback, ...ids.slice(0, 9)],
    )
    assert.deepEqual(
      card.running.map(({ id }: Json) => id),
      [rollback, old],
    )
    const [newest, failed] = card.runs
    assert.deepEqual(
      [newest.kind, newest.status, newest.pipeline.id],
      ['rollback', 'in-progress', tree.pipelineId],
    )
    assert.deepEqual(
      [failed.kind, failed.status_reason_code, failed.pipeline.name],
      ['deploy', 'FAILED', 'Deploy slowly'],
    )
    assert.equal(card.deploy_pipeline.id, tree.pipelineId)
    assert.equal(card.needs_attention, true)
  })

  test('are ordered by environment, then attention, then the newest run', async () => {
    const tree = await createTestTree(db)
    await sql`update environments set name = 'B' where id = ${tree.environmentId}`.execute(db)
    const first = await addEnvironment(db, tree.owner.id, tree.projectId, tree.credentialId)
    await sql`update environments set name = 'A' where id = ${first.environmentId}`.execute(db)
    const [idle, ran, failing, newest, hooked] = await Promise.all(
      ['idle', 'ran', 'failing', 'newest', 'hooked'].map((name) => addApplication(tree, name)),
    )
    await createAction(db, failing!, FAILED)
    await createAction(db, ran!)
    await createAction(db, newest!)
    // Canceled, fixed or long ago: nothing to look at.
    await createAction(db, ran!, { ...FAILED, status_reason_code: 'FAILED_CANCELLED' })
    await createAction(db, newest!, FAILED)
    await createAction(db, newest!)
    const disabled = { disabled_at: new Date().toISOString(), disabled_reason: 'gone', active: false }
    await createHook(db, hooked!, 'outgoing', disabled)
    const ids = [first, failing!, hooked!, newest!, ran!, tree, idle!].map((one) => one.applicationId)
    const cards = await cardsOf(tree.owner)
    assert.deepEqual(
      cards.slice(0, 5).map(({ id }) => id),
      ids.slice(0, 5),
    )
    // Without runs: by name.
    assert.deepEqual(
      cards.slice(5).map(({ name }) => name),
      ['Shop', 'idle'],
    )
  })

  test('come in pages of 24, filtered by words and environment', async () => {
    const tree = await createTestTree(db)
    const other = await addEnvironment(db, tree.owner.id, tree.projectId, tree.credentialId)
    for (let n = 0; n < 50; n++) await addApplication(tree, `app ${String(n).padStart(2, '0')} 100%_\\`)
    const pages = await Promise.all([1, 2, 3, 4].map((page) => cardsOf(tree.owner, `?page=${page}`)))
    assert.deepEqual(
      pages.map((page) => page.length),
      [24, 24, 4, 0],
    )
    assert.equal(new Set(pages.flat().map(({ id }) => id)).size, 52)
    const { headers } = await request('GET', '/overview/applications?page=2', { token: tree.owner.token })
    assert.equal(headers['x-total-count'], '52')
    assert.match(headers.link!, /rel="next"/)
    const filtered = await cardsOf(tree.owner, `?filter[environment_id]=${other.environmentId}`)
    assert.deepEqual(
      filtered.map(({ id }) => id),
      [other.applicationId],
    )
    const found = await cardsOf(tree.owner, `?q=${encodeURIComponent(' 4%_\\ APP ')}`)
    assert.deepEqual(found, [])
    const named = await cardsOf(tree.owner, `?q=${encodeURIComponent('APP 0%_\\ 04')}`)
    assert.deepEqual(
      named.map(({ name }) => name),
      ['app 04 100%_\\'],
    )
    for (const query of [
      '?page=0',
      '?per_page=5',
      `?q=${'x'.repeat(201)}`,
      '?filter[environment_id]=x',
      '?filter[status]=failed',
    ])
      assert.equal(
        (await request('GET', `/overview/applications${query}`, { token: tree.owner.token })).status,
        422,
        query,
      )
    assert.deepEqual(await cardsOf(tree.owner, '?page=9007199254740991'), [])
  })

  test('show names of 255 characters and of any script as they are', async () => {
    const tree = await createTestTree(db)
    const long = 'ש'.repeat(255)
    await addApplication(tree, long)
    const cards = await cardsOf(tree.owner, `?q=${encodeURIComponent('ש')}`)
    assert.deepEqual(
      cards.map(({ name }) => name),
      [long],
    )
  })

  test('hide runs from callers who may not see them', async () => {
    const tree = await createTestTree(db)
    await deploy(tree, '1', tree.serverIds)
    await createAction(db, { ...tree, serverIds: [] }, FAILED)
    const { id: role_id } = await db
      .insertInto('roles')
      .values({ organization_id: tree.organizationId, name: 'No runs', permissions: ['application:view'] })
      .returning('id')
      .executeTakeFirstOrThrow()
    const limited = await createPerson(db)
    const grant = { user_id: limited.id, organization_id: tree.organizationId, role_id }
    await db.insertInto('grants').values(grant).execute()
    const [card] = await cardsOf(limited)
    assert.deepEqual(
      [card.runs, card.running, card.deploy_pipeline, card.needs_attention],
      [[], [], null, false],
    )
    const [{ commit, action_id }] = card.live
    assert.deepEqual([commit, action_id], [{ hash: commitOf('1').hash, message: null, url: null }, null])
    const [seen] = await cardsOf(await createMember(db, tree, 'viewer'))
    assert.deepEqual([seen.runs.length, seen.needs_attention], [2, true])
  })

  test('take the same few statements for 24 as for one', async () => {
    const tree = await createTestTree(db)
    const count = async () => {
      await cardsOf(tree.owner)
      statements.length = 0
      await cardsOf(tree.owner)
      return statements.length
    }
    const one = await count()
    for (let n = 0; n < 30; n++) await addApplication(tree, `app ${n}`, tree.serverIds)
    assert.equal(await count(), one)
    assert.ok(one <= 6, String(one))
  })
})
