// What stops Gantry does not wait for steps that run by themselves on a server, however long they still take: another worker
// continues them, or the next start.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openRunWorld, type RunWorld } from '#test/support/run-world.ts'
import { type Sshd, startSshd } from '#test/support/sshd.ts'
import { until } from '#test/support/until.ts'

const all = { after }
const WITHIN_MS = 90_000
const STOPS_WITHIN_MS = 15_000
/** Neither is waited for. */
const STEP_SECONDS = 600
const PATIENT = { GANTRY_DRAIN_SECONDS: String(STEP_SECONDS), GANTRY_STOP_GRACE_MS: '10000' }

const sshd = await startSshd(all, { settings: ['MaxSessions 100'] })

/** A run whose step prints for ten minutes, unless its gate opens, and notes what it prints in a file. */
async function startRun(world: RunWorld, at: Sshd) {
  const [file, gate] = [join(world.notes, 'printed'), world.makeGate('long')]
  const say = `n=$((n+1)); echo "line $n" >> '${file}'; echo "line $n"`
  const isOver = `[ -e '${join(world.notes, 'long')}.open' ] || ((SECONDS >= ${STEP_SECONDS}))`
  const command = `echo ran >> '${file}.ran'; until ${isOver}; do ${say}; sleep 0.1; done`
  const server = await world.newSshServer(at, 0)
  const { pipelineId } = await world.makeCustom([{ name: 'print', command }], { server })
  const id = await world.run(pipelineId)
  const written = () => readFile(file, 'utf8').catch(() => '')
  const printsOn = async () => {
    const before = (await written()).length
    await until('it prints on', WITHIN_MS, async () => (await written()).length > before)
  }
  const reasonIs = (expected: string) =>
    until(`it is ${expected}`, WITHIN_MS, async () => {
      const { status_reason_code } = (await world.show(id)).targets[0]
      return status_reason_code === expected
    })
  await printsOn()
  return {
    printsOn,
    reasonIs,
    async completesOnce() {
      await gate.open()
      await world.completed(id)
      assert.equal(await world.logOf(id, 'print'), await written())
      assert.equal(await readFile(`${file}.ran`, 'utf8'), 'ran\n')
    },
  }
}

async function stopsSoon(gantry: { stop(): Promise<number | null> }): Promise<void> {
  const askedAt = performance.now()
  assert.equal(await gantry.stop(), 0)
  const ms = performance.now() - askedAt
  assert.ok(ms < STOPS_WITHIN_MS, `${ms} ms`)
}

test('another worker continues what a worker hands over that stops', async (t) => {
  const world = await openRunWorld(t, { roles: ['api'], environment: { GANTRY_POLL_MS: '500' } })
  const first = await world.start('worker', PATIENT)
  const run = await startRun(world, sshd)
  await world.start('worker')
  await stopsSoon(first)
  await run.reasonIs('IN_PROGRESS')
  await run.printsOn()
  await run.completesOnce()
})

test('the next start of the only process continues what that has left', async (t) => {
  const world = await openRunWorld(t, { environment: { GANTRY_POLL_MS: '500', ...PATIENT } })
  const run = await startRun(world, sshd)
  const [only] = world.processes
  const { port } = new URL(only!.url!)
  await stopsSoon(only!)
  await run.printsOn()
  await world.start('all', { PORT: port })
  await run.reasonIs('IN_PROGRESS')
  await run.completesOnce()
})

test('a draining worker hands over to another one, and stays', async (t) => {
  const world = await openRunWorld(t, { roles: ['api'], environment: { GANTRY_POLL_MS: '500' } })
  const first = await world.start('worker', { GANTRY_WORKER_NAME: 'first' })
  const run = await startRun(world, sshd)
  await world.start('worker', { GANTRY_WORKER_NAME: 'second' })
  const workers = async () => (await world.ask('GET', '/workers')).body
  const find = async (name: string) => (await workers()).find((one: { name: string }) => one.name === name)
  const { id } = await find('first')
  assert.equal((await world.ask('POST', `/workers/${id}/drain`)).body.draining, true)
  await until('the second one runs it', WITHIN_MS, async () => {
    const [one, two] = [await find('first'), await find('second')]
    return one.running_targets === 0 && two.running_targets === 1
  })
  await run.reasonIs('IN_PROGRESS')
  assert.equal(first.child.exitCode, null)
  await run.completesOnce()
})
