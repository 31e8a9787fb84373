// Runs over a real sshd, while workers and connections are killed at random: for a minute, or for GANTRY_TEST_REATTACH_SECONDS,
// and until there were GANTRY_TEST_REATTACH_RUNS.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { openRunWorld } from '#test/support/run-world.ts'
import { startSshd } from '#test/support/sshd.ts'

const all = { after }
const LASTS_MS = Number(process.env.GANTRY_TEST_REATTACH_SECONDS ?? 60) * 1_000
const LEAST_RUNS = Number(process.env.GANTRY_TEST_REATTACH_RUNS ?? 0)
const STEPS = 5
const AT_A_TIME = 6
/** What ended an attempt to connect. A connection that was there is lost. */
const CONNECTING = /\b(closed|reset) the connection\b|^no SSH connection to /m

const world = await openRunWorld(all, {
  roles: ['api'],
  environment: { GANTRY_HEARTBEAT_SECONDS: '10', GANTRY_POLL_MS: '500' },
})
const sshd = await startSshd(all, { settings: ['MaxSessions 100'] })
const workers = await Promise.all(['a', 'b', 'c'].map(() => world.start('worker')))

/** mulberry32: the diagnostics name the seed. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

test('no run is lost, no step runs twice, and every log is complete', async (t) => {
  const seed = Number(process.env.SEED ?? Date.now() % 1e9)
  t.diagnostic(`SEED=${seed}`)
  const random = randomFrom(seed)
  const endsAt = performance.now() + LASTS_MS
  const isOver = () => performance.now() > endsAt && count >= LEAST_RUNS
  let [count, unreached] = [0, 0]
  const kills = { workers: 0, connections: 0 }

  /** Killed while it connected for the first time, which fails a run immediately. Everything after that is waited for. */
  async function neverConnected(id: number): Promise<boolean> {
    const log = await world.logOf(id, 'step-1')
    const tokens = await world.db
      .selectFrom('detached_steps')
      .innerJoin('targets', 'targets.id', 'detached_steps.target_id')
      .select('state_path')
      .where('action_id', '=', id)
      .execute()
    const target = world.db.selectFrom('targets').select('reattached').where('action_id', '=', id)
    const { reattached } = await target.executeTakeFirstOrThrow()
    return CONNECTING.test(log) && reattached === 0 && tokens.every(({ state_path }) => state_path === null)
  }

  const fileOf = (name: string, order: number) => join(world.notes, `${name}.${order}`)
  async function runAndCheck(): Promise<void> {
    const name = `run-${++count}`
    const steps = Array.from({ length: STEPS }, (_, index) => {
      const file = fileOf(name, index + 1)
      const lines = 1 + Math.floor(random() * 30)
      const say = `echo "line $n" >> '${file}'; echo "line $n"; sleep 0.1`
      return { name: `step-${index + 1}`, command: `for n in {1..${lines}}; do ${say}; done`, lines }
    })
    const server = await world.newSshServer(sshd, count)
    const { pipelineId } = await world.makeCustom(
      steps.map(({ name, command }) => ({ name, command })),
      { server },
    )
    const id = await world.run(pipelineId)
    const { status_reason_code } = await world.ended(id, 240_000)
    if (status_reason_code !== 'COMPLETED') {
      const why = `${await world.logOf(id, 'step-1')}\n${JSON.stringify((await world.show(id)).targets)}`
      assert.equal(status_reason_code, 'FAILED_UNREACHABLE', `${name} (${id}) ${why}`)
      assert.ok(await neverConnected(id), `${name} (${id}) was lost: ${why}`)
      assert.equal(await readFile(fileOf(name, 1), 'utf8').catch(() => ''), '', `${name} has run`)
      unreached++
      return
    }
    for (const [index, { lines }] of steps.entries()) {
      const expected = Array.from({ length: lines }, (_, n) => `line ${n + 1}\n`).join('')
      assert.equal(await readFile(fileOf(name, index + 1), 'utf8'), expected, `${name}, step ${index + 1}`)
      assert.equal(await world.logOf(id, `step-${index + 1}`), expected, `log of ${name}, step ${index + 1}`)
    }
  }

  const running = Array.from({ length: AT_A_TIME }, async () => {
    while (!isOver()) await runAndCheck()
  })
  const killing = (async () => {
    while (!isOver()) {
      await pause(2_000 + random() * 4_000)
      const index = Math.floor(random() * 6)
      if (index >= workers.length) {
        kills.connections++
        sshd.dropConnections()
      } else {
        kills.workers++
        await workers[index]!.kill()
        workers[index] = await world.start('worker')
      }
    }
  })()
  const results = await Promise.allSettled([...running, killing])
  t.diagnostic(
    `${count} runs, ${unreached} of them not started; killed: ${kills.workers} workers, ${kills.connections} times all connections`,
  )
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  if (errors.length > 0) throw new AggregateError(errors)
})
