// The link to a server is cut in the middle of a step: for a while, and for longer than the step runs on without Gantry.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openLink } from '#test/support/link.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { startSshd } from '#test/support/sshd.ts'
import { until } from '#test/support/until.ts'

const all = { after }
const LEASE_SECONDS = 15
const WITHIN_MS = 90_000

const world = await openRunWorld(all, {
  environment: { GANTRY_REATTACH_SECONDS: String(LEASE_SECONDS), GANTRY_POLL_MS: '500' },
})
const { db, notes } = world
const sshd = await startSshd(all)
const link = await openLink(all, sshd.port)

/** A run whose only step prints and notes a line until its gate opens, and what became of it. */
async function startRun(name: string, step: object = {}) {
  const [file, gate] = [join(notes, name), world.makeGate(name)]
  const say = `n=$((n+1)); echo "line $n" >> '${file}'; echo "line $n"`
  const command = `echo ran >> '${file}.ran'; until [ -e '${join(notes, name)}.open' ]; do ${say}; sleep 0.1; done`
  const server = { ...(await world.newSshServer(sshd, 0)), port: link.port }
  const { pipelineId, serverId } = await world.makeCustom([{ name: 'print', command, ...step }], { server })
  const id = await world.run(pipelineId)
  const written = () => readFile(file, 'utf8').catch(() => '')
  const printsOn = async () => {
    const before = await written()
    await until(`${name} prints on`, WITHIN_MS, async () => (await written()).length > before.length)
  }
  await printsOn()
  const reason = async () => {
    const { status_reason_code } = await db
      .selectFrom('targets')
      .select('status_reason_code')
      .where('action_id', '=', id)
      .executeTakeFirstOrThrow()
    return status_reason_code
  }
  const times = async () => (await readFile(`${file}.ran`, 'utf8')).split('\n').length - 1
  return { id, pipelineId, serverId, gate, written, printsOn, reason, times }
}

const isReconnecting = (run: { reason(): Promise<string> }) =>
  until('it reconnects', WITHIN_MS, async () => (await run.reason()) === 'RECONNECTING')

test('while the link is cut, steps run on, runs are RECONNECTING, and both continue', async () => {
  const run = await startRun('continued')
  await link.cut()
  await isReconnecting(run)
  await run.printsOn()
  await link.restore()
  await until('it is connected again', WITHIN_MS, async () => (await run.reason()) === 'IN_PROGRESS')
  await run.gate.open()
  await world.completed(run.id)
  assert.equal(await world.logOf(run.id, 'print'), await run.written())
  assert.equal(await run.times(), 1)
})

test('a canceled one ends when its server is back, and one whose lease is over there, at once', async () => {
  const [canceled, ended] = [await startRun('canceled'), await startRun('ended')]
  await link.cut()
  const cutAt = performance.now()
  await isReconnecting(canceled)
  await world.cancel(canceled.id)
  // Without Gantry, the server ends the step.
  let last = ''
  await until('the server has ended it', WITHIN_MS, async () => {
    const [before, now] = [last, await ended.written()]
    last = now
    return before === now && performance.now() - cutAt > LEASE_SECONDS * 1_000
  })
  const endedMs = performance.now() - cutAt
  assert.ok(endedMs < (LEASE_SECONDS + 10) * 1_000, `${endedMs} ms`)
  assert.equal(await ended.reason(), 'RECONNECTING')
  await link.restore()
  await world.endedWith('FAILED_CANCELLED', canceled.id)
  await world.endedWith('FAILED_UNREACHABLE', ended.id)
  assert.match(await world.logOf(ended.id, 'print'), /GANTRY_REATTACH_SECONDS/)
  assert.ok((await world.logOf(ended.id, 'print')).startsWith(await ended.written()))
})

test('a server that stays away ends its run 30 s after the lease, and until then its slot is taken', async () => {
  const run = await startRun('given-up')
  const next = await world.run(run.pipelineId)
  await link.cut()
  const cutAt = performance.now()
  await world.endedWith('FAILED_UNREACHABLE', run.id)
  const seconds = (performance.now() - cutAt) / 1_000
  assert.ok(seconds > LEASE_SECONDS + 20 && seconds < LEASE_SECONDS + 45, `${seconds} s`)
  // It cannot be connected to, either; it has tried when it had the slot.
  await world.endedWith('FAILED_UNREACHABLE', next)
  const [first, second] = await db
    .selectFrom('targets')
    .select(['started_at', 'completed_at'])
    .where('action_id', 'in', [run.id, next])
    .orderBy('action_id')
    .execute()
  assert.ok(second!.started_at! >= first!.completed_at!)
  await link.restore()
})

test('a server that is away from the start fails the run immediately', async () => {
  await link.cut()
  const server = { ...(await world.newSshServer(sshd, 0)), port: link.port }
  const { pipelineId } = await world.makeCustom([{ name: 'never', command: 'true' }], { server })
  const startedAt = performance.now()
  await world.endedWith('FAILED_UNREACHABLE', await world.run(pipelineId))
  assert.ok(performance.now() - startedAt < LEASE_SECONDS * 1_000)
})
