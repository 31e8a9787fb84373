// What else can happen on a server while a step runs there by itself: sshd freezes, the step's watcher is killed, the clock
// jumps, and the folder with its state changes hands.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, readdirSync, statSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, suite, type TestContext, test } from 'node:test'
import { later } from '#test/support/later.ts'
import { openLink } from '#test/support/link.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { type Sshd, startSshd } from '#test/support/sshd.ts'
import { until } from '#test/support/until.ts'

const all = { after }
/** The shortest that outlasts a connection that falls silent, on a busy machine, too. */
const LEASE_SECONDS = 60
const WITHIN_MS = 180_000
const asRoot = process.getuid!() === 0

const world = await openRunWorld(all, {
  environment: { GANTRY_REATTACH_SECONDS: String(LEASE_SECONDS), GANTRY_POLL_MS: '500' },
})
const { db, notes } = world
let count = 0

/** A home folder for the account, unlike that of any other test. */
async function makeHome(t: TestContext): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'gantry-reattach-'))
  later(t, () => rm(home, { recursive: true, force: true }))
  await chmod(home, 0o777)
  return home
}

type Options = { step?: object; server?: object; before?: string }

/** A run whose only step prints and notes lines until its gate opens. */
async function startRun(t: TestContext, sshd: Sshd, { step, server: more, before = '' }: Options = {}) {
  const link = await openLink(t, sshd.port)
  const name = `run-${++count}`
  const [file, gate] = [join(notes, name), world.makeGate(name)]
  const say = `n=$((n+1)); echo "line $n" >> '${file}'; echo "line $n"`
  const command = `echo "$(id -un)" >> '${file}.ran'; ${before}until [ -e '${join(notes, name)}.open' ]; do ${say}; sleep 0.1; done`
  const server = { ...(await world.newSshServer(sshd, 0)), port: link.port, ...more }
  const { pipelineId, serverId } = await world.makeCustom([{ name: 'print', command, ...step }], { server })
  const id = await world.run(pipelineId)
  const written = () => readFile(file, 'utf8').catch(() => '')
  const target = () =>
    db
      .selectFrom('targets')
      .select(['status_reason_code as reason', 'attempt'])
      .where('action_id', '=', id)
      .executeTakeFirstOrThrow()
  const printsOn = async () => {
    const before = (await written()).length
    await until(`${name} prints on`, WITHIN_MS, async () => (await written()).length > before + 20)
  }
  await printsOn()
  const row = () =>
    db
      .selectFrom('detached_steps')
      .select('state_path')
      .where('server_id', '=', serverId)
      .where('ended_at', 'is', null)
      .executeTakeFirst()
  const ran = async () => (await readFile(`${file}.ran`, 'utf8')).trim().split('\n')
  const log = () => world.logOf(id, 'print')
  return {
    ...{ id, serverId, link, gate, written, printsOn, ran, log, target },
    reasonIs: (reason: string) =>
      until(`${name} is ${reason}`, WITHIN_MS, async () => (await target()).reason === reason),
    /** Null for a step that is attached. */
    statePath: async () => (await row())?.state_path ?? null,
    async completesOnce() {
      await gate.open()
      await world.completed(id)
      assert.equal(await log(), await written())
      assert.equal((await ran()).length, 1)
    },
    async cutAndRestore(meanwhile: () => Promise<void>) {
      await link.cut()
      await this.reasonIs('RECONNECTING')
      await meanwhile()
      await link.restore()
    },
  }
}

async function watcherOf(statePath: string | null): Promise<number> {
  const [, pid] = (await readFile(join(statePath!, 'supervisor'), 'utf8')).split(' ')
  return Number(pid)
}

suite('sshd freezes', () => {
  test('for a moment: the step is followed on, over the same connection', async (t) => {
    const sshd = await startSshd(t)
    const run = await startRun(t, sshd)
    sshd.freezeConnections()
    await run.printsOn()
    sshd.thawConnections()
    await run.completesOnce()
    assert.equal((await run.target()).attempt, 1)
  })

  test('permanently, for the connection of the step: another one continues it', async (t) => {
    const sshd = await startSshd(t)
    const run = await startRun(t, sshd)
    sshd.freezeConnections()
    await until('it is connected again', WITHIN_MS, async () => (await run.target()).attempt === 2)
    await run.reasonIs('IN_PROGRESS')
    await run.completesOnce()
  })

  test('permanently: the server ends the step, and then the run ends', async (t) => {
    const sshd = await startSshd(t)
    const run = await startRun(t, sshd)
    const path = await run.statePath()
    sshd.freeze()
    later(t, () => sshd.thaw())
    await run.reasonIs('RECONNECTING')
    const result = () => readFile(join(path!, 'exit'), 'utf8')
    await until('the server has ended it', WITHIN_MS, async () => (await result()).trim() !== '')
    assert.equal((await run.target()).reason, 'RECONNECTING')
    const written = await run.written()
    await run.reasonIs('FAILED_UNREACHABLE')
    assert.equal(await run.written(), written)
    assert.equal((await run.ran()).length, 1)
  })
})

