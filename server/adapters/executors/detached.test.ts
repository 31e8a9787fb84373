// Steps that survive the connection, on a real sshd.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { later } from '#test/support/later.ts'
import { type Sshd, startSshd } from '#test/support/sshd.ts'
import { type DetachedStart, type DetachedSteps, type Follow, newStepToken } from './detached.ts'
import type { Executor } from './executor.ts'
import { connectSsh } from './ssh-connect.ts'
import { processesNamed, START_DAEMONS, until } from './test-commands.ts'

type Closer = { after(fn: () => Promise<void>): void }

const OWNER = 'test-7'
const asRoot = process.getuid!() === 0

describe('detached steps', () => {
  let sshd: Sshd
  let home: string
  let steps: DetachedSteps
  const closing: (() => Promise<void>)[] = []
  before(async () => {
    const t = { after: (fn: () => Promise<void>) => void closing.push(fn) }
    home = await sharedFolder(t)
    sshd = await startSshd(t, { settings: [`SetEnv HOME=${home}`] })
    steps = await opened(t, sshd)
  })
  after(async () => {
    for (const close of closing) await close()
  })

  test('a step ends with its exit code, after all of its output', async () => {
    for (const [command, expected] of [
      ['echo hello; echo error >&2', 'hello\nerror\n'],
      ['printf x', 'x'],
      ['true', ''],
    ] as const) {
      const { end, output } = await start(steps, `${command}; exit 7`)
      assert.deepEqual([end, output], [{ kind: 'exited', code: 7 }, expected])
    }
  })

  test('exit codes and signals are told apart', async () => {
    for (const code of [0, 137, 255]) {
      assert.deepEqual((await start(steps, `exit ${code}`)).end, { kind: 'exited', code })
    }
    for (const signal of ['SIGKILL', 'SIGSEGV']) {
      assert.deepEqual((await start(steps, `kill -${signal} $$`)).end, { kind: 'signalled', signal })
    }
  })

  test('a step is a bash like any other: environment, folder, signals, umask, descriptors', async () => {
    const { output } = await start(
      steps,
      'echo "$VALUE"; pwd; umask; grep -E "^Sig(Ign|Blk)" /proc/self/status | tr -d "\\t0"; cat; ls -m /proc/$$/fd; env -0 | tr "\\0\\n" "\\n " | sed -E "s/=.*//" | sort | tr "\\n" " "',
      { environment: { VALUE: `'"\`$(id)\n ü` }, workingFolder: '/usr' },
    )
    const lines = output.split('\n')
    assert.deepEqual(lines.slice(0, 3), [`'"\`$(id)`, ' ü', '/usr'])
    assert.match(lines[3]!, /^0022|0002$/)
    assert.deepEqual(lines.slice(4, 7), ['SigBlk:', 'SigIgn:', '0, 1, 2'])
    assert.doesNotMatch(lines[7]!, /[a-z]/)
    assert.match(lines[7]!, /GANTRY_COMMAND HOME .*VALUE/)
  })

  test('neither command nor environment are on the disk, and only the account can read what is', async () => {
    const [secret, go] = [randomUUID(), join(home, randomUUID())]
    const running = start(steps, `: command-${secret}; echo up; until [ -e ${go} ]; do sleep 0.02; done`, {
      environment: { SECRET: secret },
      onOutput: () => void writing.resolve(),
    })
    const writing = Promise.withResolvers<void>()
    await writing.promise
    const folders = foldersOf(home).map((name) => join(home, '.gantry', name))
    for (const folder of folders) {
      assert.equal(statSync(folder).mode & 0o777, 0o700)
      for (const name of readdirSync(folder)) {
        assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name)
        assert.ok(!readFileSync(join(folder, name)).includes(secret), name)
      }
    }
    await writeFile(go, '')
    const { path, end } = await running
    assert.deepEqual([end, folders.includes(path)], [{ kind: 'exited', code: 0 }, true])
    assert.deepEqual(readdirSync(path).toSorted(), ['exit', 'lease', 'out.0', 'position', 'supervisor'])
  })

  test('of two simultaneous starts of a token one runs the step', async (t) => {
    const other = await opened(t, sshd)
    const token = newStepToken()
    const command = 'echo ran >>$HOME/twice; echo ran'
    const both = await Promise.all([steps, other].map((one) => start(one, command, { token })))
    assert.deepEqual(both.map(({ end }) => end.kind).toSorted(), ['claimed', 'exited'])
    assert.equal(readFileSync(join(home, 'twice'), 'utf8'), 'ran\n')
    assert.deepEqual((await start(steps, command, { token })).end, { kind: 'claimed' })
  })

  test('a token under which nothing has started becomes void, and a late start does nothing', async () => {
    const token = newStepToken()
    assert.deepEqual((await attach(steps, token)).end, { kind: 'void' })
    assert.deepEqual((await attach(steps, token)).end, { kind: 'void' })
    const { end } = await start(steps, 'echo ran >>$HOME/late', { token })
    assert.deepEqual(end, { kind: 'claimed' })
    assert.equal(existsSync(join(home, 'late')), false)
  })

  test('a step that waits with its result is attached to by any number of workers', async (t) => {
    const { token } = await start(steps, 'echo one; echo two; exit 3')
    const other = await opened(t, sshd)
    const both = await Promise.all([attach(steps, token), attach(other, token, 4)])
    assert.deepEqual(
      both.map(({ end, output }) => [end, output.toString()]),
      [
        [{ kind: 'exited', code: 3 }, 'one\ntwo\n'],
        [{ kind: 'exited', code: 3 }, 'two\n'],
      ],
    )
  })

  test('a step survives its connection, and continues where the output was left, byte for byte', async (t) => {
    const own = await startSshd(t, { settings: [`SetEnv HOME=${home}`] })
    const first = await opened(t, own)
    const go = join(home, randomUUID())
    const cut = await start(
      first,
      `head -c 300000 /dev/urandom | tee ${go}.1; until [ -e ${go} ]; do sleep 0.02; done; head -c 300000 /dev/urandom | tee ${go}.2; exit 5`,
      { onOutput: (_chunk, offset) => void (offset > 0 && own.dropConnections()) },
    )
    assert.equal(cut.end.kind, 'connection-lost')
    const second = await opened(t, own)
    await writeFile(go, '')
    const rest = await attach(second, cut.token, cut.bytes.length)
    assert.deepEqual(rest.end, { kind: 'exited', code: 5 })
    const expected = Buffer.concat([readFileSync(`${go}.1`), readFileSync(`${go}.2`)])
    assert.ok(Buffer.concat([cut.bytes, rest.output]).equals(expected))
    assert.deepEqual(rest.gaps, [])
  })

  test('of 20 MiB while Gantry is away, the beginning and the end are kept', async (t) => {
    const own = await startSshd(t, { settings: [`SetEnv HOME=${home}`] })
    const go = join(home, randomUUID())
    const command = `echo up; until [ -e ${go} ]; do sleep 0.02; done; seq -f %015.0f 1310720; sleep 0.3; echo over`
    const cut = await start(await opened(t, own), command, { onOutput: () => own.dropConnections() })
    await writeFile(go, '')
    await until(() => hasEnded(cut.path))
    const kept = readdirSync(cut.path).filter((name) => name.startsWith('out.'))
    const onDisk = kept.reduce((sum, name) => sum + statSync(join(cut.path, name)).size, 0)
    assert.ok(onDisk > 10 * MIB && onDisk < 16 * MIB, `${onDisk} bytes on disk`)
    const { end, output, gaps, next } = await attach(await opened(t, own), cut.token, 3)
    assert.deepEqual(end, { kind: 'exited', code: 0 })
    assert.equal(next, 3 + 20 * MIB + 5)
    const [[from, upTo]] = gaps as [[number, number]]
    assert.equal(gaps.length, 1)
    assert.ok(from >= 5 * MIB && next - upTo >= 5 * MIB)
    const all = Buffer.from(
      `${Array.from({ length: 1_310_720 }, (_, index) => String(index + 1).padStart(15, '0')).join('\n')}\nover\n`,
    )
    assert.ok(output.equals(Buffer.concat([all.subarray(0, from - 3), all.subarray(upTo - 3)])))
  })

  test('of a flood that is faster than the link, the beginning and the end arrive', async () => {
    const slowly = () => new Promise<void>((resolve) => setImmediate(resolve))
    const { end, bytes } = await start(steps, 'yes 0123456789abcde | head -c 300000000; echo over', {
      onOutput: slowly,
      timeoutMs: 300_000,
    })
    assert.deepEqual(end, { kind: 'exited', code: 0 })
    assert.ok(bytes.length >= 10 * MIB, `${bytes.length} bytes`)
    assert.equal(bytes.subarray(-5).toString(), 'over\n')
  })

  test('everything that a step leaves behind has ended before its end is reported', async () => {
    const token = `sleeper-${randomUUID()}`
    const { end, output } = await start(steps, `${START_DAEMONS}exit 4`, { environment: { TOKEN: token } })
    assert.deepEqual([end, output], [{ kind: 'exited', code: 4 }, 'up\n'])
    assert.deepEqual(processesNamed(token), [])
  })

  test('cancelling ends everything, even what ignores SIGTERM', async () => {
    const token = `sleeper-${randomUUID()}`
    const cancelling = new AbortController()
    const { end } = await start(steps, `trap '' TERM; ${START_DAEMONS} while :; do sleep 1000; done`, {
      environment: { TOKEN: token },
      graceMs: 100,
      cancel: cancelling.signal,
      onOutput: () => cancelling.abort(),
    })
    assert.deepEqual(end, { kind: 'cancelled' })
    assert.deepEqual(processesNamed(token), [])
  })

  test('a timeout ends everything, also while Gantry is away', async (t) => {
    const token = `sleeper-${randomUUID()}`
    const own = await startSshd(t, { settings: [`SetEnv HOME=${home}`] })
    const cut = await start(
      await opened(t, own),
      `trap '' TERM; ${START_DAEMONS} while :; do sleep 1000; done`,
      {
        environment: { TOKEN: token },
        timeoutMs: 3_000,
        graceMs: 100,
        onOutput: () => own.dropConnections(),
      },
    )
    assert.equal(cut.end.kind, 'connection-lost')
    await until(() => processesNamed(token).length === 0)
    assert.deepEqual((await attach(await opened(t, own), cut.token)).end, { kind: 'timed-out' })
  })

  test('without Gantry, everything has ended within 10 s of the lease', async (t) => {
    const token = `sleeper-${randomUUID()}`
    const own = await startSshd(t, { settings: [`SetEnv HOME=${home}`] })
    const cut = await start(
      await opened(t, own),
      `trap '' TERM; ${START_DAEMONS} while :; do sleep 1000; done`,
      {
        environment: { TOKEN: token },
        leaseSeconds: 2,
        graceMs: 60_000,
        onOutput: () => own.dropConnections(),
      },
    )
    const since = performance.now()
    assert.equal(cut.end.kind, 'connection-lost')
    await until(() => processesNamed(token).length === 0)
    assert.ok(performance.now() - since < 12_000)
    assert.deepEqual((await attach(await opened(t, own), cut.token)).end, { kind: 'lease-expired' })
  })

  test('the shortest lease does not end while Gantry is there', async (t) => {
    const executor = await connected(t, sshd)
    const one = await open(executor, { leaseSeconds: 5 })
    const { end, output } = await start(one, 'sleep 11; echo over', { leaseSeconds: 5 })
    assert.deepEqual([end, output], [{ kind: 'exited', code: 0 }, 'over\n'])
  })

  test('a step that we leave continues, and so does one whose executor is closed', async (t) => {
    const leaving = new AbortController()
    const executor = await connected(t, sshd)
    const other = await open(executor)
    const go = join(home, randomUUID())
    const command = `echo up; until [ -e ${go} ]; do sleep 0.02; done; exit 9`
    const left = await start(steps, command, { leave: leaving.signal, onOutput: () => leaving.abort() })
    const closed = await start(other, command, { onOutput: () => void executor.close() })
    assert.deepEqual([left.end.kind, closed.end.kind], ['left', 'left'])
    await writeFile(go, '')
    for (const { token } of [left, closed])
      assert.deepEqual((await attach(steps, token, 3)).end, { kind: 'exited', code: 9 })
  })

  test('the processes of a killed watcher are ended, and the step counts as lost', async (t) => {
    const token = `sleeper-${randomUUID()}`
    const step = newStepToken()
    const other = await opened(t, sshd)
    const followed = start(steps, `${START_DAEMONS} sleep 1000`, {
      token: step,
      environment: { TOKEN: token },
    })
    await until(() => processesNamed(token).length === 5)
    process.kill(watcherOf(steps.statePath(step))!, 'SIGKILL')
    assert.deepEqual((await followed).end, { kind: 'supervisor-lost', why: 'killed' })
    assert.deepEqual(processesNamed(token), [])
    assert.deepEqual((await attach(other, step)).end, {
      kind: 'supervisor-lost',
      why: 'killed',
    })
  })

  test('a step whose output is no longer kept, because that process was killed, counts as lost', async () => {
    const [token, go, printed] = [newStepToken(), join(home, randomUUID()), Promise.withResolvers<void>()]
    const running = start(steps, `echo up; until [ -e ${go} ]; do sleep 0.02; done; echo over; true`, {
      token,
      onOutput: () => printed.resolve(),
    })
    await printed.promise
    const [runner] = childrenOf(watcherOf(steps.statePath(token))!)
    const isStep = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('step $$')
    process.kill(childrenOf(runner!).find((pid) => !isStep(pid))!, 'SIGKILL')
    await writeFile(go, '')
    const { end, output } = await running
    assert.deepEqual([end, output], [{ kind: 'supervisor-lost', why: 'killed' }, 'up\n'])
  })

  test('processes that wait for a step are replaced when they were killed, and end with their supervisor', async (t) => {
    const own = await sharedFolder(t)
    const executor = await connected(t, await startSshd(t, { settings: [`SetEnv HOME=${own}`] }))
    const waiting = await open(executor)
    waiting.expectStart()
    const roles = [0, 1, 2, 3]
    for (const role of roles) {
      await until(() => waitingIn(own).length === roles.length)
      const victim = waitingIn(own)[role]!
      process.kill(victim, 'SIGKILL')
      await until(() => !waitingIn(own).includes(victim))
      const { end, output } = await start(waiting, 'echo ran >>$HOME/ran; echo ran; exit 3')
      assert.deepEqual([end, output], [{ kind: 'exited', code: 3 }, 'ran\n'])
    }
    assert.equal(readFileSync(join(own, 'ran'), 'utf8'), 'ran\n'.repeat(roles.length))
    await until(() => waitingIn(own).length === roles.length)
    await executor.close()
    await until(() => waitingIn(own).length === 0)
  })

  test('a step of an earlier boot is lost, and so is one whose watcher has the number of another process', async () => {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    for (const [watcher, why] of [
      [`${randomUUID()} 1 1`, 'restarted'],
      [`${boot} ${process.pid} 1`, 'killed'],
    ] as const) {
      const { path, token } = await start(steps, 'exit 0')
      await rm(join(path, 'exit'))
      await writeFile(join(path, 'supervisor'), `${watcher}\n`)
      assert.deepEqual((await attach(steps, token)).end, { kind: 'supervisor-lost', why })
    }
  })

  test('files that a step has altered make its state unreadable, and lead nowhere', async () => {
    const secret = join(home, 'secret')
    await writeFile(secret, 'exited 0\n')
    const link = (name: string) => `rm -rf ${name}; ln -s ${secret} ${name}`
    const pipe = (name: string) => `rm -rf ${name}; mkfifo ${name}`
    for (const damage of [
      ...['lease', 'position'].flatMap((name) => [link(name), pipe(name), `rm ${name}`]),
      ...[link, pipe].flatMap((replace) => [replace('exit'), `rm exit; ${replace('supervisor')}`]),
      'rm exit; mkdir exit',
      'echo nonsense >exit',
      'rm exit; echo nonsense >supervisor',
      `cd ..; mv $NAME $NAME.moved; ln -s $NAME.moved $NAME`,
    ]) {
      const { path, token } = await start(steps, 'echo hello; exit 3')
      const NAME = path.split('/').at(-1)!
      const changed = await start(steps, damage, { workingFolder: path, environment: { NAME } })
      assert.deepEqual(changed.end, { kind: 'exited', code: 0 }, damage + changed.output)
      const { end } = await attach(steps, token)
      const isHarmless = end.kind === 'exited' && end.code === 3
      assert.ok(isHarmless || end.kind === 'unreadable', `${damage}: ${JSON.stringify(end)}`)
    }
    assert.equal(readFileSync(secret, 'utf8'), 'exited 0\n')
    await start(steps, 'cd $HOME/.gantry; rm -r $(ls | grep moved | cut -d. -f1) *.moved')
  })

  test('output that a step has altered is replaced, and comes to an end', async () => {
    const { token, path } = await start(steps, 'echo hello')
    for (const damage of [
      'echo >out.0',
      'rm out.0; ln -s /etc/passwd out.0',
      'rm out.0; mkfifo out.0',
      'echo "99999999 0 0 0 99999999 0 0 0" >position; echo hello >out.7',
    ]) {
      assert.equal((await start(steps, damage, { workingFolder: path })).end.kind, 'exited')
      const { end, output } = await attach(steps, token)
      assert.deepEqual(end, { kind: 'exited', code: 0 })
      assert.doesNotMatch(output.toString(), /root/)
      assert.ok(output.length <= 256 * 1024)
    }
  })

  test('a step that damages its own state while it runs still ends once, with its result', async () => {
    const own = '$HOME/.gantry/*-$GANTRY_COMMAND'
    for (const damage of [
      'rm exit',
      'rm exit; mkdir exit',
      'rm exit; ln -s /etc/passwd exit',
      'rm -rf *',
      'rm -rf "$PWD"',
      'chmod 000 *',
      'chmod 000 "$PWD"',
      'mkdir -p deep/down; touch deep/down/file; chmod 000 deep; chmod 500 "$PWD"',
    ]) {
      const { end, token, path } = await start(steps, `cd ${own} && ${damage}; exit 3`)
      assert.deepEqual(end, { kind: 'exited', code: 3 }, damage)
      assert.deepEqual((await attach(steps, token)).end, { kind: 'exited', code: 3 }, damage)
      assert.deepEqual([await steps.remove(path), existsSync(path)], [true, false], damage)
    }
  })

  test('a step whose state was removed is neither void nor started again while it runs', async (t) => {
    const leaving = new AbortController()
    const token = `sleeper-${randomUUID()}`
    const running = start(steps, `rm -rf $HOME/.gantry/*-$GANTRY_COMMAND; ${START_DAEMONS} sleep 1000`, {
      environment: { TOKEN: token },
      timeoutMs: 6_000,
      graceMs: 100,
      leave: leaving.signal,
    })
    await until(() => processesNamed(token).length === 5)
    leaving.abort()
    const left = await running
    assert.deepEqual(left.end, { kind: 'left' })
    assert.equal((await attach(await opened(t, sshd), left.token)).end.kind, 'unreadable')
    await until(() => hasEnded(left.path))
    assert.deepEqual(processesNamed(token), [])
    assert.deepEqual((await attach(steps, left.token)).end, { kind: 'timed-out' })
  })

  test('a full disk ends the step, and is named', { skip: !asRoot && 'mounting takes root' }, async (t) => {
    const disk = await sharedFolder(t)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=777', 'tmpfs', disk])
    later(t, () => execFileSync('umount', ['-l', disk]))
    const small = await startSshd(t, { settings: [`SetEnv HOME=${disk}`] })
    const full = await opened(t, small)
    const { end, output } = await start(
      full,
      'head -c 100000 /dev/zero; head -c 4000000 /dev/zero; sleep 1000',
    )
    assert.equal(end.kind, 'disk-full')
    assert.ok(end.kind === 'disk-full' && end.message.includes(`${disk} `), JSON.stringify(end))
    assert.ok(output.length >= 100_000)
    const { end: refused } = await start(full, 'echo hello')
    assert.equal(refused.kind, 'disk-full')
    assert.deepEqual(foldersOf(disk).length, 1)
    assert.equal(await full.sweep(async (tokens) => tokens), 1)
    assert.deepEqual((await start(full, 'echo hello')).end, { kind: 'exited', code: 0 })
  })

  test('where state cannot be kept, and where logind ends what a session leaves, steps are not detached', async (t) => {
    const elsewhere = join('/var/tmp', `gantry-${asRoot ? uidOf(sshd.accounts[0]!.name) : process.getuid!()}`)
    later(t, () => rm(elsewhere, { recursive: true, force: true }))
    const bare = await sharedFolder(t)
    await symlink(home, join(bare, '.gantry'))
    const linked = await opened(t, await startSshd(t, { settings: [`SetEnv HOME=${bare}`] }))
    assert.equal(linked.statePath(newStepToken()).startsWith(`${elsewhere}/test-7-`), true)
    await rm(elsewhere, { recursive: true })
    await symlink(home, elsewhere)
    const reasonOf = async (settings: string[]) => {
      const executor = await connected(t, await startSshd(t, { settings }))
      const steps = await executor.openDetached!({ runAsUser: null, owner: OWNER })
      return 'reason' in steps ? steps.reason : steps.kind
    }
    assert.match(
      await reasonOf([`SetEnv HOME=${bare}`]),
      /can write to neither .*\.gantry nor \/var\/tmp\/gantry-/,
    )
    const standIn = '#!/bin/sh\necho KillUserProcesses=yes\n'
    await writeFile(join(bare, 'loginctl'), standIn, { mode: 0o755 })
    assert.match(await reasonOf([`SetEnv HOME=${home} PATH=${bare}:/usr/bin:/bin`]), /logind/)
  })

  test('50 steps at the same time are independent', async () => {
    const numbers = Array.from({ length: 50 }, (_, index) => index)
    const ran = await Promise.all(numbers.map((n) => start(steps, `sleep 0.1; echo ${n}; exit ${n}`)))
    assert.deepEqual(
      ran.map(({ end, output }) => [end, output]),
      numbers.map((n) => [{ kind: 'exited', code: n }, `${n}\n`]),
    )
  })

  test('a sweep removes what is finished, of this owner; void ones stay for a day', async () => {
    const [one, other] = [await start(steps, 'true'), await start(steps, 'true')]
    const foreign = join(home, '.gantry', `test-70-${newStepToken()}`)
    await mkdir(foreign)
    let asked: string[] = []
    const findFinished = async (tokens: string[]) => {
      asked = tokens
      return [one.token, newStepToken()]
    }
    assert.equal(await steps.sweep(findFinished), 1)
    assert.ok(asked.includes(other.token))
    assert.deepEqual([existsSync(one.path), existsSync(other.path), existsSync(foreign)], [false, true, true])
    await rm(foreign, { recursive: true })
    const token = newStepToken()
    await attach(steps, token)
    const longAgo = Date.now() / 1_000 - 25 * 3_600
    await utimes(steps.statePath(token), longAgo, longAgo)
    assert.equal(await steps.sweep(async () => [token]), 1)
  })

  test('removing the state of a step that runs ends it', async () => {
    const leaving = new AbortController()
    const token = `sleeper-${randomUUID()}`
    const left = await start(steps, `${START_DAEMONS} sleep 1000`, {
      environment: { TOKEN: token },
      leave: leaving.signal,
      onOutput: () => leaving.abort(),
    })
    assert.equal(await steps.remove(left.path), true)
    assert.deepEqual([processesNamed(token), existsSync(left.path)], [[], false])
    assert.equal(await steps.remove(join(home, '.gantry')), false)
  })

  test('in the end nothing is left', async () => {
    await steps.sweep(async (tokens) => tokens)
    const left = foldersOf(home)
    assert.ok(
      left.every((name) => readFileSync(join(home, '.gantry', name, 'supervisor'), 'utf8') === 'void\n'),
    )
    assert.equal(left.length, 1)
    for (const name of left) assert.equal(await steps.remove(join(home, '.gantry', name)), true)
    assert.deepEqual(foldersOf(home), [])
  })
})

