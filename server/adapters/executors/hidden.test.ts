import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmod, chown, mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { later } from '#test/support/later.ts'
import { type Hidden, otherPathsOf, outermost, placeRoot } from './hidden.ts'
import { environmentOf, type LocalExecutor, type LocalOptions } from './local.ts'
import type { LocalAccount } from './local-account.ts'
import { openLocal, type Ran, run } from './test-commands.ts'

const folder = (path: string): Hidden => ({ path, id: '1:1', isFolder: true })

test('what is inside of a hidden folder needs not be hidden itself', () => {
  const hidden = ['/srv/gantry/data', '/srv/gantry', '/srv/gantry', '/run/user', '/srv/gantry-2'].map(folder)
  assert.deepEqual(
    outermost(hidden).map(({ path }) => path),
    ['/srv/gantry', '/run/user', '/srv/gantry-2'],
  )
})

test('a root is shown where it is a folder of its own in the home, and refused where it is not', () => {
  const place = (root: string, real = root) =>
    placeRoot({
      hidden: ['/srv/home', '/fast/postgres', '/run/user'].map(folder),
      home: '/gantry',
      realHome: '/srv/home',
      root,
      real,
    })
  const shown = { kind: 'hidden', path: '/srv/home/sites', source: '/srv/home/sites' }
  assert.deepEqual(place('/srv/home/sites'), shown)
  assert.deepEqual(place('/gantry/sites', '/srv/home/sites'), shown, 'by a link to the home')
  assert.deepEqual(place('/srv/home/sites', '/www'), { ...shown, source: '/www' }, 'a link of the operator')
  assert.deepEqual(place('/www'), { kind: 'visible' })
  assert.deepEqual(place('/srv'), { kind: 'visible' }, 'around the home, which stays hidden in it')
  for (const [root, real] of [
    ['/srv/home'],
    ['/gantry', '/srv/home'],
    ['/srv/home/postgres'],
    ['/srv/home/postgres/base'],
    ['/srv/home/repositories/mirrors'],
    ['/srv/home/sites', '/srv/home/postgres'],
    ['/srv/home/sites', '/fast/postgres'],
    ['/srv/home/sites', '/srv/home/other'],
    ['/www', '/srv/home'],
    ['/www', '/srv/home/sites'],
    ['/www', '/fast/postgres/base'],
    ['/run/user/1000'],
    ['/dev/shm/site'],
    ['/www', '/dev/shm'],
  ] as const)
    assert.equal(place(root, real ?? root).kind, 'refused', `${root} at ${real}`)
})

test('other paths of the same files are found in the table of mounts', () => {
  const mountinfo = `29 1 254:0 / / rw - ext4 /dev/vda rw
30 29 254:1 / /srv rw shared:1 - ext4 /dev/vdb rw
31 29 254:1 /gantry /mnt/copy rw - ext4 /dev/vdb rw
32 29 254:1 /gantry/home/postgres /mnt/with\\040space rw - ext4 /dev/vdb rw
33 29 254:1 / /mnt/all rw - ext4 /dev/vdb rw
34 29 0:30 / /mnt/other rw - tmpfs tmpfs rw
`
  assert.deepEqual(otherPathsOf(mountinfo, '/srv/gantry/home'), ['/mnt/copy/home', '/mnt/all/gantry/home'])
  assert.deepEqual(otherPathsOf(mountinfo, '/srv/gantry/home/postgres'), [
    '/mnt/copy/home/postgres',
    '/mnt/with space',
    '/mnt/all/gantry/home/postgres',
  ])
  assert.deepEqual(otherPathsOf(mountinfo, '/etc'), [])
})

test('a step that moves a folder above the home sees neither the old nor a new one', async (t) => {
  const { local, parent, home } = await openHome(t)
  const { uid, gid } = accountOf(local)
  await chown(parent, uid, gid)
  const moved = join(parent, 'moved')
  const first = await runAt(
    local,
    join(home, 'a'),
    `mv ${parent}/above ${moved} && mkdir -p ${home}; ls ${moved}/home`,
  )
  assert.equal(first.output, 'a\n', 'it stays covered wherever it is moved')
  const second = await runAt(local, join(home, 'b'), `cat ${moved}/home/secret.key`)
  assert.match(
    second.end.kind === 'unreachable' ? second.end.message : '',
    /moved or replaced since Gantry started/,
  )
  assert.equal(second.output, '')
})

test('database files that the home only links to are hidden too', async (t) => {
  const { parent, home } = await newHome(t)
  await mkdir(join(parent, 'disk'), { mode: 0o777 })
  await writeFile(join(parent, 'disk/PG_VERSION'), '18')
  await symlink(join(parent, 'disk'), join(home, 'postgres'))
  const local = await openFor(t, { home })
  const { output } = await runAt(local, join(home, 'a'), `ls -A ${parent}/disk; echo over`)
  assert.equal(output, 'over\n')
})

test('the socket of an external database is hidden, wherever it is', async (t) => {
  const { parent, home } = await newHome(t)
  const own = join(parent, 'run')
  await mkdir(own)
  const port = 20_000 + (process.pid % 20_000)
  for (const folder of [own, '/tmp']) {
    const path = join(folder, `.s.PGSQL.${port}`)
    const server = createServer((socket) => socket.end('connected')).listen(path)
    later(t, () => new Promise<void>((resolve) => void server.close(() => resolve())))
    await once(server, 'listening')
    await chmod(path, 0o777)
    const connect = `perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(Peer => $ARGV[0]); print $s ? <$s> : "no\\n"' ${path}`
    const open = await openFor(t, { home, socket: null })
    assert.equal((await runAt(open, join(home, 'a'), connect)).output, 'connected', 'it can be reached')
    const local = await openFor(t, { home, socket: { folder, port } })
    assert.equal((await runAt(local, join(home, 'a'), connect)).output, 'no\n', folder)
  }
})

