// Runs whose steps must not run twice, over a real sshd. Each is interrupted once in every step (three of them, or as many as
// GANTRY_TEST_REATTACH_STEPS says), always at the same point: in the middle of it, and wherever Gantry and the server know different things about it. PostgreSQL and the link to
// the server hold a run at its point, so that none of this is a matter of time.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { later } from '#test/support/later.ts'
import { openLink } from '#test/support/link.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { startSshd } from '#test/support/sshd.ts'
import { until } from '#test/support/until.ts'

const all = { after }
const STEPS = Number(process.env.GANTRY_TEST_REATTACH_STEPS ?? 3)
const WITHIN_MS = 120_000
/** More than the renewal of a lease; the start of a step is. */
const START_BYTES = 300

const world = await openRunWorld(all, {
  roles: ['api'],
  environment: { GANTRY_HEARTBEAT_SECONDS: '10', GANTRY_POLL_MS: '500' },
})
const { db, notes } = world
const sshd = await startSshd(all, { settings: ['MaxSessions 100'] })
let worker = await world.start('worker')

/** What PostgreSQL holds up: the statement that ends the step, with its result; the one, or the commit, that stores where it is. */
const [END, LAUNCH] = [1, 2]
await sql`
  create function wait_at(point integer, server bigint, step integer) returns void language plpgsql set lock_timeout = 0 as
    $$ begin perform pg_advisory_xact_lock_shared(point, (server * 16 + step)::integer); end $$`.execute(db)
await sql`
  create function hold_step() returns trigger language plpgsql as $$ begin
    if new.ended_at is not null and old.ended_at is null then perform wait_at(${sql.lit(END)}, new.server_id, new.step_order); end if;
    if new.state_path is not null and old.state_path is null then perform wait_at(${sql.lit(LAUNCH)}, new.server_id, new.step_order); end if;
    return new;
  end $$`.execute(db)
await sql`
  create trigger hold_step before update on detached_steps for each row execute function hold_step()`.execute(
  db,
)
await sql`
  create function hold_announced() returns trigger language plpgsql as $$ begin
    perform wait_at(${sql.lit(LAUNCH)}, new.server_id, new.step_order);
    return null;
  end $$`.execute(db)
await sql`
  create constraint trigger hold_announced after insert on detached_steps deferrable initially deferred
  for each row when (new.state_path is not null) execute function hold_announced()`.execute(db)
const locks = new pg.Client(world.settings)
await locks.connect()
later(all, () => locks.end())
let asked: Promise<unknown> = Promise.resolve()
/** One query after the other, all in the session that has the locks. */
function ask(text: string, values: unknown[]): Promise<pg.QueryResult> {
  const answer = asked.then(() => locks.query(text, values))
  asked = answer.catch(() => {})
  return answer
}

const POINTS = {
  'in the middle of a step': null,
  'while nothing was heard of a step that has started': LAUNCH,
  'while the start of a step is under way, which then arrives': LAUNCH,
  'while the start of a step is under way, which arrives too late': LAUNCH,
  'when its token is stored, and nothing else': LAUNCH,
  'when it is stored where a step is, and nothing was sent': LAUNCH,
  'when a step has ended, and its result is not stored': END,
  'when the result of a step is stored, and nothing of the next one has started': END,
} as const
type Point = keyof typeof POINTS

type Kind = 'session' | 'link' | 'worker' | 'gantry'

/** Without its worker, what that has asked PostgreSQL for is committed, or not. */
const ROLLS_BACK: readonly Point[] = [
  'when its token is stored, and nothing else',
  'when a step has ended, and its result is not stored',
]

