import assert from 'node:assert/strict'
import { chmod, mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { listReleases, removeReleases, takeLock } from './commands.ts'
import {
  archiveOf,
  attempt,
  demand,
  deploy,
  fetchRelease,
  liveIn,
  makeBase,
  release,
  releasesIn,
  run,
  treeOf,
} from './fixtures.ts'
import { readReleases, readRemoved, releasesToRemove } from './remove-old-releases.ts'

type Others = { before?: number; reverted?: number[] }

const found = (
  days: number[],
  live: number | null,
  failed: number[] = [],
  { before, reverted = [] }: Others = {},
) => ({
  releases: days.map((day) => ({
    name: release(day),
    wasLive: !failed.includes(day) && !reverted.includes(day),
    isReverted: reverted.includes(day),
  })),
  live: live === null ? null : release(live),
  before: before === undefined ? null : release(before),
})

suite('which releases go', () => {
  test('the newest stay, and the oldest goes first', () => {
    assert.deepEqual(releasesToRemove(found([2, 4, 1, 3], 4), 2), [release(1), release(2)])
    assert.deepEqual(releasesToRemove(found([1, 2], 2), 2), [])
    assert.deepEqual(releasesToRemove(found([], null), 2), [])
  })

  test('the live one stays whatever its age, and is one of those that are kept', () => {
    assert.deepEqual(releasesToRemove(found([1, 2, 3, 4], 1), 2), [release(2), release(3)])
    assert.deepEqual(releasesToRemove(found([1, 2, 3], 1), 1), [release(2), release(3)])
    assert.deepEqual(releasesToRemove(found([1, 2], 1), 0), [release(2)])
  })

  test('releases of failed deploys go before one that somebody could go back to', () => {
    assert.deepEqual(releasesToRemove(found([1, 2, 3, 4], 4, [2, 3]), 2), [release(2), release(3)])
    assert.deepEqual(releasesToRemove(found([1, 2, 3, 4], 4, [2, 3]), 3), [release(2)])
  })

  test('what was taken back goes first of all, and what was live before the live one never', () => {
    assert.deepEqual(releasesToRemove(found([1, 2, 3, 4], 4, [2], { reverted: [3] }), 3), [release(3)])
    assert.deepEqual(releasesToRemove(found([1, 2, 3], 3, [], { before: 1 }), 1), [release(2)])
    assert.deepEqual(releasesToRemove(found([1, 2], 2, [], { before: 1 }), 1), [])
    const both = found([1, 2, 3], 3, [], { before: 2, reverted: [1] })
    assert.deepEqual(releasesToRemove(both, 2), [release(1)])
  })

  test('names that are not ours are never touched', () => {
    const others = ['', '.', '..', 'releases', `.${release(1)}.part`].map((name) => ({
      name,
      wasLive: false,
      isReverted: false,
    }))
    assert.deepEqual(releasesToRemove({ releases: others, live: null, before: null }, 1), [])
  })

  test('whatever there is, as many stay as are kept, the live one among them', () => {
    const days = fc.uniqueArray(fc.integer({ min: 1, max: 30 }))
    fc.assert(
      fc.property(days, fc.integer({ min: 1, max: 100 }), fc.nat(), days, (all, keep, pick, failed) => {
        const live = all.length > 0 ? all[pick % all.length]! : null
        const gone = releasesToRemove(found(all, live, failed), keep)
        assert.equal(all.length - gone.length, Math.min(all.length, keep))
        assert.ok(live === null || !gone.includes(release(live)))
      }),
    )
  })
})

suite('on a server', () => {
  test('with two kept, two folders are left after five deploys', async (t) => {
    const base = await makeBase(t)
    const archive = await archiveOf(t, { 'a/file': '1' })
    for (const day of [1, 2, 3, 4, 5]) {
      const who = attempt(`run-${day}`)
      await deploy(base, { who, name: release(day), archive })
      const listed = readReleases(await demand(listReleases(base)))!
      const output = await demand(removeReleases(base, who, releasesToRemove(listed, 2)))
      assert.equal(output, day > 2 ? `Removed: ${release(day - 2)}\n` : '')
    }
    assert.deepEqual(await releasesIn(base), [release(4), release(5)])
    assert.deepEqual((await readdir(join(base, '.gantry/activated'))).sort(), [release(4), release(5)])
    assert.equal(await liveIn(base), `releases/${release(5)}`)
  })

  test('the list holds whole releases only, and says which are, were and never were live', async (t) => {
    const base = await makeBase(t)
    const archive = await archiveOf(t, { file: '1' })
    for (const day of [1, 2]) await deploy(base, { who: attempt('a'), name: release(day), archive })
    await fetchRelease(base, { who: attempt('a'), name: release(3), archive })
    const releases = join(base, 'releases')
    for (const name of [
      'by-hand',
      `.${release(4)}.part`,
      `${release(5)}\ngantry-release ${release(6)} live`,
    ]) {
      await mkdir(join(releases, name))
    }
    await symlink('/etc', join(releases, release(7)))
    await writeFile(join(releases, release(8)), '')
    const listed = { ...found([1, 2, 3], 2, [3]), hasLeftovers: false }
    assert.deepEqual(readReleases(await demand(listReleases(base))), listed)
  })

  test('a list that was cut, or that others wrote into, is not misread', () => {
    assert.equal(readReleases(''), undefined)
    assert.equal(readReleases(`gantry-release ${release(1)} live\n`), undefined)
    const output = `bash: warning\ngantry-release ../x live\ngantry-release ${release(1)} live x\ngantry-releases-end\n`
    assert.deepEqual(readReleases(output), { releases: [], live: null, before: null, hasLeftovers: false })
  })

  test('what is live by then stays, even when its removal was requested', async (t) => {
    const base = await makeBase(t)
    const archive = await archiveOf(t, { file: '1' })
    for (const day of [1, 2]) await deploy(base, { who: attempt('a'), name: release(day), archive })
    const output = await demand(removeReleases(base, attempt('a'), [release(1), release(2)]))
    assert.deepEqual(await releasesIn(base), [release(2)])
    assert.deepEqual(readRemoved(output), [release(1)])
    await demand(takeLock(base, attempt('b')))
    assert.deepEqual(readRemoved(await demand(removeReleases(base, attempt('a'), [release(2)]))), [])
  })

  test('a deploy that was overtaken removes nothing: the next one may go back to an old release', async (t) => {
    const base = await makeBase(t)
    const archive = await archiveOf(t, { file: '1' })
    for (const day of [1, 2]) await deploy(base, { who: attempt('a'), name: release(day), archive })
    await demand(takeLock(base, attempt('b')))
    assert.match(
      await demand(removeReleases(base, attempt('a'), [release(1)])),
      /it will remove old releases/,
    )
    assert.deepEqual(await releasesIn(base), [release(1), release(2)])
  })

  test('a later attempt of the same run may remove, an earlier one may not', async (t) => {
    const base = await makeBase(t)
    const archive = await archiveOf(t, { file: '1' })
    for (const day of [1, 2, 3]) await deploy(base, { who: attempt('a', 2), name: release(day), archive })
    await demand(removeReleases(base, attempt('a', 1), [release(1)]))
    assert.deepEqual(await releasesIn(base), [release(1), release(2), release(3)])
    await demand(removeReleases(base, attempt('a', 3), [release(1)]))
    assert.deepEqual(await releasesIn(base), [release(2), release(3)])
  })

  test('links are not followed: neither one with the name of a release nor those inside of one', async (t) => {
    const base = await makeBase(t)
    const archive = await archiveOf(t, {
      out: { linkTo: '../../precious' },
      'd/out': { linkTo: '../../../precious' },
    })
    await mkdir(join(base, 'precious'))
    await writeFile(join(base, 'precious/file'), 'kept')
    for (const day of [1, 2]) await deploy(base, { who: attempt('a'), name: release(day), archive })
    await symlink('../precious', join(base, 'releases', release(3)))
    await demand(removeReleases(base, attempt('a'), [release(1), release(3)]))
    assert.deepEqual(await releasesIn(base), [release(2), release(3)])
    assert.deepEqual(await treeOf(join(base, 'precious')), { file: 'kept' })
  })

  test('folders without write access, as some package caches are, go too', async (t) => {
    const base = await makeBase(t)
    const archive = await archiveOf(t, { 'cache/module/file': '1' })
    for (const day of [1, 2]) await deploy(base, { who: attempt('a'), name: release(day), archive })
    for (const path of ['cache/module', 'cache']) await chmod(join(base, 'releases', release(1), path), 0o555)
    await demand(removeReleases(base, attempt('a'), [release(1)]))
    assert.deepEqual(await releasesIn(base), [release(2)])
  })

  test('what is left of a removal that was cut short is removed with the next', async (t) => {
    const base = await makeBase(t)
    await mkdir(join(base, 'releases', `.${release(1)}.gone/a/b`), { recursive: true })
    await mkdir(join(base, 'releases', '.mine.gone'))
    await demand(takeLock(base, attempt('a')))
    assert.deepEqual(await releasesIn(base), ['.mine.gone'])
  })

  test('names are checked when the command is built and when it runs', async (t) => {
    const base = await makeBase(t)
    assert.throws(() => removeReleases(base, attempt('a'), ['../shared']), /not a release name/)
    await demand(takeLock(base, attempt('a')))
    const { command, environment } = removeReleases(base, attempt('a'), [])
    const { code } = await run({ command, environment: { ...environment, GANTRY_RELEASES: '../shared' } })
    assert.equal(code, 1)
    assert.deepEqual(await readdir(join(base, 'shared')), [])
  })
})
