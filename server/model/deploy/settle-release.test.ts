import assert from 'node:assert/strict'
import { chmod, mkdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { until } from '#test/support/until.ts'
import { activateRelease, LOCK_LOST, readLive, revertRelease, settleRelease, takeLock } from './commands.ts'
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
  start,
} from './fixtures.ts'
import { parseLive } from './live-reading.ts'

const UNPRIVILEGED_UID = 65_534

/** The run `a` has deployed, and `b` has fetched what it is about to activate. */
async function aboutToSwitch(t: TestContext) {
  const base = await makeBase(t)
  const archive = await archiveOf(t, { file: '1' })
  await deploy(base, { who: attempt('a'), name: release(1), archive })
  await fetchRelease(base, { who: attempt('b'), name: release(2), archive })
  return { base, archive }
}

const settle = async (base: string, who = attempt('b', 2)) =>
  parseLive(await demand(settleRelease(base, who)))
const attemptsIn = (base: string) => readFile(join(base, '.gantry', 'attempt'), 'utf8')

async function pointTo(base: string, target: string): Promise<void> {
  await rm(join(base, 'current'), { recursive: true, force: true })
  await symlink(target, join(base, 'current'))
}

test('a switch that has happened is found, with the run that made it and what was live before', async (t) => {
  const { base } = await aboutToSwitch(t)
  await demand(activateRelease(base, attempt('b'), release(2)))
  assert.deepEqual(await settle(base), {
    kind: 'release',
    name: release(2),
    mark: { kind: 'run', run: 'b', before: release(1) },
  })
})

test('one that has not happened cannot happen afterward, and can be repeated', async (t) => {
  const { base } = await aboutToSwitch(t)
  assert.deepEqual(await settle(base), {
    kind: 'release',
    name: release(1),
    mark: { kind: 'run', run: 'a', before: null },
  })
  assert.equal((await run(activateRelease(base, attempt('b'), release(2)))).code, LOCK_LOST)
  assert.equal(await liveIn(base), `releases/${release(1)}`)
  await demand(activateRelease(base, attempt('b', 2), release(2)))
  assert.equal(await liveIn(base), `releases/${release(2)}`)
})

test('a command that waits for the lock while settling waits, too, does not switch behind it', async (t) => {
  const { base } = await aboutToSwitch(t)
  const holder = start({
    command: 'exec 9>>"$LOCK"; flock 9; echo held; read -r _',
    environment: { LOCK: join(base, '.gantry', 'lock') },
  })
  await new Promise((resolve) => holder.stdout!.once('data', resolve))
  const settling = settle(base)
  const waiters = () => countWaiters(join(base, '.gantry', 'lock'))
  await until('one waits', 20_000, async () => (await waiters()) === 1)
  const late = run(activateRelease(base, attempt('b'), release(2)))
  await until('two wait', 20_000, async () => (await waiters()) === 2)
  holder.stdin!.end('\n')
  const [found, { code }] = await Promise.all([settling, late])
  const isSwitched = found?.kind === 'release' && found.name === release(2)
  // Whichever got the lock first: what was read is what stays.
  assert.equal(code, isSwitched ? 0 : LOCK_LOST)
  assert.equal(await liveIn(base), `releases/${isSwitched ? release(2) : release(1)}`)
})

/** How many processes wait for a lock on this file. */
async function countWaiters(path: string): Promise<number> {
  const { ino } = await stat(path)
  const locks = await readFile('/proc/locks', 'utf8')
  return locks.split('\n').filter((line) => line.includes('->') && line.includes(`:${ino} `)).length
}

test('it takes the lock from no other run, and leaves what that unpacks', async (t) => {
  const { base } = await aboutToSwitch(t)
  await demand(takeLock(base, attempt('c')))
  await mkdir(join(base, 'releases', `.${release(3)}.part`))
  await settle(base)
  assert.equal(await attemptsIn(base), 'a 1\nb 2\nc 1\n')
  assert.ok((await releasesIn(base)).includes(`.${release(3)}.part`))
  assert.equal((await run(activateRelease(base, attempt('b', 2), release(2)))).code, LOCK_LOST)
})

test('a late revert does not switch either, whether or not its run is listed', async (t) => {
  for (const isListed of [true, false]) {
    const { base } = await aboutToSwitch(t)
    await demand(activateRelease(base, attempt('b'), release(2)))
    await demand(takeLock(base, attempt('c')))
    if (!isListed) await writeFile(join(base, '.gantry', 'attempt'), 'c 1\n')
    await settle(base)
    const late = await run(revertRelease(base, attempt('b'), { release: release(2), before: release(1) }))
    assert.equal(late.code, LOCK_LOST)
    assert.equal(await liveIn(base), `releases/${release(2)}`)
    await demand(revertRelease(base, attempt('b', 2), { release: release(2), before: release(1) }))
    assert.match(await attemptsIn(base), /c 1\n$/)
  }
})

