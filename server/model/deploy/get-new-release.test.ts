import assert from 'node:assert/strict'
import { once } from 'node:events'
import { access, lstat, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { until } from '#test/support/until.ts'
import { activateRelease, extractRelease, finishRelease, LOCK_LOST, takeLock } from './commands.ts'
import {
  archiveOf,
  attempt,
  demand,
  fetchRelease,
  kill,
  liveIn,
  makeBase,
  release,
  releasesIn,
  run,
  start,
  treeOf,
} from './fixtures.ts'

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )

test('a release holds what git has: files, executables, links, odd names', async (t) => {
  const base = await makeBase(t)
  const archive = await archiveOf(t, {
    'index.html': 'hello',
    'bin/run': { executable: '#!/bin/sh\n' },
    "a b/it's $x": 'odd',
    inside: { linkTo: 'index.html' },
    outside: { linkTo: '/etc/passwd' },
    above: { linkTo: '../../../x' },
  })
  const { code, output } = await fetchRelease(base, { who: attempt('a'), name: release(1), archive })
  assert.equal(code, 0, output)
  const folder = join(base, 'releases', release(1))
  assert.deepEqual(await treeOf(folder), {
    "a b/it's $x": 'odd',
    above: '-> ../../../x',
    'bin/run': '#!/bin/sh\n',
    'index.html': 'hello',
    inside: '-> index.html',
    outside: '-> /etc/passwd',
  })
  assert.equal((await stat(join(folder, 'bin/run'))).mode & 0o777, 0o777 & ~process.umask())
  assert.equal((await stat(join(folder, 'index.html'))).mode & 0o777, 0o666 & ~process.umask())
  assert.equal((await lstat(join(folder, 'index.html'))).uid, process.getuid!())
  assert.equal(output, `New release: ${release(1)}\n`)
})

test('an unpacked archive is no release before it is finished, and is never live', async (t) => {
  const base = await makeBase(t)
  await demand(takeLock(base, attempt('a')))
  await demand(extractRelease(base, attempt('a'), release(1)), await archiveOf(t, { file: '1' }))
  assert.deepEqual(await releasesIn(base), [`.${release(1)}.part`])
  const { code, output } = await run(activateRelease(base, attempt('a'), release(1)))
  assert.equal(code, 1)
  assert.match(output, /is no longer on this server: deploy again/)
  assert.equal(await liveIn(base), null)
})

test('a name that is taken is rejected, before unpacking and when finishing', async (t) => {
  const base = await makeBase(t)
  const [who, name, archive] = [attempt('a'), release(1), await archiveOf(t, { file: '1' })]
  await demand(takeLock(base, who))
  await demand(extractRelease(base, who, name), archive)
  await mkdir(join(base, 'releases', name))
  for (const command of [finishRelease(base, who, name, []), extractRelease(base, who, name)]) {
    const { code, output } = await run(command, { input: archive })
    assert.equal(code, 1)
    assert.match(output, /already exists on this server/)
  }
  assert.deepEqual(await treeOf(join(base, 'releases', name)), {})
})

test('an archive that tar cannot read leaves nothing behind', async (t) => {
  const base = await makeBase(t)
  const archive = await archiveOf(t, { file: 'x'.repeat(100_000) })
  for (const input of [Buffer.alloc(0), Buffer.from('no tar'), archive.subarray(0, 20_000)]) {
    await demand(takeLock(base, attempt('a')))
    const { code, output } = await run(extractRelease(base, attempt('a'), release(1)), { input })
    assert.equal(code, 1)
    assert.match(output, /could not be unpacked: see the error above/)
    assert.deepEqual(await releasesIn(base), [])
  }
})

test('what follows the end of the archive is read too, so that the sender can finish', async (t) => {
  const base = await makeBase(t)
  const archive = Buffer.concat([await archiveOf(t, { file: '1' }), Buffer.alloc(1_000_000)])
  await demand(takeLock(base, attempt('a')))
  const child = start(extractRelease(base, attempt('a'), release(1)))
  const broken = new Promise<unknown>((resolve) =>
    child.stdin!.once('error', resolve).once('finish', resolve),
  )
  const ended = new Promise((resolve) => child.once('close', resolve))
  child.stdout!.resume()
  child.stderr!.resume()
  child.stdin!.end(archive)
  assert.equal(await broken, undefined)
  assert.equal(await ended, 0)
})

test('what a killed attempt had unpacked is removed by the next one', async (t) => {
  const base = await makeBase(t)
  const archive = await archiveOf(t, { a: '1', b: 'x'.repeat(200_000) })
  await demand(takeLock(base, attempt('a', 1)))
  const child = start(extractRelease(base, attempt('a', 1), release(1)))
  child.stdin!.write(archive.subarray(0, 100_000))
  await until('the release begins', 20_000, () => isThere(join(base, 'releases', `.${release(1)}.part`, 'a')))
  await kill(child)
  // Another one was killed between unpacking and finishing.
  await demand(takeLock(base, attempt('b', 1)))
  await demand(extractRelease(base, attempt('b', 1), release(2)), archive)

  await writeFile(join(base, 'releases', '.mine.part'), '')
  const output = await demand(takeLock(base, attempt('a', 2)))
  assert.match(output, new RegExp(`Removing the leftovers of an earlier attempt: \\.${release(2)}\\.part\n`))
  assert.deepEqual(await releasesIn(base), ['.mine.part'])
})

