// kill -9 of the worker while it has runs at many points at once; another worker then takes all of them over.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import type { Gate } from '../gate.ts'
import { later } from '../later.ts'
import { temporaryHome } from '../process.ts'
import { processesAt } from '../processes-at.ts'
import { liveFile, liveRelease, releasesIn } from '../releases.ts'
import { makeRepository } from '../repository.ts'
import { deployWith, type StepWish } from '../run-inventory.ts'
import { openRunWorld } from '../run-world.ts'
import { startSshd } from '../sshd.ts'
import { until } from '../until.ts'

const all = { after }
const world = await openRunWorld(all, {
  roles: ['api'],
  environment: { GANTRY_HEARTBEAT_SECONDS: '10', GANTRY_POLL_MS: '1000' },
})
const sshd = await startSshd(all)
const { db, run, show, completed, endedWith, logOf, makeCustom, makeGate, notes } = world
const slowGit = await installSlowGit(await temporaryHome(all))
let worker = await world.start('worker', { PATH: slowGit.path })

const MOST_MS = 60_000
const TAKEN_OVER = /Another one begins again here\.\n/

/** A run on its way to its point. */
type Parked = {
  /** When all the others are parked: to where it does not stay for long. */
  approach?(): Promise<void>
  /** At the very last moment before the kill. */
  last?(): Promise<void>
  /** When the worker is dead: nothing holds the run up any more. */
  release?(): Promise<void>
  /** What must have come of it. */
  check(): Promise<void>
}

