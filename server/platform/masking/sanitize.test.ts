import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { createSanitizer, MAX_COLOR_LENGTH, sanitizeText } from './sanitize.ts'

const ESC = '\x1b'
const ST = `${ESC}\\`

function sanitize(...pieces: (string | Uint8Array)[]): string {
  const sanitizer = createSanitizer()
  return pieces.map((piece) => sanitizer.push(Buffer.from(piece as string))).join('') + sanitizer.flush()
}

/** In one piece, and byte by byte. */
function assertBecomes(printed: string | Uint8Array, expected: string): void {
  const bytes = Buffer.from(printed as string)
  assert.equal(sanitize(bytes), expected, JSON.stringify(printed))
  assert.equal(sanitize(...Array.from(bytes, (byte) => Uint8Array.of(byte))), expected)
}

suite('text', () => {
  test('is unchanged, with its tabs and line breaks', () => {
    for (const text of ['', 'a\tb\nc\n', 'Größe 漢字 🙂 e\u0301 \u00a0\ufeff\u2028', '�'])
      assertBecomes(text, text)
  })

  test('that is not UTF-8 gets replacement characters', () => {
    for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x99], [0x61, 0xe2, 0x82]])
      assertBecomes(Uint8Array.from(bytes), new TextDecoder().decode(Uint8Array.from(bytes)))
  })

  test('with a character that is split anywhere is preserved', () => {
    const bytes = Buffer.from('🙂')
    for (const at of [1, 2, 3]) assert.equal(sanitize(bytes.subarray(0, at), bytes.subarray(at)), '🙂')
  })

  test('gets line feeds for all line endings', () => {
    assertBecomes('a\r\nb\rc\n\nd\r\r\ne\vf\fg\r', 'a\nb\nc\n\nd\n\ne\nf\ng\n')
    assertBecomes('10 %\r20 %\r100 %\r\n', '10 %\n20 %\n100 %\n')
  })
})

suite('control characters', () => {
  test('are removed without a gap', () => {
    assertBecomes('s\0e\x07c\x08r\x0ee\x7ft\u0085\u009c', 'secret')
    assertBecomes(
      '\x00\x01\x02\x03\x04\x05\x06\x07\x08\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a',
      '',
    )
    assertBecomes('\x1c\x1d\x1e\x1f\x7f', '')
  })

  test('that change the text direction are removed, too', () => {
    assertBecomes('\u202aa\u202bb\u202cc\u202dd\u202ee\u2066f\u2067g\u2068h\u2069i', 'abcdefghi')
    assertBecomes('\u2029\u202f\u2065\u206a', '\u2029\u202f\u2065\u206a')
  })
})