async function startRun(kind: Kind, point: Point, account: number) {
  const link = await openLink(all, sshd.port)
  const name = `${kind}-${account}`
  const fileOf = (order: number) => join(notes, `${name}.${order}`)
  const gateOf = (order: number) => `${fileOf(order)}.open`
  const waits = point === 'in the middle of a step' || point.startsWith('while nothing was heard')
  const steps = Array.from({ length: STEPS }, (_, index) => {
    const order = index + 1
    const say = `n=$((n+1)); echo "${order}: line $n" >> '${fileOf(order)}'; echo "${order}: line $n"`
    const wait = `until [ -e '${gateOf(order)}' ]; do ${say}; sleep 0.05; done`
    return { name: `step-${order}`, command: `${say}; ${waits ? `${wait}; ` : ''}${say}` }
  })
  const server = { ...(await world.newSshServer(sshd, account)), port: link.port }
  const { pipelineId, serverId } = await world.makeCustom(steps, { server })

  const held = POINTS[point]
  const keyOf = (order: number) => serverId * 16 + order
  if (held !== null)
    for (let order = 1; order <= STEPS; order++)
      await ask('select pg_advisory_lock($1, $2)', [held, keyOf(order)])
  const unlock = (order: number) => ask('select pg_advisory_unlock($1, $2)', [held, keyOf(order)])
  const findWaiting = async (order: number): Promise<number | undefined> => {
    const { rows } = await ask(
      `select pid from pg_locks where locktype = 'advisory' and not granted and classid = $1 and objid = $2`,
      [held, keyOf(order)],
    )
    return rows[0]?.pid
  }
  const rollBack = async (order: number) => {
    await ask('select pg_terminate_backend($1)', [await findWaiting(order)])
    await until('it was rolled back', WITHIN_MS, async () => (await findWaiting(order)) === undefined)
    await unlock(order)
  }
  const tokenOf = (order: number) =>
    db
      .selectFrom('detached_steps')
      .select(['token', 'state_path'])
      .where('server_id', '=', serverId)
      .where('step_order', '=', order)
      .where('ended_at', 'is', null)
      .executeTakeFirst()

  const written = (order: number) => readFile(fileOf(order), 'utf8').catch(() => '')
  const lines = async (order: number) => (await written(order)).split('\n').length - 1
  const prints = async (order: number) => {
    const before = await lines(order)
    await until(`step ${order} of ${name} prints`, WITHIN_MS, async () => (await lines(order)) > before + 2)
  }
  const id = await world.run(pipelineId)
  const target = () =>
    db
      .selectFrom('targets')
      .select(['status', 'status_reason_code as reason'])
      .where('action_id', '=', id)
      .executeTakeFirstOrThrow()

  /** At its point in this step. Returns what follows the kill, and what follows the restart. */
  async function park(order: number) {
    const nothing = async () => {}
    if (point === 'in the middle of a step') {
      await prints(order)
      return { afterKill: nothing, afterStart: () => passGate(order) }
    }
    await until(`${name} is held in step ${order}`, WITHIN_MS, async () => {
      const { status, reason } = await target()
      assert.notEqual(status, 'failed', `${name} in step ${order}: ${reason}`)
      return findWaiting(order)
    })
    if (point.startsWith('while nothing was heard')) {
      const muted = link.mute()
      await unlock(order)
      await prints(order)
      return { afterKill: async () => muted.drop(), afterStart: () => passGate(order) }
    }
    if (!point.startsWith('while the start')) {
      const isRolledBack = ROLLS_BACK.includes(point) && (kind === 'worker' || kind === 'gantry')
      return { afterKill: () => (isRolledBack ? rollBack(order) : unlock(order)), afterStart: nothing }
    }
    const underWay = link.hold()
    await unlock(order)
    const token = await until(`the start of step ${order} is under way`, WITHIN_MS, async () => {
      const stored = await tokenOf(order)
      return stored?.state_path != null && underWay.bytes() > START_BYTES && stored.token
    })
    assert.equal(await lines(order), 0)
    const isLate = point.endsWith('too late')
    if (kind === 'session') return { afterKill: async () => underWay.drop(), afterStart: nothing }
    return {
      async afterKill() {
        if (isLate) return
        await underWay.deliver()
        await until(`step ${order} runs`, WITHIN_MS, async () => (await lines(order)) > 0)
      },
      async afterStart() {
        if (!isLate) return
        await until(`the first token of step ${order} is void`, WITHIN_MS, async () => {
          const stored = await tokenOf(order)
          return stored?.token !== token
        })
        await underWay.deliver()
      },
    }
  }

  async function passGate(order: number) {
    await prints(order)
    await writeFile(gateOf(order), '')
  }

  async function check() {
    await world.completed(id)
    for (let order = 1; order <= STEPS; order++) {
      const written = await readFile(fileOf(order), 'utf8')
      const count = written.split('\n').length - 1
      const expected = Array.from({ length: count }, (_, line) => `${order}: line ${line + 1}\n`).join('')
      assert.ok(waits ? count > 3 : count === 2, `${name}, step ${order}: ${count} lines`)
      assert.equal(written, expected, `${name}, step ${order}`)
      assert.equal(await world.logOf(id, `step-${order}`), expected, `log of ${name}, step ${order}`)
    }
  }
  return { name, link, park, target, check }
}

type Run = Awaited<ReturnType<typeof startRun>>

async function interrupt(kind: Kind, runs: readonly Run[], afterKill: () => Promise<void>): Promise<void> {
  switch (kind) {
    case 'session':
      sshd.dropConnections()
      return afterKill()
    case 'link': {
      await Promise.all(runs.map(({ link }) => link.cut()))
      await afterKill()
      await until('all reconnect', WITHIN_MS, async () => {
        const targets = await Promise.all(runs.map(({ target }) => target()))
        return targets.every(({ status, reason }) => status !== 'in-progress' || reason === 'RECONNECTING')
      })
      await Promise.all(runs.map(({ link }) => link.restore()))
      return
    }
    case 'worker':
      await worker.kill()
      await afterKill()
      worker = await world.start('worker')
      return
    case 'gantry': {
      const [api] = world.processes
      await Promise.all([worker.kill(), api!.kill()])
      await afterKill()
      const port = new URL(api!.url!).port
      world.processes[0] = await world.start('api', { PORT: port })
      worker = await world.start('worker')
    }
  }
}

const KINDS = {
  session: 'the sessions of sshd are killed',
  link: 'the link is cut',
  worker: 'the worker is killed',
  gantry: 'all of Gantry is killed',
} satisfies Record<Kind, string>

for (const [kind, what] of Object.entries(KINDS) as [Kind, string][])
  test(`${STEPS} times ${what}: every run completes, and every line is there once`, async (t) => {
    const points = Object.keys(POINTS) as Point[]
    const runs = await Promise.all(points.map((point, index) => startRun(kind, point, index)))
    for (let order = 1; order <= STEPS; order++) {
      const parked = await Promise.all(runs.map((run) => run.park(order)))
      await interrupt(kind, runs, async () => {
        await Promise.all(parked.map(({ afterKill }) => afterKill()))
      })
      await Promise.all(parked.map(({ afterStart }) => afterStart()))
    }
    for (const run of runs) await run.check()
    t.diagnostic(`${runs.length} runs, each interrupted ${STEPS} times`)
  })