test('an attempt that is superseded while it unpacks fails with a reason', async (t) => {
  const base = await makeBase(t)
  const archive = await archiveOf(t, { 'a/1': '1', 'b/2': 'x'.repeat(200_000), 'c/3': '3' })
  await demand(takeLock(base, attempt('a')))
  const child = start(extractRelease(base, attempt('a'), release(1)))
  const ended = once(child, 'close')
  child.stdout!.resume()
  child.stderr!.resume()
  child.stdin!.on('error', () => {}).write(archive.subarray(0, 100_000))
  await until('the second file', 20_000, () => isThere(join(base, 'releases', `.${release(1)}.part`, 'b/2')))
  await demand(takeLock(base, attempt('b')))
  child.stdin!.end(archive.subarray(100_000))
  assert.deepEqual(await ended, [LOCK_LOST, null])
  assert.deepEqual(await releasesIn(base), [])
})

test('an attempt that lost the lock can neither unpack nor finish', async (t) => {
  const base = await makeBase(t)
  const archive = await archiveOf(t, { file: '1' })
  await demand(takeLock(base, attempt('a')))
  await demand(extractRelease(base, attempt('a'), release(1)), archive)
  await demand(takeLock(base, attempt('b')))
  for (const command of [
    finishRelease(base, attempt('a'), release(1), []),
    extractRelease(base, attempt('a'), release(2)),
  ]) {
    const { code, output } = await run(command, { input: archive })
    assert.equal(code, LOCK_LOST)
    assert.match(output, /Another deploy of this application has started/)
  }
  assert.deepEqual(await releasesIn(base), [])
})

test('a late attempt cannot take the lock from a later one of its run, also when others came in between', async (t) => {
  const base = await makeBase(t)
  await demand(takeLock(base, attempt('a', 2)))
  await demand(takeLock(base, attempt('b', 1)))
  assert.equal((await run(takeLock(base, attempt('a', 1)))).code, LOCK_LOST)
  assert.equal(await owner(base), 'b 1')
  await demand(takeLock(base, attempt('a', 10)))
  assert.equal((await run(takeLock(base, attempt('a', 9)))).code, LOCK_LOST)
  await demand(takeLock(base, attempt('a', 10)))
  assert.equal(await owner(base), 'a 10')
})

test('the lock remembers some runs, and other content of its file does no harm', async (t) => {
  const base = await makeBase(t)
  const lines = Array.from({ length: 300 }, (_, index) => `run-${index} 1`)
  await writeFile(
    join(base, '.gantry/attempt'),
    ['a[$(false)] 1', 'x $(false)', ...lines, 'x 08', ''].join('\n'),
  )
  await demand(takeLock(base, attempt('x', 8)))
  const stored = (await readFile(join(base, '.gantry/attempt'), 'utf8')).trim().split('\n')
  assert.deepEqual(stored, [...lines.slice(-100), 'x 8'])
})

test('a lock that is held for too long is reported', async (t) => {
  const base = await makeBase(t)
  const holder = start({
    command: 'exec 9>>"$LOCK"; flock 9; echo held; read -r',
    environment: { LOCK: join(base, '.gantry/lock') },
  })
  t.after(() => kill(holder))
  await new Promise((resolve) => holder.stdout!.once('data', resolve))
  const { command, environment } = takeLock(base, attempt('a'))
  const { code, output } = await run({ command, environment: { ...environment, GANTRY_LOCK_SECONDS: '0' } })
  assert.equal(code, 1)
  assert.match(output, /Another deploy has held .+lock for 0 seconds: look for a hanging process/s)
})

test('two attempts that take the lock together leave one owner', async (t) => {
  const base = await makeBase(t)
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  await Promise.all(names.map((name) => demand(takeLock(base, attempt(name)))))
  const stored = (await readFile(join(base, '.gantry/attempt'), 'utf8')).trim().split('\n')
  assert.deepEqual(
    stored.toSorted(),
    names.map((name) => `${name} 1`),
  )
})

test('names that are not of a release or a run never become part of a command', () => {
  for (const name of ['', '..', '../x', `${release(1)}/..`, `${release(1)}\n`]) {
    assert.throws(() => extractRelease('/srv/shop', attempt('a'), name), /not a release name/)
  }
  for (const run of ['', 'a b', 'a\n', '$(x)']) assert.throws(() => takeLock('/srv/shop', attempt(run)))
  for (const number of [-1, 1.5, Number.NaN, 1e9])
    assert.throws(() => takeLock('/srv/shop', attempt('a', number)))
})

async function owner(base: string): Promise<string | undefined> {
  return (await readFile(join(base, '.gantry/attempt'), 'utf8')).trim().split('\n').at(-1)
}