suite('sequences', () => {
  test('that set colors stay', () => {
    for (const color of ['0', '', '1;31', '38;5;208', '38;2;255;255;255;48;2;255;255;255', '4:3'])
      assertBecomes(`a${ESC}[${color}mb`, `a${ESC}[${color}mb`)
    assertBecomes('\u009b31mred', `${ESC}[31mred`)
  })

  test('of any other kind are removed entirely', () => {
    const others = [
      `${ESC}[2J`,
      `${ESC}[10;20H`,
      `${ESC}[?1049h`,
      `${ESC}[>4;1m`,
      `${ESC}[0 q`,
      `${ESC}[6n`,
      `${ESC}[1 m`,
      `${ESC}(B`,
      `${ESC}%G`,
      `${ESC}7`,
      `${ESC}c`,
      `${ESC}=`,
      `${ESC}M`,
      `${ESC}]0;title\x07`,
      `${ESC}]0;title${ST}`,
      `${ESC}]52;c;c2VjcmV0\x07`,
      `${ESC}]8;;https://example.com${ST}`,
      `${ESC}]1337;File=inline=1:${'QUJD'.repeat(1_000)}\x07`,
      `${ESC}Pq#0;2;0;0;0#0~~@@${ST}`,
      `${ESC}Ptmux;${ESC}${ESC}]52;c;c2VjcmV0\x07${ST}`,
      `${ESC}_application${ST}`,
      `${ESC}^private${ST}`,
      `${ESC}Xstring${ST}`,
      '\u009b2J',
      '\u009d0;title\u009c',
      '\u0090dcs\u009c',
      `${ESC}]0;cancelled\x18`,
      `${ESC}[${ESC}[2J`,
      `${ESC}${ESC}c`,
    ]
    for (const sequence of others) assertBecomes(`a${sequence}b`, 'ab')
  })

  test('without an end remove at most the rest of their line', () => {
    for (const start of [
      `${ESC}]0;`,
      `${ESC}P`,
      `${ESC}_`,
      '\u009d',
      `${ESC}[31`,
      `${ESC}[`,
      `${ESC}(`,
      ESC,
    ]) {
      assertBecomes(`a${start}`, 'a')
      assertBecomes(`a${start}\nnext`, 'a\nnext')
      assertBecomes(`a${start}\r\nnext`, 'a\nnext')
    }
  })

  test('are abandoned when they become too long', () => {
    const endless = sanitize(`${ESC}[${'1'.repeat(1_000)}m`)
    assert.match(endless, /^1+m$/)
    assert.ok(endless.length > 1_000 - MAX_COLOR_LENGTH)
    assert.match(sanitize(`${ESC}${' '.repeat(100)}x`), /^ {90,}x$/)
    assert.equal(sanitize(`${ESC}[${';'.repeat(1_000_000)}`).length > 999_000, true)
  })
})

suite('whatever is printed', () => {
  const nasty = fc.string({
    unit: fc.oneof(
      fc.constantFrom(
        ESC,
        '[',
        ']',
        '\\',
        'm',
        ';',
        '1',
        'P',
        '\x07',
        '\r',
        '\n',
        '\0',
        ' ',
        'a',
        '🙂',
        '\u009b',
      ),
      fc.constantFrom('\u009d', '\u202e', '\x18', '(', '�', '\u2066', `${ESC}[31m`, `${ESC}]0;`, ST),
    ),
    maxLength: 60,
  })
  const anything = fc.oneof(
    fc.uint8Array({ maxLength: 80 }),
    nasty.map((text) => new Uint8Array(Buffer.from(text))),
  )

  test('the result is safe to store and display', () => {
    const safe =
      /^(?:[\t\n -~\u00a0-\u2029\u202f-\u2065\u206a-\ud7ff\ue000-\uffff]|[\u{10000}-\u{10ffff}]|\x1b\[[0-9;:]*m)*$/u
    fc.assert(
      fc.property(anything, (bytes) => {
        assert.match(sanitize(bytes), safe)
      }),
      { numRuns: 1_000 },
    )
  })

  test('the result does not depend on how it was split', () => {
    fc.assert(
      fc.property(anything, fc.array(fc.nat(80)), (bytes, cuts) => {
        const at = [0, ...cuts.sort((one, other) => one - other), bytes.length]
        const pieces = at.slice(1).map((end, index) => bytes.subarray(at[index], Math.max(end, at[index]!)))
        assert.equal(sanitize(...pieces), sanitize(bytes))
      }),
      { numRuns: 1_000 },
    )
  })

  test('sanitizing is idempotent', () => {
    fc.assert(
      fc.property(anything, (bytes) => {
        const once = sanitize(bytes)
        assert.equal(sanitize(once), once)
        assert.equal(sanitizeText(once), once)
      }),
    )
  })

  test('each chunk ends with a complete character and a complete color', () => {
    fc.assert(
      fc.property(fc.array(anything), (pieces) => {
        const sanitizer = createSanitizer()
        for (const piece of pieces) {
          const text = sanitizer.push(piece)
          assert.ok(text.isWellFormed())
          assert.doesNotMatch(text, /\x1b(?!\[[0-9;:]*m)/)
        }
      }),
    )
  })
})