test('an older attempt that settles late finds that a later one was here', async (t) => {
  const { base } = await aboutToSwitch(t)
  await settle(base, attempt('b', 4))
  assert.equal((await run(settleRelease(base, attempt('b', 3)))).code, LOCK_LOST)
})

test('on a server without the folder of the application, nothing is live', async (t) => {
  const base = await makeBase(t)
  await rm(base, { recursive: true })
  assert.deepEqual(await settle(base), { kind: 'nothing' })
})

test('what is no release of Gantry is named', async (t) => {
  const { base } = await aboutToSwitch(t)
  const cases: [target: string | null, expected: object][] = [
    [`releases/${release(9)}`, { kind: 'broken', why: 'dangling' }],
    ['/tmp', { kind: 'broken', why: 'outside' }],
    ['releases', { kind: 'broken', why: 'outside' }],
    [`/var/../tmp`, { kind: 'broken', why: 'outside' }],
    [`releases/${release(2)}`, { kind: 'release', name: release(2), mark: { kind: 'missing' } }],
    [
      join(base, 'releases', release(1)),
      { kind: 'release', name: release(1), mark: { kind: 'run', run: 'a', before: null } },
    ],
    [null, { kind: 'nothing' }],
  ]
  for (const [target, expected] of cases) {
    await rm(join(base, 'current'), { force: true })
    if (target !== null) await pointTo(base, target)
    assert.deepEqual(parseLive(await demand(readLive(base))), expected, String(target))
  }
  await mkdir(join(base, 'current'))
  assert.deepEqual(await settle(base), { kind: 'broken', why: 'not-a-link' })
})

test('a release whose folder is a link to elsewhere is none', async (t) => {
  const { base } = await aboutToSwitch(t)
  await symlink('/tmp', join(base, 'releases', release(8)))
  await pointTo(base, `releases/${release(8)}`)
  assert.deepEqual(await settle(base), { kind: 'broken', why: 'outside' })
})

test('a mark that was cut off, emptied or is foreign text is not taken for one', async (t) => {
  const { base } = await aboutToSwitch(t)
  const mark = join(base, '.gantry', 'activated', release(1))
  await demand(activateRelease(base, attempt('b'), release(2)))
  const whole = join(base, '.gantry', 'activated', release(2))
  const text = await readFile(whole, 'utf8')
  assert.equal(text, `b ${release(1)}\n`)
  for (let length = text.length - 2; length > 0; length--) {
    await truncate(whole, length)
    const found = await settle(base, attempt('b', 1_000 - length))
    assert.deepEqual(found, { kind: 'release', name: release(2), mark: { kind: 'malformed' } }, `${length}`)
  }
  await truncate(whole, 0)
  const found = await settle(base, attempt('b', 2_000))
  assert.deepEqual(found, { kind: 'release', name: release(2), mark: { kind: 'empty' } })
  await writeFile(mark, 'x y z\n\0')
  await pointTo(base, `releases/${release(1)}`)
  const foreign = await settle(base, attempt('b', 3_000))
  assert.deepEqual(foreign, { kind: 'release', name: release(1), mark: { kind: 'malformed' } })
})

test('on a full disk, the run that has the lock keeps it, and another one does not get it', async (t) => {
  const { base } = await aboutToSwitch(t)
  const full = (who = attempt('b', 2)) => {
    const { command, environment } = settleRelease(base, who)
    // No other file can be created, as with a full disk; a line still fits into one that exists.
    return { command: `mv() { return 1; }\n${command}`, environment }
  }
  assert.equal(parseLive(await demand(full()))?.kind, 'release')
  assert.equal((await run(activateRelease(base, attempt('b'), release(2)))).code, LOCK_LOST)
  await demand(activateRelease(base, attempt('b', 2), release(2)))
  await demand(takeLock(base, attempt('c')))
  assert.equal((await run(full(attempt('b', 3)))).code, 1)
  assert.match(await attemptsIn(base), /c 1\n$/)
})

test('a folder that the account cannot enter says nothing, and not that nothing is live', async (t) => {
  const { base } = await aboutToSwitch(t)
  const uid = process.getuid!() === 0 ? UNPRIVILEGED_UID : undefined
  for (const closed of [base, join(base, '..')]) {
    await chmod(closed, 0o600)
    for (const command of [readLive(base), settleRelease(base, attempt('b', 2))]) {
      const { code, output } = await run(command, { uid })
      assert.equal(parseLive(output), undefined)
      assert.deepEqual([code, /cannot open/.test(output)], [1, true], output)
    }
    await chmod(closed, 0o755)
  }
})

test('where the application was never deployed, nothing is live', async (t) => {
  const base = join(await makeBase(t), 'never', 'deployed')
  assert.deepEqual(parseLive(await demand(readLive(base))), { kind: 'nothing' })
})
