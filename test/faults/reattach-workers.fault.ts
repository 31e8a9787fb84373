// Two workers that live and follow the same step at the same time, because one was asleep for so long that the other took its
// place: only the one that owns the run writes to it.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { GantryProcess } from '#test/support/process.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { startSshd } from '#test/support/sshd.ts'
import { until } from '#test/support/until.ts'

const all = { after }
const WITHIN_MS = 120_000
/** Runs of one worker: what it follows when it wakes up, it follows at once. */
const RUNS = 4

const world = await openRunWorld(all, {
  roles: ['api'],
  environment: { GANTRY_HEARTBEAT_SECONDS: '10', GANTRY_POLL_MS: '500' },
})
const { db, notes } = world
const sshd = await startSshd(all, { settings: ['MaxSessions 100'] })
const gate = world.makeGate('print')

async function startRun(index: number) {
  const file = join(notes, `run-${index}`)
  const say = `n=$((n+1)); echo "line $n" >> '${file}'; echo "line $n"`
  const open = `[ -e '${join(notes, 'print')}.open' ]`
  const command = `echo ran >> '${file}.ran'; until ${open}; do ${say}; sleep 0.05; done`
  const server = await world.newSshServer(sshd, index)
  const { pipelineId } = await world.makeCustom([{ name: 'print', command }], { server })
  const id = await world.run(pipelineId)
  const written = () => readFile(file, 'utf8').catch(() => '')
  const printsOn = async () => {
    const before = (await written()).length
    await until(`run ${index} prints on`, WITHIN_MS, async () => (await written()).length > before + 100)
  }
  await printsOn()
  return { id, written, printsOn, ran: () => readFile(`${file}.ran`, 'utf8') }
}

test('the step runs once, and no line is there twice', async (t) => {
  let [awake, asleep]: GantryProcess[] = [await world.start('worker', { GANTRY_WORKER_NAME: 'a' })]
  const runs = await Promise.all(Array.from({ length: RUNS }, (_, index) => startRun(index)))
  asleep = await world.start('worker', { GANTRY_WORKER_NAME: 'b' })
  const find = async (name: string) =>
    (await world.ask('GET', '/workers')).body.find((one: { name: string }) => one.name === name)
  const ids = runs.map(({ id }) => id)
  const owned = () =>
    db
      .selectFrom('targets')
      .select(['attempt', 'worker_name', 'status_reason_code as reason'])
      .where('action_id', 'in', ids)
      .execute()
  let [from, to] = ['a', 'b']
  for (let turn = 0; turn < 3; turn++) {
    const knows = async () => (await find(from!))?.running_targets === RUNS
    await until(`${from} says that it runs them`, WITHIN_MS, knows)
    awake!.child.kill('SIGSTOP')
    await until(`${to} has them all`, WITHIN_MS, async () =>
      (await owned()).every(({ worker_name, reason }) => worker_name === to! && reason === 'IN_PROGRESS'),
    )
    await Promise.all(runs.map(({ printsOn }) => printsOn()))
    // Both follow the steps now, and what the first one was sent meanwhile is waiting for it.
    awake!.child.kill('SIGCONT')
    await until(`${from} has noticed`, WITHIN_MS, async () => (await find(from!))?.running_targets === 0)
    await Promise.all(runs.map(({ printsOn }) => printsOn()))
    assert.ok((await owned()).every(({ worker_name }) => worker_name === to))
    ;[awake, asleep] = [asleep, awake]
    ;[from, to] = [to, from]
  }
  await gate.open()
  for (const { id, written, ran } of runs) {
    await world.completed(id)
    assert.equal(await world.logOf(id, 'print'), await written())
    assert.equal(await ran(), 'ran\n')
  }
  t.diagnostic(`attempts: ${(await owned()).map(({ attempt }) => attempt).join(', ')}`)
})
