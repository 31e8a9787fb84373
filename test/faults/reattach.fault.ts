// Runs of ten steps that must not run twice, over a real sshd: each is at another of its steps when the connections are cut, the
// worker is killed with -9, and then all of Gantry. What the steps append to a file is there once, and their logs are the same
// byte for byte.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { openRunWorld } from '#test/support/run-world.ts'
import { startSshd } from '#test/support/sshd.ts'
import { until } from '#test/support/until.ts'

const all = { after }
const STEPS = 10
const WITHIN_MS = 90_000
/** What a killed worker could not remove is swept five minutes later, if it has ended a minute before. */
const SWEPT_MS = 400_000

const world = await openRunWorld(all, {
  roles: ['api'],
  environment: { GANTRY_HEARTBEAT_SECONDS: '10', GANTRY_POLL_MS: '500', GANTRY_STOP_GRACE_MS: '1000' },
})
const { db, run, notes } = world
const sshd = await startSshd(all, { settings: ['MaxSessions 100'] })
let worker = await world.start('worker')

/** What the steps of a run wrote, by the order of the step. */
const notesOf = async (name: string, order: number) =>
  readFile(join(notes, `${name}.${order}`), 'utf8').catch(() => '')

/** Prints a line and appends the same to a file, until its gate is open. */
function steadyStep(name: string, order: number, gate: string) {
  const file = join(notes, `${name}.${order}`)
  const say = `n=$((n+1)); echo "${order}: line $n" >> '${file}'; echo "${order}: line $n"`
  return {
    name: `step-${order}`,
    command: `${say}; until [ -e '${gate}' ]; do ${say}; sleep 0.05; done; ${say}`,
  }
}

/** A run whose step `parkedAt` waits for `gate`, while the others do not wait. */
async function startRun(name: string, parkedAt: number, gate: string): Promise<number> {
  const server = await world.newSshServer(sshd, parkedAt)
  const steps = Array.from({ length: STEPS }, (_, index) =>
    steadyStep(name, index + 1, index + 1 === parkedAt ? gate : '/'),
  )
  const { pipelineId } = await world.makeCustom(steps, { server })
  return run(pipelineId)
}
async function countLines(name: string, order: number): Promise<number> {
  return (await notesOf(name, order)).split('\n').length - 1
}

/** Ten runs, each in the middle of another step. */
async function park(kind: string) {
  const gate = join(notes, `${kind}.gate`)
  const names = Array.from({ length: STEPS }, (_, index) => `${kind}-${index + 1}`)
  const ids = await Promise.all(names.map((name, index) => startRun(name, index + 1, gate)))
  const inMiddle = async () => {
    const counts = await Promise.all(names.map((name, index) => countLines(name, index + 1)))
    return counts.every((count) => count > 3)
  }
  await until(`ten runs are in the middle of a step: ${kind}`, WITHIN_MS, inMiddle)
  /** They print on: what interrupted them did not end them. */
  const continues = async () => {
    const before = await Promise.all(names.map((name, index) => countLines(name, index + 1)))
    await until('they print on', WITHIN_MS, async () => {
      const now = await Promise.all(names.map((name, index) => countLines(name, index + 1)))
      return now.every((count, index) => count > before[index]!)
    })
  }
  const reasons = async () => {
    const rows = await db
      .selectFrom('targets')
      .select('status_reason_code as reason')
      .where('action_id', 'in', ids)
      .execute()
    return rows.map(({ reason }) => reason)
  }
  return { gate, names, ids, continues, reasons }
}

type Parked = Awaited<ReturnType<typeof park>>

/** Every line once, in the file and in the log. */
async function allIsThereOnce({ names, ids }: Parked): Promise<void> {
  for (const [index, id] of ids.entries()) {
    await world.completed(id)
    for (let order = 1; order <= STEPS; order++) {
      const written = await notesOf(names[index]!, order)
      const lines = written.split('\n').length - 1
      const expected = Array.from({ length: lines }, (_, line) => `${order}: line ${line + 1}\n`).join('')
      assert.equal(written, expected, `${names[index]}, step ${order}`)
      assert.equal(await world.logOf(id, `step-${order}`), expected, `log of ${names[index]}, step ${order}`)
    }
  }
}

const openGate = async ({ gate }: Parked) => {
  await writeFile(gate, '')
}

suite('ten runs, each in the middle of another of its ten steps', () => {
  test('continue when the sessions of sshd are killed', async () => {
    const parked = await park('session')
    sshd.dropConnections()
    await parked.continues()
    await openGate(parked)
    await allIsThereOnce(parked)
  })

  test('continue when the worker is killed, in another one', async () => {
    const parked = await park('worker')
    await worker.kill()
    await parked.continues()
    worker = await world.start('worker')
    await openGate(parked)
    await allIsThereOnce(parked)
  })

  test('are handed over by a worker that stops, which waits for none of them', async () => {
    const parked = await park('stop')
    const startedAt = performance.now()
    assert.equal(await worker.stop(), 0)
    assert.ok(performance.now() - startedAt < 10_000)
    assert.deepEqual([...new Set(await parked.reasons())], ['RECONNECTING'])
    await parked.continues()
    worker = await world.start('worker')
    await until('they are connected again', WITHIN_MS, async () =>
      (await parked.reasons()).every((reason) => reason === 'IN_PROGRESS'),
    )
    await openGate(parked)
    await allIsThereOnce(parked)
  })

  test('continue when all of Gantry is killed, after its restart', async () => {
    const parked = await park('gantry')
    await Promise.all([worker.kill(), world.processes[0]!.kill()])
    await parked.continues()
    await openGate(parked)
    const port = new URL(world.processes[0]!.url!).port
    await world.start('api', { PORT: port })
    worker = await world.start('worker')
    await allIsThereOnce(parked)
  })

  test('leave nothing behind on the server', async () => {
    await until('no token is left', SWEPT_MS, async () => {
      const rows = await db.selectFrom('detached_steps').selectAll().execute()
      return rows.length === 0
    })
  })
})