const POINTS: Record<string, () => Promise<Parked>> = {
  'before the job of the run is taken': async () => {
    const mark = countRuns('untaken')
    const { pipelineId } = await makeCustom([mark.step])
    let id = 0
    return {
      async last() {
        worker.child.kill('SIGSTOP')
        id = await run(pipelineId)
      },
      async check() {
        await completed(id)
        assert.equal(await mark.times(), 1)
      },
    }
  },

  'while it waits for a place': async () => {
    const gate = makeGate('place')
    const mark = countRuns('place')
    const { pipelineId } = await makeCustom([waitAt(gate, REPEATABLE), mark.step])
    const [first, second] = [await run(pipelineId), await run(pipelineId)]
    await gate.reached()
    await until('the second waits', MOST_MS, async () => (await show(second)).status === 'waiting')
    return {
      release: gate.open,
      async check() {
        await completed(first)
        await completed(second)
        assert.deepEqual([await gate.entered(), await mark.times()], [3, 2])
      },
    }
  },

  'in check-app-environment': async () => {
    const shop = await makeShop('check')
    const lock = createHolder(await prepareLock(shop.base))
    let id = 0
    return {
      async approach() {
        await lock.hold()
        id = await run(shop.pipelineId)
        await waitsForLock(id, 'check-app-environment', lockOf(shop.base))
      },
      release: lock.release,
      async check() {
        await completed(id)
        assert.match(await logOf(id, 'check-app-environment'), TAKEN_OVER)
        assert.equal(await liveFile(shop.base, 'name'), 'check')
      },
    }
  },

  'in get-new-release, while it is unpacked': async () => {
    const shop = await makeShop('unpack', {}, { files: manyFiles() })
    await slowGit.hold(shop.commit)
    const id = await run(shop.pipelineId)
    const part = await until('some of it is unpacked', MOST_MS, async () => {
      const found = (await releasesIn(shop.base)).find((name) => name.endsWith('.part'))
      const files = found ? await readdir(join(shop.base, 'releases', found)) : []
      return files.length > 0 && files.length < FILES && found
    })
    return {
      release: () => slowGit.letGo(shop.commit),
      async check() {
        await completed(id)
        const live = await liveRelease(shop.base)
        assert.notEqual(`.${live}.part`, part, 'a release of its own')
        assert.deepEqual(await releasesIn(shop.base), [live], 'nothing half-made is left')
        assert.equal((await readdir(join(shop.base, 'current'))).length, FILES + 1)
        assert.match(await logOf(id, 'get-new-release'), TAKEN_OVER)
      },
    }
  },

  'in install-dependencies': () => parkInCommand('install_dependencies_command'),
  'in build-application': () => parkInCommand('build_command'),

  'in build-application, behind a step that may not be repeated': async () => {
    const gate = makeGate('behind')
    const mark = countRuns('behind')
    const shop = await makeShop(
      'behind',
      { 'get-new-release': mark.step },
      { application: { build_command: gate.command } },
    )
    const id = await run(shop.pipelineId)
    await gate.reached()
    return {
      release: gate.open,
      async check() {
        await endedWith('FAILED_WORKER_LOST', id)
        assert.deepEqual([await gate.entered(), await mark.times()], [1, 1])
        assert.equal(await liveRelease(shop.base), null)
      },
    }
  },

  'in a step that may not be repeated': async () => {
    const gate = makeGate('unrepeatable')
    const mark = countRuns('after-unrepeatable')
    const shop = await makeShop('unrepeatable', { 'build-application': [waitAt(gate), mark.step] })
    const id = await run(shop.pipelineId)
    await gate.reached()
    return {
      release: gate.open,
      async check() {
        const action = await endedWith('FAILED_WORKER_LOST', id)
        assert.equal(action.targets[0].current_step.name, 'wait')
        assert.match(await logOf(id, 'wait'), /the step may not be repeated/)
        assert.deepEqual([await gate.entered(), await gate.left(), await mark.times()], [1, 0, 0])
        assert.equal(await liveRelease(shop.base), null)
      },
    }
  },

  'in a step that may be repeated': async () => {
    const gate = makeGate('repeatable')
    const mark = countRuns('before-repeatable')
    const shop = await makeShop('repeatable', { 'build-application': [mark.step, waitAt(gate, REPEATABLE)] })
    const id = await run(shop.pipelineId)
    await gate.reached()
    return {
      release: gate.open,
      async check() {
        await completed(id)
        assert.match(await logOf(id, 'wait'), TAKEN_OVER)
        assert.deepEqual([await gate.entered(), await gate.left(), await mark.times()], [2, 1, 1])
        assert.deepEqual(await releasesIn(shop.base), [await liveRelease(shop.base)], 'in the same release')
      },
    }
  },

  'in activate-new-release, before it switches': async () => {
    const gate = makeGate('before-switch')
    const shop = await makeShop('before-switch', { 'build-application': waitAt(gate, REPEATABLE) })
    const id = await run(shop.pipelineId)
    await gate.reached()
    const lock = createHolder(lockOf(shop.base))
    return {
      async approach() {
        await lock.hold()
        await gate.open()
        await waitsForLock(id, 'activate-new-release', lockOf(shop.base))
      },
      release: lock.release,
      async check() {
        await completed(id)
        assert.equal(await liveRelease(shop.base), (await releasesIn(shop.base)).at(-1))
        assert.equal((await releasesIn(shop.base)).length, 2, 'made anew')
      },
    }
  },

  'in activate-new-release, after it has switched': async () => {
    const gate = makeGate('after-switch')
    const shop = await makeShop('after-switch', { 'build-application': waitAt(gate, REPEATABLE) })
    const id = await run(shop.pipelineId)
    await gate.reached()
    const lock = createHolder(lockOf(shop.base))
    const blocking = await openClient()
    let first: string | null = null
    return {
      async approach() {
        await lock.hold()
        await gate.open()
        await waitsForLock(id, 'activate-new-release', lockOf(shop.base))
        // From here on the worker can switch, and cannot write that it did.
        await blocking.query('begin')
        await blocking.query('select from targets where action_id = $1 for update', [id])
        await lock.release()
        first = await until('it has switched', MOST_MS, async () => liveRelease(shop.base))
      },
      release: async () => void (await blocking.query('rollback')),
      async check() {
        await completed(id)
        assert.notEqual(await liveRelease(shop.base), first)
        assert.equal(await liveFile(shop.base, 'name'), 'after-switch')
      },
    }
  },

  'in remove-old-releases': async () => {
    const gate = makeGate('remove')
    const mark = countRuns('remove')
    const behind = { 'build-application': mark.step, 'activate-new-release': waitAt(gate, REPEATABLE) }
    const shop = await makeShop('remove', behind, { application: { deployments_keep: 1 } })
    const first = await run(shop.pipelineId)
    await gate.reached()
    await gate.open()
    await completed(first)
    await gate.shut()
    const id = await run(shop.pipelineId)
    await gate.reached(2)
    const live = await liveRelease(shop.base)
    const lock = createHolder(lockOf(shop.base))
    return {
      async approach() {
        await lock.hold()
        await gate.open()
        await waitsForLock(id, 'remove-old-releases', lockOf(shop.base))
      },
      release: lock.release,
      async check() {
        await completed(id)
        assert.equal(await liveRelease(shop.base), live, 'the switch was not repeated')
        assert.deepEqual(await releasesIn(shop.base), [live])
        assert.deepEqual([await gate.entered(), await mark.times()], [2, 2], 'nothing else was repeated')
      },
    }
  },

  'between two batches': async () => {
    const gate = makeGate('batches')
    const mark = countRuns('batches')
    const shop = await makeShop(
      'batches',
      { 'build-application': mark.step },
      {
        servers: 2,
        pipeline: { rollout: JSON.stringify({ batch: 1, max_failed: 0 }) },
      },
    )
    const other = await world.makePipeline(shop.environmentId, [waitAt(gate, REPEATABLE)], {
      resource_type: 'server',
      server_id: shop.serverIds[1]!,
      operation: 'custom',
    })
    const occupant = await run(other)
    await gate.reached()
    const id = await run(shop.pipelineId)
    await until('the first batch is over and the second waits', MOST_MS, async () => {
      const { targets } = await show(id)
      return targets[0].status === 'completed' && targets[1].status === 'waiting'
    })
    return {
      release: gate.open,
      async check() {
        await completed(occupant)
        await completed(id)
        assert.equal(await mark.times(), 2, 'once on each server')
        for (const base of shop.bases) assert.equal(await liveFile(base, 'name'), 'batches')
      },
    }
  },

  'while it cancels': async () => {
    const gate = makeGate('cancel')
    const asked = countRuns('asked-to-end')
    const { pipelineId } = await makeCustom([
      { name: 'wait', command: `trap "${asked.step.command}" TERM; ${gate.command}`, idempotent: true },
    ])
    const id = await run(pipelineId)
    await gate.reached()
    return {
      async last() {
        await world.cancel(id)
        await until('the step was asked to end', MOST_MS, async () => (await asked.times()) > 0)
      },
      async check() {
        await endedWith('FAILED_CANCELLED', id)
        assert.deepEqual([await gate.entered(), await gate.left()], [1, 0])
      },
    }
  },

  'over SSH, in a step that may be repeated': async () => {
    const gate = makeGate('ssh-repeatable')
    const server = await world.newSshServer(sshd, 0)
    const { pipelineId } = await makeCustom([waitAt(gate, REPEATABLE)], { server })
    const id = await run(pipelineId)
    await gate.reached()
    return {
      release: gate.open,
      async check() {
        await completed(id)
        assert.match(await logOf(id, 'wait'), TAKEN_OVER)
        assert.deepEqual([await gate.entered(), await gate.left()], [2, 1])
      },
    }
  },

  'over SSH, in a step that may not be repeated': async () => {
    const gate = makeGate('ssh-unrepeatable')
    const server = await world.newSshServer(sshd, 1)
    const { pipelineId } = await makeCustom([waitAt(gate)], { server })
    const id = await run(pipelineId)
    await gate.reached()
    return {
      release: gate.open,
      async check() {
        await endedWith('FAILED_WORKER_LOST', id)
        assert.deepEqual([await gate.entered(), await gate.left()], [1, 0])
      },
    }
  },
}