suite("the step's watcher is killed", () => {
  test('the run says so and ends, and nothing runs a second time', async (t) => {
    const run = await startRun(t, await startSshd(t))
    process.kill(await watcherOf(await run.statePath()), 'SIGKILL')
    await world.endedWith('FAILED_WORKER_LOST', run.id)
    assert.match(await run.log(), /The process that watched this step on the server was killed\./)
    assert.equal((await run.ran()).length, 1)
  })

  test('while Gantry is away: the same', async (t) => {
    const run = await startRun(t, await startSshd(t))
    const path = await run.statePath()
    await run.cutAndRestore(async () => {
      process.kill(await watcherOf(path), 'SIGKILL')
    })
    await world.endedWith('FAILED_WORKER_LOST', run.id)
    assert.equal((await run.ran()).length, 1)
  })

  test('an idempotent step starts again, once', async (t) => {
    const run = await startRun(t, await startSshd(t), { step: { idempotent: true } })
    const path = await run.statePath()
    process.kill(await watcherOf(path), 'SIGKILL')
    await until('it runs under another token', WITHIN_MS, async () => {
      const now = await run.statePath()
      return now !== null && now !== path
    })
    await until('it runs again', WITHIN_MS, async () => (await run.ran()).length === 2)
    await run.gate.open()
    await world.completed(run.id)
    assert.equal((await run.ran()).length, 2)
    assert.match(await run.log(), /The process that watched this step on the server was killed\./)
  })
})