test('the new socket of a database that was restarted is hidden, too', async (t) => {
  const { home } = await newHome(t)
  const port = 40_000 + (process.pid % 20_000)
  const path = `/tmp/.s.PGSQL.${port}`
  const start = async () => {
    const server = createServer((socket) => socket.end('connected')).listen(path)
    await once(server, 'listening')
    await chmod(path, 0o777)
    return () => new Promise<void>((resolve) => void server.close(() => resolve()))
  }
  const stop = await start()
  const local = await openFor(t, { home, socket: { folder: '/tmp', port } })
  // Or the new one could get the number of the old one.
  await rename(path, join(home, 'old'))
  await stop()
  later(t, await start())
  const connect = `perl -MIO::Socket::UNIX -e 'print IO::Socket::UNIX->new(Peer => $ARGV[0]) ? "connected" : "no"' ${path}`
  const { end, output } = await runAt(local, join(home, 'a'), connect)
  assert.deepEqual([end.kind, output], ['exited', 'no'])
})

test('a root that is a file is refused by name', async (t) => {
  const { local, home } = await openHome(t)
  await writeFile(join(home, 'page'), '')
  const refused = await runAt(local, join(home, 'page'), 'true')
  assert.match(refused.end.kind === 'impossible' ? refused.end.message : '', /page is not a folder$/)
})

test('an account whose home is hidden gets the root of its server as HOME', () => {
  const homeOf = (home: string, root: string | null) =>
    environmentOf(
      { name: 'gantry', uid: 1, gid: 1, home },
      { hidden: [folder('/var/lib/gantry')], root: null },
      root,
    ).HOME
  assert.equal(homeOf('/home/gantry', '/srv/site'), '/home/gantry')
  assert.equal(homeOf('/var/lib', '/srv/site'), '/var/lib', 'around what is hidden')
  for (const home of ['/var/lib/gantry', '/var/lib/gantry/account']) {
    assert.equal(homeOf(home, '/srv/site'), '/srv/site')
    assert.equal(homeOf(home, null), '/')
  }
})

test('a root that is deleted and created again is the new one', async (t) => {
  const { local, home } = await openHome(t)
  const root = join(home, 'a')
  await runAt(local, root, `touch ${root}/old`)
  await rename(root, join(home, 'gone'))
  const { output } = await runAt(local, root, `touch ${root}/new; ls ${root}`)
  assert.equal(output, 'new\n')
})

async function newHome(t: TestContext): Promise<{ parent: string; home: string }> {
  const parent = await realpath(await mkdtemp(join(tmpdir(), 'gantry-hidden-test-')))
  later(t, () => rm(parent, { recursive: true, force: true }))
  const home = join(parent, 'above/home')
  await mkdir(home, { recursive: true })
  await writeFile(join(home, 'secret.key'), 'the key')
  // The account of the commands passes through.
  for (const path of [parent, join(parent, 'above'), home]) await chmod(path, 0o755)
  return { parent, home }
}

test('a sandbox is reused only when nothing is left in it', async (t) => {
  const { home, local } = await openHome(t)
  const outside = await realpath(await mkdtemp(join(tmpdir(), 'gantry-roots-')))
  later(t, () => rm(outside, { recursive: true, force: true }))
  await chmod(outside, 0o777)
  const seen = `ls -A /dev/shm | grep note || true; ${openQueue(0)}; ipcs -q | grep -c 0x || true`
  const leaving = ['echo >/dev/shm/note', 'echo >/dev/shm/.note', openQueue(CREATE), 'ipcmk -Q >/dev/null']
  for (const root of [join(home, 'one'), join(outside, 'one')])
    for (const leave of leaving) {
      // More than the number that is kept ready.
      for (let time = 0; time < 6; time += 1)
        assert.equal((await runAt(local, root, `${leave}; ${seen}`)).end.kind, 'exited', leave)
      for (let time = 0; time < 6; time += 1)
        assert.equal((await runAt(local, root, seen)).output, '0\n', leave)
    }
})

const CREATE = 0o100

/** Without /dev/mqueue, which not every machine has. Prints whether there is such a queue, unless it is to be created. */
function openQueue(flags: number): string {
  const MQ_OPEN = process.arch === 'arm64' ? 180 : 240
  return `perl -e 'my $name = "note"; exit if syscall(${MQ_OPEN}, $name, ${flags}, 0600, 0) < 0; print "a queue\n" unless ${flags}'`
}

async function openHome(t: TestContext) {
  const made = await newHome(t)
  return { ...made, local: await openFor(t, { home: made.home }) }
}

async function openFor(t: TestContext, options: Partial<LocalOptions>): Promise<LocalExecutor> {
  const local = await openLocal(options)
  later(t, () => local.close())
  return local
}

async function runAt(local: LocalExecutor, root: string, command: string): Promise<Ran> {
  const connection = await local.connect(root)
  return connection.kind === 'connected' ? run(connection.executor, command) : { end: connection, output: '' }
}

function accountOf({ account }: LocalExecutor): LocalAccount {
  return 'kind' in account ? assert.fail(account.message) : account
}
