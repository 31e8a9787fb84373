import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { FileContent } from '#test/support/repository.ts'
import { extractRelease, finishRelease, takeLock } from './commands.ts'
import {
  archiveOf,
  attempt,
  demand,
  type Ended,
  fetchRelease,
  makeBase,
  release,
  releasesIn,
  run,
  treeOf,
} from './fixtures.ts'

type Setup = {
  files?: Record<string, FileContent>
  /** In the shared folder before the deploy. */
  shared?: Record<string, string | { linkTo: string }>
  paths: string[]
}

type Linked = Ended & {
  base: string
  inRelease(): Promise<Record<string, string>>
  inShared(): Promise<Record<string, string>>
}

async function link(t: TestContext, { files = {}, shared = {}, paths }: Setup): Promise<Linked> {
  const base = await makeBase(t)
  for (const [path, file] of Object.entries(shared)) {
    await mkdir(dirname(join(base, 'shared', path)), { recursive: true })
    if (typeof file === 'string') await writeFile(join(base, 'shared', path), file)
    else await symlink(file.linkTo, join(base, 'shared', path))
  }
  const archive = await archiveOf(t, { 'index.html': 'hello', ...files })
  const ended = await fetchRelease(base, { who: attempt('a'), name: release(1), archive, sharedPaths: paths })
  return {
    ...ended,
    base,
    inRelease: () => treeOf(join(base, 'releases', release(1))),
    inShared: () => treeOf(join(base, 'shared')),
  }
}

test('what the release brings is copied to the shared folder first, and then linked', async (t) => {
  const linked = await link(t, {
    files: { 'storage/a/b': 'brought', '.env': 'A=1', 'storage/link': { linkTo: '/etc/passwd' } },
    paths: ['storage', '.env'],
  })
  assert.equal(linked.code, 0, linked.output)
  assert.deepEqual(await linked.inRelease(), {
    '.env': '-> ../../shared/.env',
    'index.html': 'hello',
    storage: '-> ../../shared/storage',
  })
  assert.deepEqual(await linked.inShared(), {
    '.env': 'A=1',
    'storage/a/b': 'brought',
    'storage/link': '-> /etc/passwd',
  })
})

test('what is shared already wins over what the release brings', async (t) => {
  const linked = await link(t, {
    files: { 'storage/a': 'brought', '.env': 'brought' },
    shared: { 'storage/b': 'kept', '.env': 'kept' },
    paths: ['storage/', '.env'],
  })
  assert.equal(linked.code, 0, linked.output)
  assert.deepEqual(await linked.inShared(), { '.env': 'kept', 'storage/b': 'kept' })
  assert.equal(await readFile(join(linked.base, 'releases', release(1), '.env'), 'utf8'), 'kept')
})

test('a missing folder is created, and a missing file is created by writing through its link', async (t) => {
  const linked = await link(t, { paths: ['a b/$(x)/logs', 'config/app.json', '.cache/', '-f', ' *'] })
  assert.equal(linked.code, 0, linked.output)
  assert.deepEqual(await linked.inRelease(), {
    ' *': '-> ../../shared/ *',
    '-f': '-> ../../shared/-f',
    '.cache': '-> ../../shared/.cache',
    'a b/$(x)/logs': '-> ../../../../shared/a b/$(x)/logs',
    'config/app.json': '-> ../../../shared/config/app.json',
    'index.html': 'hello',
  })
  await writeFile(join(linked.base, 'releases', release(1), 'config/app.json'), '{}')
  await writeFile(join(linked.base, 'releases', release(1), 'a b/$(x)/logs/today'), 'line')
  assert.deepEqual(await linked.inShared(), {
    ' *': '/',
    '-f': '/',
    '.cache': '/',
    'a b/$(x)/logs/today': 'line',
    'config/app.json': '{}',
  })
})