const MIB = 2 ** 20

const uidOf = (name: string) => execFileSync('id', ['-u', name], { encoding: 'utf8' }).trim()

/** The processes that wait for a step, below the supervisor with this home. */
function waitingIn(home: string): number[] {
  const state = join(home, '.gantry')
  const isHere = (pid: number) => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`) === state
    } catch {
      return false
    }
  }
  const pids = readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && isHere(pid))
  return pids.filter((pid) => isHere(parentOf(pid))).toSorted((a, b) => a - b)
}

function parentOf(pid: number): number {
  try {
    return Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  } catch {
    return 0
  }
}

function watcherOf(path: string): number | undefined {
  try {
    return Number(readFileSync(join(path, 'supervisor'), 'utf8').split(' ')[1]) || undefined
  } catch {
    return undefined
  }
}

const childrenOf = (pid: number) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)

function hasEnded(path: string): boolean {
  const file = join(path, 'exit')
  return existsSync(file) && readFileSync(file, 'utf8').trim() !== ''
}

const foldersOf = (home: string) => readdirSync(join(home, '.gantry'))

type Started = {
  end: Awaited<ReturnType<DetachedSteps['start']>>
  output: string
  bytes: Buffer
  token: string
  path: string
}

/** Collects what a step prints, and where. */
function collector(more: Partial<Follow> = {}, from = 0) {
  const chunks: Buffer[] = []
  const gaps: [number, number][] = []
  let next = from
  const follow: Follow = {
    cancel: new AbortController().signal,
    leave: new AbortController().signal,
    ...more,
    onOutput(chunk, offset) {
      if (offset !== next) gaps.push([next, offset])
      next = offset + chunk.length
      chunks.push(chunk)
      return more.onOutput?.(chunk, offset)
    },
  }
  return { follow, gaps, output: () => Buffer.concat(chunks), next: () => next }
}

async function start(
  steps: DetachedSteps,
  command: string,
  more: Partial<DetachedStart & Follow> = {},
): Promise<Started> {
  const token = more.token ?? newStepToken()
  const collected = collector(more)
  const end = await steps.start(
    {
      command,
      environment: {},
      workingFolder: null,
      timeoutMs: 60_000,
      graceMs: 2_000,
      leaseSeconds: 60,
      ...more,
      token,
    },
    collected.follow,
  )
  const bytes = collected.output()
  return { end, output: bytes.toString(), bytes, token, path: steps.statePath(token) }
}

async function attach(steps: DetachedSteps, token: string, offset = 0, more: Partial<Follow> = {}) {
  const collected = collector(more, offset)
  const end = await steps.attach({ token, statePath: steps.statePath(token), offset }, collected.follow)
  return { end, output: collected.output(), gaps: collected.gaps, next: collected.next() }
}

async function connected(t: Closer, sshd: Sshd): Promise<Executor> {
  const connection = await connectSsh({
    host: '127.0.0.1',
    addresses: ['127.0.0.1'],
    port: sshd.port,
    username: sshd.accounts[0]!.name,
    privateKey: sshd.privateKey,
    hostKey: sshd.hostKey,
    onNewHostKey: () => Promise.reject(new Error('the host key is known')),
    connectTimeoutMs: 20_000,
  })
  if (connection.kind !== 'connected') throw new Error(JSON.stringify(connection))
  later(t, () => connection.executor.close())
  return connection.executor
}

async function opened(t: Closer, sshd: Sshd): Promise<DetachedSteps> {
  return open(await connected(t, sshd))
}

async function open(executor: Executor, more: { leaseSeconds?: number } = {}): Promise<DetachedSteps> {
  const steps = await executor.openDetached!({ runAsUser: null, owner: OWNER, ...more })
  if (steps.kind !== 'detached') throw new Error(JSON.stringify(steps))
  return steps
}

async function sharedFolder(t: Closer): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-detached-'))
  later(t, () => rm(folder, { recursive: true, force: true }))
  await chmod(folder, 0o777)
  return folder
}
