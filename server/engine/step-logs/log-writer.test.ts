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

/** What the stored chunks amount to, with `…` for each gap: what is omitted goes, as in the database. */
function keptOf(chunks: readonly LogChunk[]): { text: string; end: number; bytes: number } {
  let kept: LogChunk[] = []
  for (const chunk of chunks) {
    const { from, upTo } = chunk.omit ?? { from: 0, upTo: 0 }
    const isOmitted = ({ startOffset, bytes }: LogChunk) => startOffset >= from && startOffset + bytes <= upTo
    kept = [...kept.filter((one) => !isOmitted(one)), chunk]
  }
  let [text, end, bytes] = ['', 0, 0]
  for (const chunk of kept) {
    text += `${chunk.startOffset > end ? '…' : ''}${chunk.text}`
    end = chunk.startOffset + chunk.bytes
    bytes += chunk.bytes
  }
  return { text, end, bytes }
}

suite('of a long log', () => {
  const small = { headBytes: 1024, tailBytes: 1024, flushBytes: 256 }

  test('the beginning and the end are kept, and offsets count all that was printed', async () => {
    const log = openLog(small)
    const lines = Array.from({ length: 1_000 }, (_, index) => `line ${index} é\n`)
    for (const line of lines) await log.write(line)
    await log.writer.close()
    const { text, end, bytes } = keptOf(log.chunks)
    const printed = lines.join('')
    const [head, tail, ...more] = text.split('…')
    assert.deepEqual(more, [])
    assert.ok(printed.startsWith(head!) && Buffer.byteLength(head!) >= 1024)
    assert.ok(printed.endsWith(tail!) && Buffer.byteLength(tail!) >= 1024)
    assert.equal(end, Buffer.byteLength(printed))
    assert.ok(bytes <= 1024 + 1024 + 3 * 256, `${bytes} bytes are kept`)
  })

  test('nothing is omitted as long as both parts touch', async () => {
    const log = openLog(small)
    const text = 'x'.repeat(2_000)
    for (let from = 0; from < text.length; from += 100) await log.write(text.slice(from, from + 100))
    await log.writer.close()
    assert.equal(keptOf(log.chunks).text, text)
  })

  test('lines from Gantry are kept at the end, and a later attempt continues there', async () => {
    const log = openLog({ ...small, startOffset: 5_000 })
    await log.writer.line('Attempt 2')
    await log.write('x'.repeat(3_000))
    await log.writer.line('Timed out after 600 s')
    await log.writer.close()
    const { text, end } = keptOf(log.chunks)
    assert.match(text, /x\nTimed out after 600 s\n$/)
    assert.equal(end, 5_000 + '\nAttempt 2\n'.length + 3_000 + '\nTimed out after 600 s\n'.length)
  })

  test('pieces of any size give the same beginning and end', async () => {
    const piece = fc.string({ unit: fc.constantFrom('a', 'é', '漢', '🙂', '\n'), maxLength: 900 })
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 20 }), async (pieces) => {
        const log = openLog(small)
        for (const one of pieces) await log.write(one)
        await log.writer.close()
        const printed = pieces.join('')
        const { text, end } = keptOf(log.chunks)
        const parts = text.split('…')
        assert.ok(parts.length <= 2)
        assert.ok(printed.startsWith(parts[0]!) && printed.endsWith(parts.at(-1)!))
        if (parts.length === 1) assert.equal(text, printed)
        else assert.ok(parts.every((part) => Buffer.byteLength(part) >= 1024 - 256))
        assert.equal(end, Buffer.byteLength(printed))
      }),
      { numRuns: 50 },
    )
  })

  test('a flood of output neither stops the command nor is stored as a whole', async () => {
    const log = openLog()
    const command = spawn('bash', ['-c', 'yes "a line of output" | head -c 40000000; exit 7'])
    const ended = once(command, 'close')
    for await (const bytes of command.stdout) await log.writer.write(bytes)
    assert.equal((await ended)[0], 7)
    await log.writer.close()
    const { end, bytes } = keptOf(log.chunks)
    assert.equal(end, 40_000_000)
    assert.ok(bytes >= 10 * 2 ** 20 && bytes < 11.5 * 2 ** 20, `${bytes} bytes are kept`)
    const stored = log.chunks.reduce((sum, chunk) => sum + chunk.bytes, 0)
    assert.ok(stored < 25 * 2 ** 20, `${stored} bytes were stored`)
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

suite('output that can be read again from any byte', () => {
  const secret = 'pa55word-of-this-test'
  const newMasker = createMaskers([secret, 'aaaa\naaab'])
  const start = { offset: 0, skip: 0 }

  /** The text of a log whose first chunks were stored, and which another attempt continued. */
  async function continued(raw: Buffer, kept: readonly LogChunk[]): Promise<string> {
    const continueAt = kept.at(-1)?.raw ?? start
    const rest = openLog({ newMasker, startOffset: kept.reduce((sum, { bytes }) => sum + bytes, 0) })
    await rest.writer.beginOutput(continueAt)
    await rest.writer.writeOutput(raw.subarray(continueAt.offset), continueAt.offset)
    await rest.writer.close()
    return kept.map(({ text }) => text).join('') + rest.text()
  }

  async function wholeText(raw: Buffer): Promise<string> {
    const whole = openLog({ newMasker })
    await whole.writer.write(raw)
    await whole.writer.close()
    return whole.text()
  }

  test('continues behind any chunk without a gap or a repeated byte', async () => {
    const bits = ['\n', 'a', 'aaaa', '\r', '\r\n', '\x1b[31m', '\x1b]0;', 'é', '🙂', 'aaaa\naaa', 'line\n']
    const piece = fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...bits, secret, secret.slice(0, 9)) },
      fc.string({ maxLength: 6 }),
    )
    const pieces = fc.array(piece, { maxLength: 300 })
    const property = async (texts: string[], length: number, count: number, isSuspended: boolean) => {
      const raw = Buffer.from(texts.join(''))
      const first = openLog({ newMasker, flushBytes: 256 })
      await first.writer.beginOutput(start)
      for (let at = 0; at < raw.length; at += length)
        await first.writer.writeOutput(raw.subarray(at, at + length), at)
      await first.writer.close({ isSuspended })
      // After a crash, the last ones are missing.
      const kept = first.chunks.slice(0, count)
      assert.equal(await continued(raw, kept), await wholeText(raw))
    }
    const inputs = [pieces, fc.integer({ min: 1, max: 200 }), fc.nat(6), fc.boolean()] as const
    await fc.assert(fc.asyncProperty(...inputs, property), { numRuns: 400 })
  })

  test('a line from Gantry in between is not taken for a part of it', async () => {
    const raw = Buffer.from(`one\ntwo ${secret} three\nfour\n`)
    for (let at = 0; at <= raw.length; at++) {
      const log = openLog({ newMasker })
      await log.writer.beginOutput(start)
      await log.writer.writeOutput(raw.subarray(0, at), 0)
      await log.writer.line('NOTE')
      await log.writer.close({ isSuspended: true })
      const text = await continued(raw, log.chunks)
      const [before, behind] = text.split('NOTE\n') as [string, string]
      // The note begins a line.
      const texts = [before + behind, before.replace(/\n$/, '') + behind]
      assert.ok(texts.includes(await wholeText(raw)), text)
    }
  })

  test('what its source has lost is a gap of that length', async () => {
    const log = openLog({ newMasker })
    await log.write('before pa55')
    assert.equal(await log.writer.beginOutput(start), 11)
    await log.writer.writeOutput(Buffer.from('head\npa55'), 0)
    await log.writer.writeOutput(Buffer.from('tail\n'), 1_009)
    await log.write('behind')
    await log.writer.close()
    assert.deepEqual(
      log.chunks.map(({ startOffset, text, raw }) => [startOffset, text, raw?.offset]),
      [
        [0, 'before pa55', undefined],
        [11, 'head\npa55', 5],
        [1_020, 'tail\nbehind', 1_014],
      ],
    )
  })
})
