import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { Containment, LocalExecutor } from './local.ts'
import type { LocalAccount } from './local-account.ts'
import { testBehavior } from './test-behavior.ts'
import {
  cancelAt,
  childrenOf,
  commandLineOf,
  descendantsOf,
  openLocal,
  processesNamed,
  run,
  START_DAEMONS,
  startVictim,
  until,
} from './test-commands.ts'

const asRoot = process.getuid!() === 0

for (const containment of ['namespace', 'guard'] as const) {
  describe(`local commands, contained by a ${containment}`, () => {
    let local: LocalExecutor
    before(async () => {
      local = await openLocal({ containment })
    })
    after(() => local.close())

    testBehavior(() => local)

    test('a command sees its account and what it was given, and nothing of the service environment', async () => {
      const account = accountOf(local)
      process.env.GANTRY_TEST_SECRET = 'secret'
      const { output } = await run(local, 'env -0', { environment: { GIVEN: 'yes' } })
      delete process.env.GANTRY_TEST_SECRET
      const seen = Object.fromEntries(output.split('\0').map((line) => line.split(/=(.*)/s)))
      const { PWD, OLDPWD, SHLVL, _, '': end, GANTRY_COMMAND, ...rest } = seen
      assert.deepEqual(rest, {
        GIVEN: 'yes',
        HOME: account.home,
        LANG: 'C.UTF-8',
        LOGNAME: account.name,
        PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        SHELL: '/bin/bash',
        USER: account.name,
      })
    })

    test('a command has no more permissions than its account', async () => {
      const { uid, gid } = accountOf(local)
      const { output } = await run(local, 'id -u; id -g; id -G; grep CapEff /proc/self/status')
      assert.equal(output, `${uid}\n${gid}\n${gid}\nCapEff:\t0000000000000000\n`)
      if (asRoot) assert.notEqual(uid, 0)
    })

    test('the account that a step specifies is used, or the step is impossible', async () => {
      const unknown = await run(local, 'id', { runAsUser: 'no-such-account' })
      assert.equal(unknown.end.kind, 'impossible')
      const root = await run(local, 'id -u', { runAsUser: 'root' })
      if (asRoot) assert.equal(root.output, '0\n')
      else
        assert.match(root.end.kind === 'impossible' ? root.end.message : '', /only root can switch accounts/)
      const { name, uid } = accountOf(local)
      assert.equal((await run(local, 'id -u', { runAsUser: name })).output, `${uid}\n`)
    })

    test('when Gantry is killed, so is everything it started', async (t) => {
      const token = `sleeper-${randomUUID()}`
      const victim = await startVictim(t, { kind: 'local', containment, token })
      assert.equal(processesNamed(token).length, 5)
      // What it needs to start commands, and what it has ready for the next.
      const helpers = descendantsOf(victim.pid)
      await victim.kill()
      await until(() => [...processesNamed(token), ...helpers.filter(commandLineOf)].length === 0)
    })

    test('closing cancels running commands, and waits for them to end', async () => {
      const own = await openLocal({ containment })
      const token = `sleeper-${randomUUID()}`
      const ready = Promise.withResolvers<void>()
      const running = run(own, `${START_DAEMONS} sleep 1000`, {
        environment: { TOKEN: token },
        graceMs: 50,
        onOutput: () => ready.resolve(),
      })
      await ready.promise
      await own.close()
      assert.deepEqual(processesNamed(token), [])
      assert.deepEqual((await running).end, { kind: 'cancelled' })
      assert.deepEqual((await run(own, 'true')).end, { kind: 'cancelled' })
    })
  })
}

test('a command sees its own processes, under the ids it knows, and no others', async (t) => {
  const local = await openIn('namespace', t)
  const { output } = await run(local, 'sleep 1000 & cd /proc; ls -d $$ $! 1 >/dev/null && ls -d [0-9]*')
  const numbers = output.trim().split('\n').map(Number)
  assert.ok(numbers.length >= 3 && !numbers.includes(process.pid), output)
})

test('in a namespace, not even a process without any trace of its origin escapes', async (t) => {
  const local = await openIn('namespace', t)
  const token = `sleeper-${randomUUID()}`
  const daemon = `(env -i setsid bash -c 'exec -a "$0" sleep 1000' ${token} </dev/null >/dev/null 2>&1 &)`
  await run(local, `${daemon}; until grep -qsa ^${token} /proc/[0-9]*/cmdline; do sleep 0.02; done`)
  assert.deepEqual(processesNamed(token), [])
})

test('a command that stops what waits for it ends at its timeout, and the next one runs', async (t) => {
  const local = await openIn('namespace', t)
  const startedAt = performance.now()
  const stop = 'kill -STOP $PPID; sleep 0.1'
  const { end } = await run(local, stop, { timeoutMs: 1_000, graceMs: 500 })
  assert.equal(end.kind, 'timed-out')
  const tookMs = performance.now() - startedAt
  assert.ok(tookMs < 6_000, `${Math.round(tookMs)} ms`)
  assert.equal((await run(local, 'echo next')).output, 'next\n')
})

