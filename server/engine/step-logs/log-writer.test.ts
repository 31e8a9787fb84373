import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { suite, type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { createMaskers } from '#platform/masking/mask-stream.ts'
import { MASK } from '#platform/masking/masked.ts'
import { createLogWriter, type LogChunk, type LogWriterOptions } from './log-writer.ts'

/** A writer and what it stored; `hold` keeps the store from answering until `release`. */
function openLog(options: Partial<LogWriterOptions> = {}) {
  const chunks: LogChunk[] = []
  let gate = Promise.resolve()
  let open = () => {}
  const store = async (chunk: LogChunk) => {
    chunks.push(chunk)
    await gate
  }
  const writer = createLogWriter({ store, newMasker: createMaskers([]), ...options })
  return {
    writer,
    chunks,
    text: () => chunks.map((chunk) => chunk.text).join(''),
    write: (text: string) => writer.write(Buffer.from(text)),
    hold: () => {
      ;({ promise: gate, resolve: open } = Promise.withResolvers<void>())
    },
    release: () => open(),
  }
}

async function isDone(promise: Promise<unknown>): Promise<boolean> {
  const done = promise.then(() => true)
  return Promise.race([done, new Promise<boolean>((resolve) => setImmediate(() => resolve(false)))])
}

function mockTime(t: TestContext): (ms: number) => void {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  return (ms) => t.mock.timers.tick(ms)
}

suite('what is written', () => {
  test('is stored after 100 ms, together with what came in between', async (t) => {
    const pass = mockTime(t)
    const log = openLog()
    await log.write('one ')
    pass(60)
    await log.write('two ')
    pass(39)
    assert.deepEqual(log.chunks, [])
    pass(1)
    assert.deepEqual(log.chunks, [{ startOffset: 0, text: 'one two ', bytes: 8 }])
    await log.write('thrée')
    await log.writer.close()
    assert.deepEqual(log.chunks[1], { startOffset: 8, text: 'thrée', bytes: 6 })
  })

  test('is stored immediately at 64 KiB, in chunks that are no larger', async (t) => {
    mockTime(t)
    const log = openLog()
    await log.write('x'.repeat(64 * 1024 - 1))
    assert.equal(log.chunks.length, 0)
    await log.write('y')
    assert.deepEqual(
      log.chunks.map(({ bytes }) => bytes),
      [64 * 1024],
    )
    await log.write('🙂'.repeat(40_000))
    await log.writer.close()
    assert.ok(log.chunks.every(({ bytes, text }) => bytes <= 64 * 1024 && text.isWellFormed()))
    assert.equal(log.text().length, 64 * 1024 + 80_000)
  })

  test('continues where an earlier attempt ended, on a new line', async () => {
    const log = openLog({ startOffset: 100 })
    await log.writer.line('Attempt 2')
    await log.write('again\n')
    await log.writer.close()
    assert.deepEqual(log.chunks, [{ startOffset: 100, text: '\nAttempt 2\nagain\n', bytes: 17 }])
  })

  test('is sanitized before it is masked: a secret split by control characters is found', async () => {
    const log = openLog({ newMasker: createMaskers(['hunter2']) })
    await log.write('hun\x1b]0;title\x07ter2 hu\0nter2 h\x1b[31munter2 hun')
    await log.write('\x1b[5Ate')
    await log.write('r2\r\n')
    await log.writer.close()
    assert.equal(log.text(), `${MASK} ${MASK} ${MASK}\x1b[31m ${MASK}\n`)
  })

  test('that ends in a partial secret or character is complete after close', async () => {
    const log = openLog({ newMasker: createMaskers(['hunter2']) })
    await log.write('my hunt')
    await log.writer.write(Buffer.from([0xf0, 0x9f]))
    await log.writer.close()
    assert.equal(log.text(), 'my hunt\ufffd')
  })

  test('is stored in order, without gaps, however it is split and however slow the store is', async () => {
    const piece = fc.string({ unit: fc.constantFrom('a', 'é', '🙂', '\n', '\x1b[31m'), maxLength: 300 })
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { maxLength: 12 }),
        fc.infiniteStream(fc.nat(3)),
        async (pieces, delays) => {
          const chunks: LogChunk[] = []
          const turns = async () => {
            for (let left = delays.next().value ?? 0; left > 0; left--) await new Promise(setImmediate)
          }
          const store = async (chunk: LogChunk) => {
            await turns()
            chunks.push(chunk)
          }
          const writer = createLogWriter({
            store,
            newMasker: createMaskers(['secret']),
            flushBytes: 256,
            flushMs: 1,
          })
          for (const piece of pieces) {
            await writer.write(Buffer.from(piece))
            await turns()
          }
          await writer.close()
          assert.equal(chunks.map((chunk) => chunk.text).join(''), pieces.join(''))
          let offset = 0
          for (const { startOffset, text, bytes } of chunks) {
            assert.equal(startOffset, offset)
            assert.equal(bytes, Buffer.byteLength(text))
            assert.ok(bytes > 0 && bytes <= 256)
            assert.ok(text.isWellFormed() && !/\x1b(?!\[31m)/.test(text))
            offset += bytes
          }
        },
      ),
    )
  })

  test('after close is rejected', async () => {
    const log = openLog()
    await log.writer.close()
    await assert.rejects(log.write('late'), /closed/)
    await assert.rejects(log.writer.line('late'), /closed/)
    assert.deepEqual(log.chunks, [])
  })
})

