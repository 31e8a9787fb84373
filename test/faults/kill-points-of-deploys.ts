// Points in the steps of a deploy.
import assert from 'node:assert/strict'
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { liveFile, liveRelease, releasesIn } from '#test/support/releases.ts'
import { until } from '#test/support/until.ts'
import {
  type KillStage,
  lockOf,
  MAX_MS,
  type Parked,
  type Points,
  REASSIGNED,
  REPEATABLE,
  waitAt,
} from './kill-stage.ts'

export function pointsOfDeploys(stage: KillStage): Points {
  const { run, completed, endedWith, logOf, makeGate, makeShop, countRuns } = stage
  const { createHolder, openClient, waitsForLock } = stage

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
        assert.match(await logOf(id, 'get-new-release'), REASSIGNED)
        assert.deepEqual([await gate.entered(), await gate.left()], [2, 1])
        assert.notEqual(await liveRelease(shop.base), first)
        assert.deepEqual(await readdir(join(shop.base, 'current')), ['name'])
      },
    }
  }

  return {
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
          assert.match(await logOf(id, 'check-app-environment'), REASSIGNED)
          assert.equal(await liveFile(shop.base, 'name'), 'check')
        },
      }
    },

    'in get-new-release, while it is unpacked': async () => {
      const shop = await makeShop('unpack', {}, { files: manyFiles() })
      await stage.slowGit.hold(shop.commit)
      const id = await run(shop.pipelineId)
      const part = await until('some of it is unpacked', MAX_MS, async () => {
        const found = (await releasesIn(shop.base)).find((name) => name.endsWith('.part'))
        const files = found ? await readdir(join(shop.base, 'releases', found)) : []
        return files.length > 0 && files.length < FILES && found
      })
      return {
        release: () => stage.slowGit.letGo(shop.commit),
        async check() {
          await completed(id)
          const live = await liveRelease(shop.base)
          assert.notEqual(`.${live}.part`, part, 'a release of its own')
          assert.deepEqual(await releasesIn(shop.base), [live], 'nothing half-made is left')
          assert.equal((await readdir(join(shop.base, 'current'))).length, FILES + 1)
          assert.match(await logOf(id, 'get-new-release'), REASSIGNED)
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
          assert.match(await logOf(id, 'wait'), /the step cannot be repeated safely/)
          assert.deepEqual([await gate.entered(), await gate.left(), await mark.times()], [1, 0, 0])
          assert.equal(await liveRelease(shop.base), null)
        },
      }
    },

    'in a step that may be repeated': async () => {
      const gate = makeGate('repeatable')
      const mark = countRuns('before-repeatable')
      const shop = await makeShop('repeatable', {
        'build-application': [mark.step, waitAt(gate, REPEATABLE)],
      })
      const id = await run(shop.pipelineId)
      await gate.reached()
      return {
        release: gate.open,
        async check() {
          await completed(id)
          assert.match(await logOf(id, 'wait'), REASSIGNED)
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
          assert.deepEqual(await releasesIn(shop.base), [await liveRelease(shop.base)], 'not made anew')
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
          first = await until('it has switched', MAX_MS, async () => liveRelease(shop.base))
        },
        release: async () => void (await blocking.query('rollback')),
        async check() {
          await completed(id)
          assert.equal(await liveRelease(shop.base), first, 'found, and not repeated')
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
      // The release that was live before stays: only a third deploy has something to remove.
      await completed(await run(shop.pipelineId))
      const before = await liveRelease(shop.base)
      await gate.shut()
      const id = await run(shop.pipelineId)
      await gate.reached(3)
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
          assert.deepEqual(await releasesIn(shop.base), [before, live])
          assert.deepEqual([await gate.entered(), await mark.times()], [3, 3], 'nothing else was repeated')
        },
      }
    },
  }
}

const FILES = 200
/** More than fits into the pipes on the way. */
function manyFiles(): Record<string, string> {
  return Object.fromEntries(Array.from({ length: FILES }, (_, n) => [`file-${n}`, String(n).repeat(2_000)]))
}

/** The lock of an application that is not there yet. */
async function prepareLock(base: string): Promise<string> {
  await mkdir(join(base, '.gantry'), { recursive: true })
  await writeFile(lockOf(base), '')
  for (const path of [join(base, '..'), base, join(base, '.gantry')]) await chmod(path, 0o777)
  await chmod(lockOf(base), 0o666)
  return lockOf(base)
}
