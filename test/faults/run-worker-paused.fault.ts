// A worker that sleeps for longer than its jobs wait for it (a frozen machine, a debugger), and then wakes up.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { sql } from 'kysely'
import { deployWith } from '#test/support/inventory.ts'
import { processesAt } from '#test/support/processes-at.ts'
import { liveFile, liveRelease, releasesIn } from '#test/support/releases.ts'
import { makeRepository } from '#test/support/repository.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { until } from '#test/support/until.ts'

const all = { after }
const world = await openRunWorld(all, {
  roles: ['api'],
  environment: { GANTRY_HEARTBEAT_SECONDS: '10', GANTRY_POLL_MS: '1000' },
})
const { db, run, show, completed, endedWith, logOf, makeCustom, makeGate, notes } = world
const sleeper = await world.start('worker')

const MAX_MS = 60_000
const timesIn = async (file: string) =>
  (await readFile(join(notes, file), 'utf8').catch(() => '')).split('\n').length - 1

suite('a worker that is paused until its runs are reassigned, and resumes', () => {
  const [repeated, given, early] = [makeGate('repeated'), makeGate('given-up'), makeGate('early')]
  const ids = { repeated: 0, given: 0, deploy: 0 }
  let shop: Awaited<ReturnType<typeof world.makeDeployable>>

  before(async () => {
    // Prints without end, each attempt under its own name.
    const chatter = `me="attempt $RANDOM$RANDOM"; while :; do echo "$me"; sleep 0.1; done & ${repeated.command}; kill %1`
    const first = await makeCustom([{ name: 'talk', command: chatter, idempotent: true }])
    const second = await makeCustom([
      { name: 'wait', command: given.command },
      { name: 'after', command: `echo >> '${notes}/after'` },
    ])
    const repository = await makeRepository(all, { files: { name: 'shop' } })
    shop = await world.makeDeployable({
      repository: repository.address,
      steps: deployWith({
        'build-application': [
          { name: 'wait', command: early.command, idempotent: true },
          { name: 'late', command: `echo "$GANTRY_RELEASE" >> '${notes}/late'`, idempotent: true },
        ],
      }),
    })
    ids.repeated = await run(first.pipelineId)
    ids.given = await run(second.pipelineId)
    ids.deploy = await run(shop.pipelineId)
    await Promise.all([repeated, given, early].map((gate) => gate.reached()))
    await until('something was printed', MAX_MS, async () =>
      /attempt/.test(await logOf(ids.repeated, 'talk')),
    )

    sleeper.child.kill('SIGSTOP')
    // One of its steps ends well meanwhile.
    await given.open()
    await until('the step has ended', MAX_MS, async () => (await given.left()) === 1)
    await world.start('worker')
    await repeated.reached(2)
    await early.reached(2)
    await endedWith('FAILED_WORKER_LOST', ids.given)
  })

  test('its running steps are ended, and it writes nothing more', async () => {
    for (const gate of [repeated, early]) assert.equal(attemptsAt(gate.held), 2, 'its steps do not sleep')
    const before = await stored()
    sleeper.child.kill('SIGCONT')
    // Of both attempts that run, one is left.
    for (const gate of [repeated, early]) {
      await until('the first attempt has ended', MAX_MS, () => attemptsAt(gate.held) === 1)
    }
    const { lines, ...states } = await stored()
    const { lines: linesBefore, ...statesBefore } = before
    assert.deepEqual(states, statesBefore)
    assert.ok(lines >= linesBefore)
  })

  test('the log of the step continues with the second attempt, and has nothing of the first after it', async () => {
    await repeated.open()
    await completed(ids.repeated)
    const log = await logOf(ids.repeated, 'talk')
    const [early, late] = log.split(/^.* A new attempt starts here\.\n/m)
    const [first, second] = [early, late].map((part) => new Set(part!.match(/attempt \d+/g)))
    assert.deepEqual([first!.size, second!.size], [1, 1], log)
    assert.notDeepEqual(first, second)
    assert.equal(await repeated.left(), 1)
  })

  test('a step that succeeded in the meantime stays failed, and the next one never runs', async () => {
    const action = await show(ids.given)
    const reasons = action.targets[0].steps.map(
      (step: { status_reason_code: string }) => step.status_reason_code,
    )
    assert.deepEqual(reasons, ['FAILED_WORKER_LOST', 'SKIPPED'])
    assert.equal(await timesIn('after'), 0)
  })

  test('a deploy is finished by the second attempt alone', async () => {
    await early.open()
    await completed(ids.deploy)
    assert.equal(await timesIn('late'), 1)
    assert.deepEqual(await releasesIn(shop.bases[0]!), [await liveRelease(shop.bases[0]!)])
    assert.equal(await liveFile(shop.bases[0]!, 'name'), 'shop')
    assert.equal(sleeper.child.exitCode, null)
  })

  test('no process is left', () => world.nothingRuns())

  /** Shells that wait at a gate: each has one `sleep` at a time. */
  function attemptsAt(held: string): number {
    return processesAt([held]).filter((line) => / bash /.test(` ${line} `) && !/sleep/.test(line)).length
  }

  async function stored() {
    const { rows } = await sql<{ targets: string; moves: number; events: number; lines: number }>`select
      (select json_agg(json_build_array(status, attempt, release_name, steps) order by id)::text from targets) as targets,
      (select count(*) from target_moves) as moves, (select count(*) from events) as events,
      (select count(*) from step_log_chunks) as lines`.execute(db)
    return rows[0]!
  }
})
