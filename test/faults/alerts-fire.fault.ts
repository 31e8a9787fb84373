// Every alert rule of deploy/prometheus fires: its condition is caused, a real Prometheus scrapes it. What would take hours is
// dated back in the database; the durations of the rules are shorter (test/support/prometheus.ts). That they stay quiet
// otherwise: metrics.fault.ts.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { disconnectAll, urlAt } from '#test/support/called-gantry.ts'
import { testServer } from '#test/support/database.ts'
import { openReceiver } from '#test/support/deliveries.ts'
import { later } from '#test/support/later.ts'
import { type GantryProcess, logInAsAdmin, ownProgram } from '#test/support/process.ts'
import { startPrometheus } from '#test/support/prometheus.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { until } from '#test/support/until.ts'
import { createAction, createHook, createTestTree } from '#test/support/world.ts'
import { openFaultyPostgres } from './faulty-postgres.ts'

const FIRES_WITHIN_MS = 45_000
const TOKEN = 'a-token-for-prometheus'

const all = { after }
const receiver = await openReceiver(all)
const world = await openRunWorld(all, {
  roles: ['api'],
  environment: {
    GANTRY_METRICS_TOKEN: TOKEN,
    GANTRY_ALLOW_TARGETS: '127.0.0.0/8',
    GANTRY_HEARTBEAT_SECONDS: '10',
    GANTRY_WORKER_NAME: 'm1',
  },
})
const { db } = world
const api = world.processes[0]!
const tree = await createTestTree(db)
const prometheus = await startPrometheus(all, TOKEN)
await prometheus.watch(api.url!)

const small = await world.start('api', { GANTRY_DATABASE_CONNECTIONS: '2' })
await prometheus.watch(small.url!)

const faulty = await openFaultyPostgres(all)
const onFaulty = await world.start('api', { DATABASE_URL: urlAt(faulty.port, 'gantry') })
await prometheus.watch(onFaulty.url!)

async function startWorker(): Promise<GantryProcess> {
  const worker = await world.start('worker', { GANTRY_WORKER_PORT: '0' })
  const line = await until('it says where', 10_000, () =>
    worker.output.find((one) => one.startsWith('health at ')),
  )
  await prometheus.watch(new URL(line.split(' ').at(-1)!).origin)
  return worker
}

let worker: GantryProcess
const { pipelineId } = await world.makeCustom([{ name: 'nothing', command: 'true' }])
const hook = await world.makeHook(pipelineId)

async function makeOutgoing(path: string): Promise<void> {
  const { status, body } = await world.ask('POST', `/pipelines/${pipelineId}/hooks/outgoing`, {
    name: path,
    target_url: `${receiver.url}/${path}`,
    settings: { request_body: { status: '{{ action.status }}' } },
    trigger_when: { events: ['action.created'] },
  })
  assert.equal(status, 201, JSON.stringify(body))
}
receiver.behave((request, response) => {
  response.statusCode = request.url === '/broken' ? 500 : 400
  response.end()
})

