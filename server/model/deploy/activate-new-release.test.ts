import assert from 'node:assert/strict'
import { mkdir, readFile, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { activateRelease, LOCK_LOST, listReleases, takeLock } from './commands.ts'
import {
  archiveOf,
  attempt,
  demand,
  deploy,
  fetchRelease,
  kill,
  liveIn,
  makeBase,
  release,
  run,
  start,
} from './fixtures.ts'
import { canActivateAgain, readReleases } from './remove-old-releases.ts'

test('activating reports what was live before and what is now', async (t) => {
  const base = await makeBase(t)
  const archive = await archiveOf(t, { file: '1' })
  const first = await deploy(base, { who: attempt('a'), name: release(1), archive })
  assert.match(first, new RegExp(`Live before: none\nLive now: ${release(1)}\n$`))
  const second = await deploy(base, { who: attempt('b'), name: release(2), archive })
  assert.match(second, new RegExp(`Live before: ${release(1)}\nLive now: ${release(2)}\n$`))
  assert.equal(await liveIn(base), `releases/${release(2)}`)
  assert.equal(await readFile(join(base, 'current/file'), 'utf8'), '1')
})

test('an attempt that was overtaken cannot switch, and what is live stays', async (t) => {
  const base = await makeBase(t)
  const archive = await archiveOf(t, { file: '1' })
  await deploy(base, { who: attempt('before'), name: release(1), archive })
  await fetchRelease(base, { who: attempt('a', 1), name: release(2), archive })
  await fetchRelease(base, { who: attempt('a', 2), name: release(3), archive })
  const { code, output } = await run(activateRelease(base, attempt('a', 1), release(2)))
  assert.equal(code, LOCK_LOST)
  assert.match(
    output,
    /^Another deploy of this application has started on this server: this one stops here\.\n$/,
  )
  assert.equal(await liveIn(base), `releases/${release(1)}`)
  await demand(activateRelease(base, attempt('a', 2), release(3)))
  assert.equal(await liveIn(base), `releases/${release(3)}`)
})

test('a folder at the location of the link is rejected and left alone', async (t) => {
  const base = await makeBase(t)
  await fetchRelease(base, {
    who: attempt('a'),
    name: release(1),
    archive: await archiveOf(t, { file: '1' }),
  })
  await mkdir(join(base, 'current/mine'), { recursive: true })
  const { code, output } = await run(activateRelease(base, attempt('a'), release(1)))
  assert.equal(code, 1)
  assert.match(
    output,
    /current must be a link to the live release, but something else has that name: move it/,
  )
  await rm(join(base, 'current'), { recursive: true })
  await symlink('/nowhere', join(base, 'current'))
  await demand(activateRelease(base, attempt('a'), release(1)))
  assert.equal(await liveIn(base), `releases/${release(1)}`)
})

test('an earlier release can be activated again while it is there, and only then', async (t) => {
  const base = await makeBase(t)
  const archive = await archiveOf(t, { file: '1' })
  await deploy(base, { who: attempt('a'), name: release(1), archive })
  await fetchRelease(base, { who: attempt('failed'), name: release(2), archive })
  await deploy(base, { who: attempt('b'), name: release(3), archive })

  await demand(takeLock(base, attempt('rollback')))
  const found = readReleases(await demand(listReleases(base)))!
  assert.equal(found.live, release(3))
  assert.deepEqual(
    [1, 2, 3, 4].map((day) => canActivateAgain(found, release(day))),
    [true, false, true, false],
  )
  await demand(activateRelease(base, attempt('rollback'), release(1)))
  await demand(activateRelease(base, attempt('rollback'), release(1)))
  assert.equal(await liveIn(base), `releases/${release(1)}`)
})

test('a reader finds a whole release at every moment of thirty switches', async (t) => {
  const base = await makeBase(t)
  const archive = await archiveOf(t, { file: 'whole' })
  const who = attempt('a')
  for (const day of [1, 2]) await deploy(base, { who, name: release(day), archive })
  const reader = start({
    command: 'echo reading; while [[ $(<"$FILE") == whole ]]; do echo -n .; done; echo torn',
    environment: { FILE: join(base, 'current/file') },
  })
  t.after(() => kill(reader))
  let read = ''
  const reading = Promise.withResolvers<void>()
  reader.stdout!.on('data', (chunk: Buffer) => {
    read += chunk
    reading.resolve()
  })
  await reading.promise
  for (let turn = 0; turn < 30; turn++) await demand(activateRelease(base, who, release(1 + (turn % 2))))
  await kill(reader)
  assert.ok(read.length > 30, read)
  assert.doesNotMatch(read, /torn/)
})
