// What a sweep removes of detached steps, from servers and from the database, on a real sshd.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { createConnect } from '#adapters/executors/connect.ts'
import { type DetachedSteps, newStepToken } from '#adapters/executors/detached.ts'
import { sweepSteps } from '#engine/sweeping/sweep-steps.ts'
import { findServer } from '#manage/servers/read-servers.ts'
import { loadAddress } from '#manage/servers/server-address.ts'
import { assertSameKey } from '#ops/commands/same-key.ts'
import { createSshGuard } from '#platform/addresses/ssh-guard.ts'
import { createSecretBox } from '#platform/crypto/secret-box.ts'
import { openTestApp } from '#test/support/harness.ts'
import { later } from '#test/support/later.ts'
import { LOCAL_SETTINGS } from '#test/support/local-settings.ts'
import { createInventory } from '#test/support/run-inventory.ts'
import { type Sshd, startSshd } from '#test/support/sshd.ts'
import { createAction, createPerson, createTestTree } from '#test/support/world.ts'

const file = { after }
const { db } = await openTestApp({ after: (end: () => Promise<void>) => later(file, end) })
const key = randomBytes(32)
const box = createSecretBox([key])
await assertSameKey(db, box)
const folder = await mkdtemp(join(tmpdir(), 'gantry-sweep-'))
later(file, () => rm(folder, { recursive: true, force: true }))
await chmod(folder, 0o777)
const sshd = await startSshd(file, { settings: [`SetEnv HOME=${folder}`] })
const { connect } = createConnect({
  ...{ ...LOCAL_SETTINGS, databaseUid: null },
  sshGuard: createSshGuard({ targets: [] }),
})
const inventory = await createInventory(db, { key, folder, admin: await createPerson(db, { admin: true }) })
const deps = { db, box, connect }
const { signal } = new AbortController()
const { installation } = await db.selectFrom('key_check').select('installation').executeTakeFirstOrThrow()

async function makeServer(at: Sshd) {
  const environmentId = await inventory.makeEnvironment()
  const serverId = await inventory.makeServer(environmentId, await inventory.newSshServer(at, 0))
  const steps = await open(serverId)
  return { serverId, steps }
}

async function open(serverId: number): Promise<DetachedSteps> {
  const address = await loadAddress(deps, (await findServer(db, serverId))!)
  assert.ok('kind' in address)
  const connection = await connect(address)
  assert.ok(connection.kind === 'connected', JSON.stringify(connection))
  later(file, () => connection.executor.close())
  const owner = `${installation}-${serverId}`
  const steps = await connection.executor.openDetached!({ runAsUser: null, owner })
  assert.ok(steps.kind === 'detached', JSON.stringify(steps))
  return steps
}

const tree = await createTestTree(db)
/** A step of a run that is in progress, which has ended on the server, and whose result is stored or not. */
async function leaveStep(
  { serverId, steps }: Awaited<ReturnType<typeof makeServer>>,
  endedAgo: string | null,
) {
  const token = newStepToken()
  const never = new AbortController().signal
  const limits = { timeoutMs: 60_000, graceMs: 1_000, leaseSeconds: 60 }
  const command = { token, command: 'true', environment: {}, workingFolder: null }
  const end = await steps.start(
    { ...command, ...limits },
    { onOutput: () => {}, cancel: never, leave: never },
  )
  assert.deepEqual(end, { kind: 'exited', code: 0 })
  const running = { status: 'in-progress', status_reason_code: 'IN_PROGRESS', completed_at: null } as const
  const actionId = await createAction(db, tree, running, running)
  const path = steps.statePath(token)
  await sql`
    insert into detached_steps (token, target_id, step_order, server_id, attempt, state_path, ended_at)
    select ${token}, min(id), 1, ${serverId}, 1, ${path}, now() - ${endedAgo}::interval
    from targets where action_id = ${actionId}`.execute(db)
  assert.ok(existsSync(path))
  return { token, path }
}

const tokens = async () =>
  (await db.selectFrom('detached_steps').select('token').execute()).map((row) => row.token)

test('a sweep removes what steps have left on their server, and spares what has no result yet', async () => {
  const server = await makeServer(sshd)
  const [ended, running] = [await leaveStep(server, '2 minutes'), await leaveStep(server, null)]
  await sweepSteps(deps, signal)
  assert.deepEqual([existsSync(ended.path), existsSync(running.path)], [false, true])
  assert.deepEqual(await tokens(), [running.token])
  await sql`update detached_steps set ended_at = now() - interval '2 minutes'`.execute(db)
  await sweepSteps(deps, signal)
  assert.deepEqual([existsSync(running.path), await tokens()], [false, []])
})

test('a step that has ended a moment ago is left to its run', async () => {
  const step = await leaveStep(await makeServer(sshd), '1 second')
  await sweepSteps(deps, signal)
  assert.deepEqual([existsSync(step.path), await tokens()], [true, [step.token]])
  await sql`delete from detached_steps`.execute(db)
})

test('a server that is away is swept when it is back, one that no longer exists never, and none after 30 days', async (t) => {
  const away = await startSshd(t, { settings: [`SetEnv HOME=${folder}`] })
  const [server, removed, forgotten] = [
    await makeServer(away),
    await makeServer(sshd),
    await makeServer(away),
  ]
  const step = await leaveStep(server, '2 minutes')
  await leaveStep(removed, '3 minutes')
  await leaveStep(forgotten, '31 days')
  await db
    .updateTable('servers')
    .set({ deleted_at: new Date().toISOString() })
    .where('id', '=', removed.serverId)
    .execute()
  await away.stop()
  await sweepSteps(deps, signal)
  assert.deepEqual([existsSync(step.path), await tokens()], [true, [step.token]])
  await away.start()
  await sweepSteps(deps, signal)
  assert.deepEqual([existsSync(step.path), await tokens()], [false, []])
})

test('a sweep that is to end asks no further server', async () => {
  const step = await leaveStep(await makeServer(sshd), '2 minutes')
  await sweepSteps(deps, AbortSignal.abort())
  assert.deepEqual([existsSync(step.path), await tokens()], [true, [step.token]])
})