suite('the worker is killed with -9', () => {
  const parked = new Map<string, Parked>()
  let killedAt = 0

  before(async () => {
    const parking = Object.entries(POINTS).map(async ([name, park]) => parked.set(name, await park()))
    // One that fails must not leave the others alone.
    await Promise.allSettled(parking)
    await Promise.all(parking)
    const approaching = [...parked.values()].map((one) => one.approach?.())
    await Promise.allSettled(approaching)
    await Promise.all(approaching)
    // The one that stops the worker comes after the one that needs it.
    for (const name of Object.keys(POINTS).reverse()) await parked.get(name)!.last?.()
    await worker.kill()
    killedAt = performance.now()
  })

  test('and with it ends everything that its steps had started, here and on other machines', async (t) => {
    await world.nothingRuns(ours)
    t.diagnostic(`after ${Math.round(performance.now() - killedAt)} ms`)
    for (const one of parked.values()) await one.release?.()
    worker = await world.start('worker', { PATH: slowGit.path })
  })

  for (const name of Object.keys(POINTS)) test(name, () => parked.get(name)!.check())

  test('every run has ended within a minute', async (t) => {
    const seconds = (performance.now() - killedAt) / 1_000
    t.diagnostic(`after ${seconds.toFixed(1)} s`)
    assert.ok(seconds < 60)
  })

  test('no place stays taken, and nothing is left to do', async () => {
    const { rows } = await sql<Record<string, number>>`select
      (select count(*) from actions where has_place) as places,
      (select count(*) from actions where status not in ('completed', 'failed', 'skipped')) as actions,
      (select count(*) from targets where status not in ('completed', 'failed', 'skipped')) as targets,
      (select count(*) from targets, jsonb_array_elements(steps) as step
        where step ->> 'status' not in ('completed', 'failed', 'skipped')) as steps`.execute(db)
    assert.deepEqual(rows[0], { places: 0, actions: 0, targets: 0, steps: 0 })
    await until('the queue is empty', MOST_MS, async () => {
      const { rows } = await sql`select from queue.job where name in ('actions.run', 'targets.run')`.execute(
        db,
      )
      return rows.length === 0
    })
  })

  test('and nothing still runs', () => world.nothingRuns())
})

const REPEATABLE = { idempotent: true }