describe('a sandbox that is reused', () => {
  // The number of its order, an argument of the keeper: the kernel uses those of namespaces again.
  const SANDBOX = `tr '\\0' '\\n' </proc/1/cmdline | grep -xE '[0-9]+'`
  const runAll = async (local: LocalExecutor, commands: string[], runAsUser: string | null = null) => {
    const outputs: string[] = []
    for (const command of commands) outputs.push((await run(local, command, { runAsUser })).output)
    return outputs
  }

  test('is one of few, however many commands follow each other', async (t) => {
    const sandboxes = await runAll(await openIn('namespace', t), Array(8).fill(SANDBOX))
    assert.ok(new Set(sandboxes).size <= 3, sandboxes.join(''))
  })

  test('has no process of the command before, however it detached itself', async (t) => {
    const local = await openIn('namespace', t)
    const token = `sleeper-${randomUUID()}`
    const seen: string[] = []
    for (let number = 0; number < 4; number += 1) {
      const { output } = await run(local, `${SANDBOX}; ls -d /proc/[0-9]* | wc -l`)
      const [sandbox, processes] = output.trim().split('\n')
      seen.push(sandbox!)
      // The keeper, setsid and bash, ls and wc.
      assert.ok(Number(processes) <= 6, output)
      const left = await run(local, `${SANDBOX}; ${START_DAEMONS}`, { environment: { TOKEN: token } })
      seen.push(left.output.split('\n')[0]!)
      assert.deepEqual(processesNamed(token), [])
    }
    assert.ok(new Set(seen).size < seen.length, seen.join(' '))
  })

  test('has no shared memory, semaphores or message queues of the command before', async (t) => {
    const local = await openIn('namespace', t)
    for (const kind of ['--shmem 4096', '--semaphore 1', '--queue']) {
      const left = await run(local, `${SANDBOX}; ipcmk ${kind} >/dev/null`)
      const sandboxes = await runAll(local, Array(4).fill(`${SANDBOX}; cat /proc/sysvipc/* | wc -l`))
      for (const output of sandboxes) {
        const [sandbox, lines] = output.trim().split('\n')
        assert.notEqual(sandbox, left.output.trim(), kind)
        assert.equal(lines, '3', kind)
      }
    }
  })

  test('is not reused after a command that was ended', async (t) => {
    const local = await openIn('namespace', t)
    const { signal, onOutput, output } = cancelAt('\n')
    await run(local, `${SANDBOX}; sleep 1000`, { signal, onOutput })
    const sandboxes = await runAll(local, Array(4).fill(SANDBOX))
    assert.ok(!sandboxes.includes(output()), sandboxes.join(''))
  })

  test('is not reused when a command has sent signals to its keeper', async (t) => {
    const local = await openIn('namespace', t)
    const user = asRoot ? 'root' : null
    for (const signal of ['USR1', 'USR2', 'URG', 'TERM']) {
      const { output, end } = await run(local, `${SANDBOX}; trap '' TERM; kill -${signal} 1; sleep 0.2`, {
        runAsUser: user,
      })
      const later = await runAll(local, Array(4).fill(SANDBOX), user)
      assert.ok(
        later.every((one) => /^\d+\n$/.test(one)),
        `${signal}: ${later}`,
      )
      // TERM is what programs send by default: the keeper ignores it.
      if (signal === 'TERM') assert.deepEqual(end, { kind: 'exited', code: 0 })
      else assert.ok(!later.includes(output), `${signal}: ${later}`)
    }
  })

  test('ends with its launcher, which has a limited number of commands', async (t) => {
    const local = await openIn('namespace', t)
    const [first] = launchers()
    assert.ok(first)
    const ends = await Promise.all(
      Array.from({ length: 4 }, () => runAll(local, Array(100).fill('echo hello'))),
    )
    assert.ok(ends.flat().every((output) => output === 'hello\n'))
    await until(() => !launchers().includes(first))
  })

  test('that was killed while nothing ran in it is replaced', async (t) => {
    const local = await openIn('namespace', t)
    await runAll(local, [SANDBOX, SANDBOX, SANDBOX])
    const keepers = descendantsOf(process.pid).filter((pid) => commandLineOf(pid).includes('/proc/sysvipc'))
    for (const pid of keepers) process.kill(pid, 'SIGKILL')
    // The first one may be the prewarmed one, which was killed with its sandbox.
    const outputs = await runAll(local, Array(4).fill('echo hello'))
    assert.ok(
      outputs.slice(1).every((output) => output === 'hello\n'),
      outputs.join(''),
    )
  })
})

test('a command that kills its guard is ended by another', async (t) => {
  const local = await openIn('guard', t)
  const token = `sleeper-${randomUUID()}`
  const killGuard = `for f in $(grep -lsa 'read -r marks' /proc/[0-9]*/cmdline); do
    f=\${f%/*}; grep -q "^PPid:.*\\b${process.pid}$" $f/status && kill -9 \${f#/proc/}
  done 2>/dev/null; echo killed`
  const { output } = await run(local, `${START_DAEMONS} ${killGuard}`, { environment: { TOKEN: token } })
  assert.equal(output, 'up\nkilled\n')
  assert.deepEqual(processesNamed(token), [])
  assert.equal((await run(local, 'echo hello')).output, 'hello\n')
})

test('when the launcher is killed, so are its commands, and another one starts', async (t) => {
  const local = await openIn('namespace', t)
  const token = `sleeper-${randomUUID()}`
  const { end } = await run(local, `${START_DAEMONS} sleep 1000`, {
    environment: { TOKEN: token },
    onOutput() {
      process.kill(launchers()[0]!, 'SIGKILL')
    },
  })
  assert.equal(end.kind, 'unreachable')
  await until(() => processesNamed(token).length === 0)
  assert.equal((await run(local, 'echo hello')).output, 'hello\n')
})

test('by default commands are isolated', async (t) => {
  assert.equal((await openIn(undefined, t)).containment, 'namespace')
})

async function openIn(containment: Containment | undefined, t: TestContext): Promise<LocalExecutor> {
  const local = await openLocal({ containment })
  t.after(() => local.close())
  return local
}

/** By a function of launcher.sh. */
function launchers(): number[] {
  return childrenOf(process.pid).filter((pid) => commandLineOf(pid).includes('open_sandbox()'))
}

function accountOf(local: LocalExecutor): LocalAccount {
  assert.ok(!('kind' in local.account))
  return local.account
}
