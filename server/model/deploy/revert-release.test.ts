import assert from 'node:assert/strict'
import { rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  activateRelease,
  LOCK_LOST,
  listReleases,
  readLiveBefore,
  revertRelease,
  takeLock,
} from './commands.ts'
import {
  archiveOf,
  attempt,
  demand,
  deploy,
  fetchRelease,
  liveIn,
  makeBase,
  release,
  run,
} from './fixtures.ts'
import { canActivateAgain, readReleases } from './remove-old-releases.ts'

const BACK = { release: release(2), before: release(1) }

/** Two releases of two runs; the second one is live. */
async function deployTwice(t: TestContext) {
  const base = await makeBase(t)
  const archive = await archiveOf(t, { file: '1' })
  await deploy(base, { who: attempt('a'), name: release(1), archive })
  const output = await deploy(base, { who: attempt('b'), name: release(2), archive })
  assert.equal(readLiveBefore(output), release(1))
  return { base, archive }
}

test('the earlier release is live again, and the other one is none to roll back to', async (t) => {
  const { base } = await deployTwice(t)
  const output = await demand(revertRelease(base, attempt('b'), BACK))
  assert.equal(output, `Reverted: ${release(2)}\nLive now: ${release(1)}\n`)
  assert.equal(await liveIn(base), `releases/${release(1)}`)
  const found = readReleases(await demand(listReleases(base)))!
  assert.deepEqual(
    found.releases.map(({ wasLive, isReverted }) => [wasLive, isReverted]),
    [
      [true, false],
      [false, true],
    ],
  )
  assert.equal(canActivateAgain(found, release(2)), false)
  assert.match(await demand(revertRelease(base, attempt('b', 2), BACK)), /^An earlier attempt has done this/)
  assert.equal(await liveIn(base), `releases/${release(1)}`)
})

test('an attempt that was killed after the switch is finished by the next one', async (t) => {
  const { base } = await deployTwice(t)
  await rm(join(base, 'current'))
  await symlink(`releases/${release(1)}`, join(base, 'current'))
  await demand(revertRelease(base, attempt('b', 2), BACK))
  const found = readReleases(await demand(listReleases(base)))!
  assert.equal(canActivateAgain(found, release(2)), false)
})

test('a newer release stays, and a newer deploy that has not switched does not matter', async (t) => {
  const { base, archive } = await deployTwice(t)
  await fetchRelease(base, { who: attempt('c'), name: release(3), archive })
  await demand(revertRelease(base, attempt('b'), BACK))
  assert.equal(readLiveBefore(await demand(activateRelease(base, attempt('c'), release(3)))), release(1))

  const other = await deployTwice(t)
  await deploy(other.base, { who: attempt('c'), name: release(3), archive })
  const { code, output } = await run(revertRelease(other.base, attempt('b'), BACK))
  assert.equal(code, 1)
  assert.equal(output, `${release(3)} is live now, and this run was not the last to switch: it stays.\n`)
  assert.equal(await liveIn(other.base), `releases/${release(3)}`)
})

test('a newer rollback to the same release stays, and so does its mark', async (t) => {
  const { base } = await deployTwice(t)
  await demand(takeLock(base, attempt('rollback')))
  await demand(activateRelease(base, attempt('rollback'), release(2)))
  const { code, output } = await run(revertRelease(base, attempt('b'), BACK))
  assert.deepEqual(
    [code, output],
    [1, `${release(2)} is live now, and this run was not the last to switch: it stays.\n`],
  )
  assert.equal(await liveIn(base), `releases/${release(2)}`)

  await demand(takeLock(base, attempt('c')))
  await demand(activateRelease(base, attempt('c'), release(1)))
  await demand(revertRelease(base, attempt('b'), BACK))
  const found = readReleases(await demand(listReleases(base)))!
  assert.equal(canActivateAgain(found, release(2)), true)
})

test('an attempt that repeats what is done does not succeed when another run has switched since', async (t) => {
  const { base, archive } = await deployTwice(t)
  await demand(revertRelease(base, attempt('b'), BACK))
  await deploy(base, { who: attempt('c'), name: release(3), archive })
  const { code, output } = await run(revertRelease(base, attempt('b', 2), BACK))
  assert.deepEqual(
    [code, output],
    [1, `${release(3)} is live now, and this run was not the last to switch: it stays.\n`],
  )
})

test('an earlier release that is gone is named, and what is live exists', async (t) => {
  const { base } = await deployTwice(t)
  await rm(join(base, 'releases', release(1)), { recursive: true })
  const { code, output } = await run(revertRelease(base, attempt('b'), BACK))
  assert.equal(code, 1)
  assert.match(output, /which was live before, is no longer on this server: .+ stays live\.\n$/)
  assert.equal(await liveIn(base), `releases/${release(2)}`)
})

test('nothing new is written to switch back: the link was prepared at activation', async (t) => {
  const { base } = await deployTwice(t)
  const command = revertRelease(base, attempt('b'), BACK)
  // As on a full disk: no file can be created, and none can grow.
  const full = {
    ...command,
    command: `ulimit -f 0; ln() { return 1; }; mkdir() { return 1; }\n${command.command}`,
  }
  await demand(full)
  assert.equal(await liveIn(base), `releases/${release(1)}`)
})

test('a late attempt of the same run changes nothing', async (t) => {
  const { base } = await deployTwice(t)
  await demand(takeLock(base, attempt('b', 3)))
  assert.equal((await run(revertRelease(base, attempt('b', 2), BACK))).code, LOCK_LOST)
  assert.equal(await liveIn(base), `releases/${release(2)}`)
})

test('what was live before is what the run replaced first, whichever attempt it was', async (t) => {
  const { base, archive } = await deployTwice(t)
  const output = await deploy(base, { who: attempt('b', 2), name: release(3), archive })
  assert.equal(readLiveBefore(output), release(1))
  const again = await demand(activateRelease(base, attempt('b', 2), release(3)))
  assert.equal(readLiveBefore(again), release(1))
  assert.equal(readReleases(await demand(listReleases(base)))!.before, release(1))
})

test('a first release, or one that was live already, replaces nothing', async (t) => {
  const base = await makeBase(t)
  const archive = await archiveOf(t, { file: '1' })
  const first = await deploy(base, { who: attempt('a'), name: release(1), archive })
  assert.equal(readLiveBefore(first), null)
  await demand(takeLock(base, attempt('rollback')))
  assert.equal(readLiveBefore(await demand(activateRelease(base, attempt('rollback'), release(1)))), null)
})