function waitAt(gate: Gate, more: object = {}) {
  return { name: 'wait', command: gate.command, ...more }
}

/** A step that may not be repeated, and how often it ran all the same. */
function countRuns(name: string) {
  const path = join(notes, `${name}.ran`)
  return {
    step: { name: 'once', command: `echo ran >> '${path}'` },
    times: async () => (await readFile(path, 'utf8').catch(() => '')).split('\n').length - 1,
  }
}

/** An application of its own; its file `name` holds its name. */
async function makeShop(
  name: string,
  behind: Record<string, StepWish | StepWish[]> = {},
  {
    files = {},
    ...wish
  }: Partial<Parameters<typeof world.makeDeployable>[0]> & { files?: Record<string, string> } = {},
) {
  const repository = await makeRepository(all, { files: { name, ...files } })
  const shop = await world.makeDeployable({
    repository: repository.address,
    steps: deployWith(behind),
    ...wish,
  })
  return { ...shop, base: shop.bases[0]!, commit: await repository.git(['rev-parse', 'main']) }
}

/** The application's own command waits. Nothing of it may be in a release that goes live. */
async function parkInCommand(command: 'install_dependencies_command' | 'build_command'): Promise<Parked> {
  const gate = makeGate(command)
  const shop = await makeShop(
    command,
    {},
    { application: { [command]: `echo > half; ${gate.command}; rm half` } },
  )
  const id = await run(shop.pipelineId)
  await gate.reached()
  const [first] = await releasesIn(shop.base)
  return {
    release: gate.open,
    async check() {
      await completed(id)
      assert.match(await logOf(id, 'get-new-release'), TAKEN_OVER)
      assert.deepEqual([await gate.entered(), await gate.left()], [2, 1])
      assert.notEqual(await liveRelease(shop.base), first)
      assert.deepEqual(await readdir(join(shop.base, 'current')), ['name'])
    },
  }
}

const FILES = 200
/** More than fits into the pipes on the way. */
function manyFiles(): Record<string, string> {
  return Object.fromEntries(Array.from({ length: FILES }, (_, n) => [`file-${n}`, String(n).repeat(2_000)]))
}

const lockOf = (base: string) => join(base, '.gantry/lock')

/** The lock of an application that is not there yet. */
async function prepareLock(base: string): Promise<string> {
  await mkdir(join(base, '.gantry'), { recursive: true })
  await writeFile(lockOf(base), '')
  for (const path of [join(base, '..'), base, join(base, '.gantry')]) await chmod(path, 0o777)
  await chmod(lockOf(base), 0o666)
  return lockOf(base)
}

/** Processes of this test. */
const ours = new Set<number>()
const isNotOurs = (line: string) => !ours.has(Number.parseInt(line, 10))

/** Takes a lock as another deploy would. */
function createHolder(lock: string) {
  let free = async () => {}
  return {
    async hold() {
      const args = ['--no-fork', lock, 'sh', '-c', 'echo; exec cat']
      const holder = spawn('flock', args, { stdio: ['pipe', 'pipe', 'inherit'] })
      const gone = once(holder, 'close')
      ours.add(holder.pid!)
      later(all, () => holder.kill('SIGKILL'))
      free = async () => {
        holder.stdin.end()
        await gone
        ours.delete(holder.pid!)
      }
      await once(holder.stdout, 'data')
    },
    release: () => free(),
  }
}

/** Without the limits that Gantry's own connections have. */
async function openClient(): Promise<pg.Client> {
  const client = new pg.Client(world.settings)
  await client.connect()
  later(all, () => client.end())
  return client
}

async function waitsForLock(actionId: number, stepName: string, lock: string): Promise<void> {
  await until(`${stepName} waits for the lock`, MOST_MS, async () => {
    const { current_step } = (await show(actionId)).targets[0]
    return current_step?.name === stepName && processesAt([lock]).filter(isNotOurs).length > 0
  })
}

/** A git whose archive of certain commits stops after its first part, for as long as its parent lives. */
async function installSlowGit(folder: string) {
  const held = (commit: string) => join(folder, `${commit}.held`)
  const script = `#!/bin/bash
PATH=\${PATH#*:}
hold=${folder}/\${!#}.held
if [[ $1 != archive || ! -e $hold ]]; then exec git "$@"; fi
git "$@" | { head -c 100000; while [[ -e $hold ]] && kill -0 $PPID 2>/dev/null; do sleep 0.05; done; cat; }
`
  await writeFile(join(folder, 'git'), script, { mode: 0o755 })
  return {
    path: `${folder}:${process.env.PATH}`,
    hold: (commit: string) => writeFile(held(commit), ''),
    letGo: (commit: string) => rm(held(commit)),
  }
}
