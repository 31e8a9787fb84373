// What every executor does, wherever its commands run. Called inside a `describe`.
import assert from 'node:assert/strict'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Executor } from './executor.ts'
import { cancelAt, processesNamed, run, START_DAEMONS, until } from './test-commands.ts'

const MEGABYTE = 1024 * 1024

export function testBehavior(executor: () => Executor): void {
  test('exit codes are reported as they are, even those that look like something else', async () => {
    for (const code of [0, 7, 137, 255]) {
      assert.deepEqual((await run(executor(), `exit ${code}`)).end, { kind: 'exited', code })
    }
  })

  test('a signal that ends the command is reported by name', async () => {
    for (const signal of ['SIGTERM', 'SIGKILL', 'SIGSEGV']) {
      assert.deepEqual((await run(executor(), `kill -${signal} $$`)).end, { kind: 'signalled', signal })
    }
  })

  test('output and errors come together and in order, also through /dev/stdout and /dev/stderr', async () => {
    const { output } = await run(
      executor(),
      'echo 1; echo 2 >&2; echo 3 >/dev/stdout; echo 4 >/dev/stderr; echo 5',
    )
    assert.equal(output, '1\n2\n3\n4\n5\n')
  })

  test('values arrive byte for byte and are never executed', async () => {
    const environment = {
      QUOTES: `'"\`\\ '\\'' $'x' !! %s`,
      LINES: '\n a\tb\r\n\n',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: bash
      CODE: '$(touch /tmp/obeyed) ${HOME} `id` ; exit 9',
      LETTERS: 'Größe 東京 🚀 \u0001\u007f',
      EMPTY: '',
      CDPATH: '/usr',
      BASH_ENV: '/nowhere',
    }
    const names = Object.keys(environment)
    const { end, output } = await run(
      executor(),
      names.map((name) => `printf '%s\\0' "$${name}"`).join('; '),
      { environment },
    )
    assert.deepEqual(end, { kind: 'exited', code: 0 })
    assert.deepEqual(output.split('\0').slice(0, -1), Object.values(environment))
  })

  test('a command of 64 KiB with quotes, newlines and Unicode runs, one byte more does not', async () => {
    const beginning = `value='it'"'"'s "über" $HOME'\n`
    const ending = `\nprintf '%s|%s' "$value" "\${#filler}"\n`
    const filler = 'ü\n"'
    const room = 64 * 1024 - Buffer.byteLength(`${beginning}filler=''${ending}`)
    const repeated = filler.repeat(Math.floor(room / Buffer.byteLength(filler)))
    const rest = 'x'.repeat(room - Buffer.byteLength(repeated))
    const command = `${beginning}filler='${repeated}${rest}'${ending}`
    assert.equal(Buffer.byteLength(command), 64 * 1024)
    // Whether bash counts bytes or letters depends on the locale of the target.
    const { output } = await run(executor(), command, { environment: { LC_ALL: 'C.UTF-8' } })
    assert.equal(output, `it's "über" $HOME|${repeated.length + rest.length}`)
    assert.equal((await run(executor(), `${command} `)).end.kind, 'impossible')
  })

  test('error messages carry the line numbers of the command', async () => {
    const { output } = await run(executor(), '\ntrue\nno-such-program\n', { environment: { A: 'x\ny\nz' } })
    assert.match(output, /^bash: line 3: no-such-program: command not found\n$/)
  })

  test('set -e, traps and exit work as in any script', async () => {
    const { end, output } = await run(executor(), 'trap "echo trapped" EXIT; set -e; false; echo not reached')
    assert.deepEqual([end, output], [{ kind: 'exited', code: 1 }, 'trapped\n'])
  })

  test('a command ignores and blocks no signal that it did not choose to', async () => {
    const { output } = await run(executor(), "grep -E '^Sig(Ign|Blk):' /proc/self/status")
    assert.equal(output.replace(/[0\s]/g, ''), 'SigBlk:SigIgn:')
  })

  test('a variable name that is invalid in bash is rejected', async () => {
    for (const name of ['UID', 'with-dash', 'BASH_FUNC_ls%%', 'A=B', '', '1A', 'x;id']) {
      const { end } = await run(executor(), 'true', { environment: { [name]: '1' } })
      assert.equal(end.kind, 'impossible', name)
    }
  })

  test('the command runs in its working folder', async () => {
    assert.equal((await run(executor(), 'pwd', { workingFolder: '/usr/bin' })).output, '/usr/bin\n')
  })

  test('a missing working folder ends the command as `cd` would, with an error message', async () => {
    const { end, output } = await run(executor(), 'echo ran', { workingFolder: "/no/such 'folder'" })
    assert.deepEqual(end, { kind: 'exited', code: 1 })
    assert.match(output, /^bash: line 1: cd: \/no\/such 'folder': No such file or directory\n$/)
  })

  test('without input the command sees the end of its input', async () => {
    assert.equal((await run(executor(), 'cat; cat /dev/stdin; echo over')).output, 'over\n')
  })

  test('input arrives complete, every byte of it, and nothing else', async () => {
    const archive = randomBytes(8 * MEGABYTE)
    const input = Readable.from(chunked(archive))
    const { output } = await run(executor(), 'sha256sum', { input })
    assert.equal(output.split(' ')[0], createHash('sha256').update(archive).digest('hex'))
  })

  test('input that the command does not read delays nothing, and is destroyed', async () => {
    const input = Readable.from(chunked(randomBytes(8 * MEGABYTE)))
    assert.deepEqual((await run(executor(), 'exit 3', { input })).end, { kind: 'exited', code: 3 })
    assert.ok(input.destroyed)
  })

  test('an input that fails stops the command instead of looking complete', async () => {
    const token = `sleeper-${randomUUID()}`
    const input = Readable.from(
      (async function* () {
        yield Buffer.from('half an archive')
        await until(() => processesNamed(token).length > 0)
        throw new Error('the repository is gone')
      })(),
    )
    const command = `bash -c 'exec -a "$0" sleep 1000' ${token} & cat; echo complete`
    let output = ''
    const onOutput = (chunk: Buffer) => {
      output += chunk
    }
    await assert.rejects(run(executor(), command, { input, onOutput, graceMs: 0 }), /the repository is gone/)
    assert.doesNotMatch(output, /complete/)
    assert.deepEqual(processesNamed(token), [])
  })

  test('an error in onOutput stops the command', async () => {
    const onOutput = () => Promise.reject(new Error('the disk is full'))
    await assert.rejects(
      run(executor(), 'echo hello; sleep 1000', { onOutput, graceMs: 0 }),
      /the disk is full/,
    )
  })

  test('everything a command leaves behind is gone when it ends, even if it holds the output open', async () => {
    const token = `sleeper-${randomUUID()}`
    const { end, output } = await run(executor(), `${START_DAEMONS}exit 4`, { environment: { TOKEN: token } })
    assert.deepEqual([end, output], [{ kind: 'exited', code: 4 }, 'up\n'])
    assert.deepEqual(processesNamed(token), [])
  })

  test('cancelling ends everything, even what ignores SIGTERM', async () => {
    const token = `sleeper-${randomUUID()}`
    const command = `trap '' TERM; ${START_DAEMONS} while :; do sleep 1000; done`
    const { end } = await run(executor(), command, {
      environment: { TOKEN: token },
      graceMs: 100,
      ...cancelAt('up\n'),
    })
    assert.deepEqual(end, { kind: 'cancelled' })
    assert.deepEqual(processesNamed(token), [])
  })

  test('a timeout ends everything too', async () => {
    const token = `sleeper-${randomUUID()}`
    const command = `${START_DAEMONS} sleep 1000`
    const { end } = await run(executor(), command, {
      environment: { TOKEN: token },
      timeoutMs: 800,
      graceMs: 100,
    })
    assert.deepEqual(end, { kind: 'timed-out' })
    assert.deepEqual(processesNamed(token), [])
  })

  test('a terminated process may clean up first, once, and the executor waits no longer than that', async () => {
    const stop = cancelAt('ready\n')
    const command = `(trap 'sleep 0.2; echo cleaned up; exit' TERM; echo ready; while :; do sleep 0.02; done) & wait`
    const began = performance.now()
    const { end } = await run(executor(), command, { ...stop, graceMs: 60_000 })
    assert.deepEqual(end, { kind: 'cancelled' })
    assert.equal(stop.output().match(/cleaned up/g)?.length, 1)
    assert.ok(performance.now() - began < 30_000)
  })

  test('a command that suspends itself is still ended', async () => {
    const { end } = await run(executor(), 'kill -STOP $$', { timeoutMs: 300, graceMs: 50 })
    assert.deepEqual(end, { kind: 'timed-out' })
  })

  test('a command that closes its output and continues is awaited', async () => {
    const { end, output } = await run(executor(), 'echo bye; exec >&- 2>&-; sleep 0.3; exit 5')
    assert.deepEqual([end, output], [{ kind: 'exited', code: 5 }, 'bye\n'])
  })

  test('a command that was cancelled before it starts does not start', async () => {
    const input = Readable.from(['x'])
    const { end, output } = await run(executor(), 'echo hello', { signal: AbortSignal.abort(), input })
    assert.deepEqual([end, output], [{ kind: 'cancelled' }, ''])
    assert.ok(input.destroyed)
  })

  test('commands run side by side, each with its own output', async () => {
    const numbers = Array.from({ length: 12 }, (_, index) => index)
    const ran = await Promise.all(numbers.map((n) => run(executor(), `sleep 0.05; echo ${n}; exit ${n}`)))
    assert.deepEqual(
      ran.map(({ end, output }) => [end, output]),
      numbers.map((n) => [{ kind: 'exited', code: n }, `${n}\n`]),
    )
  })

  test('a slow reader of much output causes backpressure, not memory use', async () => {
    const size = 200 * MEGABYTE
    let seen = 0
    let chunks = 0
    let most = 0
    const before = heldBytes()
    const { end } = await run(executor(), `head -c ${size} /dev/zero`, {
      async onOutput(chunk) {
        seen += chunk.length
        if (chunks++ % 250 !== 0) return
        await pause(20)
        most = Math.max(most, heldBytes() - before)
      },
    })
    assert.deepEqual([end, seen], [{ kind: 'exited', code: 0 }, size])
    assert.ok(most < 64 * MEGABYTE, `${most} bytes held`)
  })
}

/** Without what is only waiting to be collected. */
function heldBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().arrayBuffers
}

function* chunked(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += 64 * 1024) yield bytes.subarray(at, at + 64 * 1024)
}