suite('lines from Gantry', () => {
  test('are separate lines', async () => {
    const log = openLog()
    await log.writer.line('Connected')
    await log.write('no end of line')
    await log.writer.line('Timed out after 600 s')
    await log.write('late\n')
    await log.writer.line('Ended')
    await log.writer.close()
    assert.equal(log.text(), 'Connected\nno end of line\nTimed out after 600 s\nlate\nEnded\n')
  })

  test('are sanitized too', async () => {
    const log = openLog({ newMasker: createMaskers(['hunter2']) })
    await log.writer.line('The server said: hunter2\x1b[2J\0')
    await log.writer.close()
    assert.equal(log.text(), `The server said: ${MASK}\n`)
  })

  test('do not leak a secret that they interrupt', async () => {
    const log = openLog({ newMasker: createMaskers(['hunter2']) })
    await log.write('my hunt')
    await log.writer.line('Still running')
    await log.write('er2\n')
    await log.writer.close()
    assert.equal(log.text(), `my \nStill running\n${MASK}\n`)
  })
})

suite('output beyond the limit', () => {
  test('is truncated, with one separate line that says so', async () => {
    const log = openLog({ maxBytes: 1024 })
    await log.write('x'.repeat(1023))
    await log.write('yz')
    await log.write('more')
    await log.writer.line('Timed out after 600 s')
    await log.write('more')
    await log.writer.close()
    assert.equal(
      log.text(),
      `${'x'.repeat(1023)}y\n[output truncated: the limit is 1 KiB per step]\nTimed out after 600 s\n`,
    )
  })

  test('is counted over all attempts', async () => {
    const log = openLog({ maxBytes: 1024, startOffset: 1100 })
    await log.writer.line('Attempt 2')
    await log.write('output\n')
    await log.writer.close()
    assert.equal(log.text(), '\nAttempt 2\n[output truncated: the limit is 1 KiB per step]\n')
  })

  test('does not stop the command that prints it', async () => {
    const log = openLog()
    const command = spawn('bash', ['-c', 'yes "a line of output" | head -c 25000000; exit 7'])
    const ended = once(command, 'close')
    for await (const bytes of command.stdout) await log.writer.write(bytes)
    assert.equal((await ended)[0], 7)
    await log.writer.close()
    const notice = '[output truncated: the limit is 10 MiB per step]\n'
    assert.equal(Buffer.byteLength(log.text()), 10 * 2 ** 20 + 1 + notice.length)
    assert.ok(log.text().endsWith(`\n${notice}`))
  })
})

suite('a slow store', () => {
  test('gets one chunk at a time, and applies backpressure to writers', async (t) => {
    const pass = mockTime(t)
    const log = openLog({ flushBytes: 1024 })
    log.hold()
    await log.write('a'.repeat(1024))
    await log.write('b'.repeat(1023))
    pass(1_000)
    assert.equal(log.chunks.length, 1)
    const blocked = log.write('c')
    assert.equal(await isDone(blocked), false)
    log.release()
    await blocked
    await log.writer.close()
    assert.deepEqual(
      log.chunks.map(({ startOffset, bytes }) => [startOffset, bytes]),
      [
        [0, 1024],
        [1024, 1024],
      ],
    )
  })

  test('gets what came meanwhile at the next flush, not immediately', async (t) => {
    const pass = mockTime(t)
    const log = openLog()
    log.hold()
    await log.write('one ')
    pass(100)
    await log.write('two ')
    log.release()
    await new Promise(setImmediate)
    await log.write('three')
    assert.equal(log.text(), 'one ')
    pass(100)
    assert.equal(log.text(), 'one two three')
    await log.writer.close()
  })

  test('is awaited on close', async () => {
    const log = openLog()
    log.hold()
    await log.write('x')
    const closing = log.writer.close()
    assert.equal(await isDone(closing), false)
    log.release()
    await closing
  })
})

suite('a failing store', () => {
  const failure = new Error('reassigned')

  test('fails the log: every later call rejects with its error, and nothing more is stored', async (t) => {
    const pass = mockTime(t)
    let calls = 0
    const store = async () => {
      calls++
      throw failure
    }
    const writer = createLogWriter({ store, newMasker: createMaskers([]) })
    await writer.write(Buffer.from('x'))
    pass(100)
    await new Promise(setImmediate)
    await assert.rejects(writer.write(Buffer.from('y')), failure)
    await assert.rejects(writer.line('z'), failure)
    await assert.rejects(writer.close(), failure)
    pass(1_000)
    assert.equal(calls, 1)
  })

  test('rejects pending writes and close', async () => {
    const store = () => Promise.reject(failure)
    const writer = createLogWriter({ store, newMasker: createMaskers([]), flushBytes: 1024 })
    await assert.rejects(writer.write(Buffer.alloc(5_000, 'x')), failure)
    const other = createLogWriter({ store, newMasker: createMaskers([]) })
    await other.write(Buffer.from('x'))
    await assert.rejects(other.close(), failure)
  })
})