/** Moves the clock of the programs that load it by what the file CLOCK_FILE says, in seconds. */
const CLOCK = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long moved(void) {
  char text[32] = ""; const char *path = getenv("CLOCK_FILE");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return 0;
  if (read(file, text, sizeof text - 1) < 0) text[0] = 0;
  close(file);
  return atol(text);
}
int clock_gettime(clockid_t id, struct timespec *at) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(id, at);
  if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) at->tv_sec += moved();
  return result;
}
int gettimeofday(struct timeval *restrict at, void *restrict zone) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
  at->tv_sec = now.tv_sec; at->tv_usec = now.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *at) {
  struct timespec now; clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
`

/** Undefined without a compiler. */
async function buildClock(folder: string): Promise<string | undefined> {
  const library = join(folder, 'clock.so')
  await writeFile(join(folder, 'clock.c'), CLOCK)
  try {
    execFileSync('cc', ['-shared', '-fPIC', '-o', library, join(folder, 'clock.c'), '-ldl'])
  } catch {
    return undefined
  }
  chmodSync(library, 0o755)
  return library
}

test('the clock of the server jumps, while a step runs and while Gantry is away: neither lease nor time limit notice', async (t) => {
  const home = await makeHome(t)
  const library = await buildClock(home)
  if (!library) return t.skip('there is no C compiler')
  const clock = join(home, 'clock')
  const DAY = 86_400
  const moveBy = (days: number) => writeFile(clock, String(days * DAY))
  await moveBy(0)
  const sshd = await startSshd(t, {
    settings: [`SetEnv HOME=${home} LD_PRELOAD=${library} CLOCK_FILE=${clock}`],
  })
  const shown = join(home, 'shown')
  const before = `while :; do printf '%(%s)T\\n' -1 > '${shown}'; sleep 0.1; done & `
  const run = await startRun(t, sshd, { before, step: { timeout_seconds: 600 } })
  const hasMoved = (days: number) =>
    until(`the clock of the step has moved by ${days} days`, WITHIN_MS, async () => {
      const at = Number(await readFile(shown, 'utf8'))
      return Math.abs(at - Date.now() / 1_000 - days * DAY) < 3_600
    })
  await hasMoved(0)
  for (const [running, away] of [
    [2, 5],
    [-3, -9],
  ] as const) {
    await moveBy(running)
    await hasMoved(running)
    await run.printsOn()
    assert.equal((await run.target()).reason, 'IN_PROGRESS')
    await run.cutAndRestore(async () => {
      await moveBy(away)
      await hasMoved(away)
      await run.printsOn()
    })
    await run.reasonIs('IN_PROGRESS')
    await run.printsOn()
  }
  await run.gate.open()
  await world.completed(run.id)
  assert.equal(await run.log(), await run.written())
  assert.equal((await run.ran()).length, 1)
})

suite('accounts', { skip: !asRoot && 'this takes root' }, () => {
  test('a step that runs as another account is detached there, and continued there', async (t) => {
    const sshd = await startSshd(t)
    const other = sshd.accounts[1]!.name
    const run = await startRun(t, sshd, {
      step: { run_as_user: other },
      server: { login_name: 'root' },
    })
    const path = await run.statePath()
    assert.equal(dirname(path!), join(sshd.accounts[1]!.home, '.gantry'))
    assert.equal(statSync(path!).uid, uidOf(other))
    await run.cutAndRestore(run.printsOn)
    await run.reasonIs('IN_PROGRESS')
    await run.completesOnce()
    assert.deepEqual(await run.ran(), [other])
  })

  test('where the state folders belong to another account, a step runs attached and says why', async (t) => {
    const home = await makeHome(t)
    const sshd = await startSshd(t, { settings: [`SetEnv HOME=${home}`] })
    const elsewhere = `/var/tmp/gantry-${uidOf(sshd.accounts[0]!.name)}`
    later(t, () => rm(elsewhere, { recursive: true, force: true }))
    for (const folder of [join(home, '.gantry'), elsewhere]) {
      await rm(folder, { recursive: true, force: true })
      await mkdir(folder, { mode: 0o755 })
    }
    const run = await startRun(t, sshd)
    assert.equal(await run.statePath(), null)
    await run.gate.open()
    await world.completed(run.id)
    const [first, ...rest] = (await run.log()).split('\n')
    assert.equal(
      first,
      `This step would not survive a lost connection. The account can write to neither ${home}/.gantry nor ${elsewhere}.`,
    )
    assert.equal(rest.join('\n'), await run.written())
    const attached = await db
      .selectFrom('attached_servers')
      .select('reason')
      .where('server_id', '=', run.serverId)
      .executeTakeFirst()
    assert.match(attached!.reason, /can write to neither/)
  })

  test('a full disk fails the run, which names it, and leaves nothing behind', async (t) => {
    const home = await makeHome(t)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=777', 'tmpfs', home])
    later(t, async () => void execFileSync('umount', ['-l', home]))
    const sshd = await startSshd(t, { settings: [`SetEnv HOME=${home}`] })
    const flood = join(notes, 'flood')
    const before = `(until [ -e '${flood}' ]; do sleep 0.1; done; head -c 2000000 /dev/zero | tr "\\0" x) & `
    const run = await startRun(t, sshd, { before })
    const folder = dirname((await run.statePath())!)
    await writeFile(flood, '')
    await world.endedWith('FAILED', run.id)
    assert.match(await run.log(), new RegExp(`\nThe disk ${home} on the server is full\\.\n$`))
    assert.equal((await run.ran()).length, 1)
    await until('its state is removed', WITHIN_MS, () => readdirSync(folder).length === 0)
  })

  test('a state folder that belongs to another account meanwhile is unreadable until it is given back', async (t) => {
    const home = await makeHome(t)
    const sshd = await startSshd(t, { settings: [`SetEnv HOME=${home}`] })
    const run = await startRun(t, sshd)
    const folder = dirname((await run.statePath())!)
    const { uid, gid } = statSync(folder)
    await run.cutAndRestore(async () => chownSync(folder, 0, 0))
    await until('it was connected to', WITHIN_MS, async () => (await run.target()).attempt > 2)
    await run.printsOn()
    chownSync(folder, uid, gid)
    await run.reasonIs('IN_PROGRESS')
    await run.completesOnce()
  })

  test('one that is not given back ends its run, which names it', async (t) => {
    const home = await makeHome(t)
    const sshd = await startSshd(t, { settings: [`SetEnv HOME=${home}`] })
    const run = await startRun(t, sshd)
    const folder = dirname((await run.statePath())!)
    await run.cutAndRestore(async () => chownSync(folder, 0, 0))
    await run.reasonIs('FAILED_UNREACHABLE')
    assert.ok((await run.log()).includes(folder), await run.log())
    assert.equal((await run.ran()).length, 1)
  })
})

const uidOf = (name: string) => Number(execFileSync('id', ['-u', name], { encoding: 'utf8' }))