/** Causes a condition; what it returns ends it. In this order: at first there is no worker. */
type Cause = () => Promise<undefined | (() => unknown)>
const causes: Record<string, Cause> = {
  GantryNoWorker: async () => undefined,
  GantryNotReady: async () => undefined,
  async GantryQueueDelayed() {
    await makeOutgoing('broken')
    await world.fire(hook)
    await sql`update queue.job set start_after = now() - interval '2 minutes' where state < 'active'`.execute(
      db,
    )
    return undefined
  },
  async GantryEnvironmentStalled() {
    await sql`update actions set updated_at = now() - interval '11 minutes' where status = 'queued'`.execute(
      db,
    )
    return undefined
  },
  async GantryDeliveriesLate() {
    await sql`update deliveries set due_at = now() - interval '2 minutes' where state = 'pending'`.execute(db)
    return undefined
  },
  async GantryRetentionBehind() {
    await sql`update retention_totals set finished_at = now() - interval '7 hours'`.execute(db)
    return undefined
  },
  async GantryBackupOld() {
    await sql`insert into newest_backup (made_at) values (now() - interval '27 hours')`.execute(db)
    return undefined
  },
  async GantryLiveUnknown() {
    const { applicationId, serverIds } = tree
    await sql`insert into unknown_live_releases (application_id, server_id, reason, try_at)
      values (${applicationId}, ${serverIds[0]}, 'for a test', now() + interval '1 hour')`.execute(db)
    return () => sql`delete from unknown_live_releases`.execute(db)
  },
  async GantryRateLimited() {
    const origin = new URL(receiver.url).origin
    const actionId = await createAction(db, tree)
    const hookId = await createHook(db, tree, 'outgoing', {
      target_url: `${origin}/limited?token={{ credential.access_token }}`,
      credential_id: tree.credentialId,
    })
    await sql`insert into rate_budgets (credential_id, origin, paused_until, reason)
      values (${tree.credentialId}, ${origin}, now() + interval '30 minutes', 'for a test')`.execute(db)
    await sql`with event as (
        insert into events (action_id, status, status_reason_code) values (${actionId}, 'completed', 'COMPLETED')
        returning id
      )
      insert into deliveries (hook_id, event_id, action_id, is_final)
      select ${hookId}, id, ${actionId}, true from event`.execute(db)
    return async () => {
      await sql`delete from deliveries where hook_id = ${hookId}`.execute(db)
      await sql`delete from rate_budgets`.execute(db)
    }
  },
  async GantryDeadLetters() {
    await sql`insert into queue.job (name, source_name, source_retry_count, data)
      values ('dead-letters', 'actions.run', 3, '{}')`.execute(db)
    return undefined
  },
  // From here on there is a worker. Its receiver fails.
  async GantryReceiversFail() {
    worker = await startWorker()
    return undefined
  },
  async GantryConnectionLost() {
    await sql`
      insert into hook_connections (hook_id, user_id, credential_id, provider, api_url, home_url, repository, events, state, due_at)
      values (gen_random_uuid(), 1, 1, 'github', 'https://api.github.com', 'https://github.com', 'acme/shop', '{push}', 'missing',
        now() + interval '1 day')`.execute(db)
    return undefined
  },
  async GantryDeliveriesFail() {
    await makeOutgoing('refused')
    await world.fire(hook)
    return undefined
  },
  async GantryRunsWait() {
    const gate = world.makeGate('first')
    const slow = await world.makeCustom([{ name: 'slow', command: gate.command }], {
      pipeline: { max_parallel_actions: 1 },
    })
    await world.run(slow.pipelineId)
    await gate.reached()
    const second = await world.run(slow.pipelineId)
    await sql`update actions set created_at = created_at - interval '20 minutes' where id = ${second}`.execute(
      db,
    )
    await gate.open()
    await world.completed(second)
    return undefined
  },
  async GantryTargetsWithoutWorker() {
    const away = await world.makeCustom([{ name: 'nothing', command: 'true' }], {
      server: { worker_name: 'm9' },
    })
    await world.run(away.pipelineId)
    return undefined
  },
  async GantryWorkerLost() {
    const gate = world.makeGate('lost')
    const { pipelineId } = await world.makeCustom([{ name: 'once', command: gate.command }])
    const id = await world.run(pipelineId)
    await gate.reached()
    const lost = worker
    worker = await startWorker()
    await lost.kill()
    await world.endedWith('FAILED_WORKER_LOST', id)
    return undefined
  },
  // The worker that was just killed.
  GantryDown: async () => undefined,
  async GantryDatabaseConnectionsFail() {
    return repeat(async () => {
      await disconnectAll(world.settings.database!)
      await delay(500)
    })
  },
  GantryDatabasePoolBusy: () => lockServers(small),
  GantryDatabasePoolExhausted: () => lockServers(small),
  GantryDatabaseLockWaits: () => lockServers(api),
  async GantryCallsFail() {
    // As on a full disk.
    await sql`create function refuse() returns trigger language plpgsql as $$
      begin raise exception 'no space' using errcode = '53100'; end $$`.execute(db)
    await sql`create trigger refuse before insert on hook_requests execute function refuse()`.execute(db)
    return repeat(() => world.fire(hook))
  },
  async GantryDiskFull() {
    // A file system of its own, in a mount namespace of its own, that is filled.
    const home = join(world.folder, randomUUID())
    await mkdir(home)
    const script =
      'mount -t tmpfs -o size=32m none "$GANTRY_HOME" && dd if=/dev/zero bs=1M count=30 of="$GANTRY_HOME/full" && exec "$@"'
    const program = ['unshare', '--mount', 'sh', '-c', script, 'sh', ...(await ownProgram())] as const
    const full = await world.start('api', { GANTRY_HOME: home }, [...program])
    await prometheus.watch(full.url!)
    return undefined
  },
  // On a server of its own, which can be broken.
  async GantryDatabaseFull() {
    await faulty.fillDisk()
    const stop = await repeat(() => logInAsAdmin(onFaulty))
    return async () => {
      await faulty.freeDisk()
      await stop()
    }
  },
  async GantryDatabaseReadOnly() {
    await faulty.query('alter database gantry set default_transaction_read_only = on')
    await faulty.query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = 'gantry'`)
    const stop = await repeat(() => logInAsAdmin(onFaulty))
    return async () => {
      await faulty.query('alter database gantry reset default_transaction_read_only')
      await stop()
    }
  },
  async GantryDatabaseUnresponsive() {
    await faulty.freeze()
    await until('it is noticed', 30_000, async () => (await fetch(`${onFaulty.url}/readyz`)).status === 503)
    // Metrics of a frozen database take longer than this Prometheus waits.
    await faulty.thaw()
    return undefined
  },
  async GantryDatabaseUnreachable() {
    await faulty.stop()
    return repeat(() => fetch(`${onFaulty.url}/readyz`))
  },
}

/** Where others may have caused the same before. */
const caused: Record<string, GantryProcess> = {
  GantryDatabasePoolExhausted: small,
  GantryDatabaseLockWaits: api,
  GantryDatabaseFull: onFaulty,
  GantryDatabaseReadOnly: onFaulty,
  GantryDatabaseUnresponsive: onFaulty,
  GantryDatabaseUnreachable: onFaulty,
}

/** Another session keeps a table locked that requests to this process read. */
async function lockServers({ url }: GantryProcess): Promise<() => Promise<void>> {
  const holder = new pg.Client({ ...testServer(), database: world.settings.database })
  await holder.connect()
  await holder.query('begin; lock table servers in access exclusive mode')
  const headers = { authorization: `Bearer ${tree.owner.token}` }
  const ask = () =>
    fetch(`${url}/environments/${tree.environmentId}/servers`, { headers }).then((answer) => answer.text())
  const stop = await repeat(() => Promise.all(Array.from({ length: 12 }, ask)))
  return async () => {
    await holder.end()
    await stop()
  }
}

/** Ten times a second at most, until the returned function is called. */
async function repeat(work: () => Promise<unknown>): Promise<() => Promise<void>> {
  let isOver = false
  const working = (async () => {
    while (!isOver) {
      await work().catch(() => {})
      await delay(100)
    }
  })()
  const stop = async () => {
    isOver = true
    await working
  }
  later(all, stop)
  return stop
}

test('every rule has a cause in this file', () => {
  assert.deepEqual(
    prometheus.alerts.filter((alert) => !(alert in causes)),
    [],
    'rules of deploy/prometheus/alerts.yml without a cause: add how to make them fire',
  )
  assert.deepEqual(
    Object.keys(causes).filter((alert) => !prometheus.alerts.includes(alert)),
    [],
    'causes without a rule',
  )
})

for (const [alert, cause] of Object.entries(causes))
  test(`${alert} fires`, async () => {
    const end = await cause()
    const url = caused[alert]?.url
    await until(`${alert} fires`, FIRES_WITHIN_MS, () => prometheus.isFiring(alert, url))
    await end?.()
  })