test('a link in the release at the location of a shared path is replaced, never followed and never copied', async (t) => {
  const linked = await link(t, {
    files: { uploads: { linkTo: '/etc' }, '.env': { linkTo: '/etc/passwd' }, loop: { linkTo: 'loop' } },
    paths: ['uploads', '.env', 'loop'],
  })
  assert.equal(linked.code, 0, linked.output)
  assert.deepEqual(await linked.inShared(), { loop: '/', uploads: '/' })
})

test('a parent that is a link out of the release is rejected, and nothing is touched where it leads', async (t) => {
  for (const linkTo of ['/', '../..', '../../shared', '.././../x/..']) {
    const linked = await link(t, { files: { out: { linkTo } }, shared: { 'x/y': '1' }, paths: ['out/made'] })
    assert.equal(linked.code, 1, `${linkTo} ${linked.output}`)
    assert.match(linked.output, /through the link out: share another path|out is in the way/)
    assert.deepEqual(await releasesIn(linked.base), [`.${release(1)}.part`])
    const touched = Object.keys(await treeOf(linked.base)).filter((path) => path.endsWith('made'))
    assert.deepEqual([...touched, existsSync('/made')], [false])
  }
})

test('a parent that is a link within the release is followed, and the link back fits its real location', async (t) => {
  const linked = await link(t, {
    files: { 'web/deep/public/x': '1', www: { linkTo: 'web/deep/public' }, here: { linkTo: '.' } },
    paths: ['www/files', 'here/logs'],
  })
  assert.equal(linked.code, 0, linked.output)
  const tree = await linked.inRelease()
  assert.equal(tree['web/deep/public/files'], '-> ../../../../../shared/www/files')
  assert.equal(tree.logs, '-> ../../shared/here/logs')
  await writeFile(join(linked.base, 'releases', release(1), 'www/files/new'), 'written')
  assert.equal((await linked.inShared())['www/files/new'], 'written')
})

test('a parent in the shared folder that is a link out of it is rejected', async (t) => {
  const linked = await link(t, {
    shared: { storage: { linkTo: '/tmp' } },
    paths: ['storage/gantry-must-not-exist'],
  })
  assert.equal(linked.code, 1)
  assert.match(linked.output, /leads out of .+shared through the link storage: share another path/s)
})

test('a shared path itself may be a link of the administrator to another disk', async (t) => {
  const linked = await link(t, {
    files: { 'storage/a': '1' },
    shared: { storage: { linkTo: '/mnt' } },
    paths: ['storage'],
  })
  assert.equal(linked.code, 0, linked.output)
  assert.deepEqual(await linked.inShared(), { storage: '-> /mnt' })
})

test('a file at the location of a parent is rejected', async (t) => {
  const linked = await link(t, { files: { config: 'a file' }, paths: ['config/app.json'] })
  assert.equal(linked.code, 1)
  assert.match(linked.output, /config is in the way of the shared path config\/app\.json: it is not a folder/)
})

test('a partial copy is not used as the shared content', async (t) => {
  const linked = await link(t, {
    files: { 'storage/a': 'whole' },
    shared: { '.gantry-part/b': 'cut' },
    paths: ['storage'],
  })
  assert.equal(linked.code, 0, linked.output)
  assert.deepEqual(await linked.inShared(), { 'storage/a': 'whole' })
})

test('the command itself rejects paths that were not validated', async (t) => {
  const base = await makeBase(t)
  const [who, name, archive] = [attempt('a'), release(1), await archiveOf(t, { file: '1' })]
  for (const path of ['../x', '/etc', 'a//b', '.', 'a/..', '', 'a/']) {
    await demand(takeLock(base, who))
    await demand(extractRelease(base, who, name), archive)
    const { code, output } = await run(finishRelease(base, who, name, [{ kind: 'folder', path }]))
    assert.equal(code, 1, path)
    assert.match(output, /is not a shared path\.\n$/)
  }
  assert.deepEqual(await treeOf(join(base, 'shared')), {})
})
