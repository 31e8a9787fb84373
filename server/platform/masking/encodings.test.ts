// Whatever a secret is, however a program encodes it and wherever its output is split: nothing of it remains.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { createMask } from './mask.ts'
import { createMaskers } from './mask-stream.ts'
import { MASK } from './masked.ts'
import { createSanitizer } from './sanitize.ts'

/** Sanitized and masked, like the output of a step that arrives in pieces of these lengths. */
function masked(secrets: readonly string[], output: string, lengths: readonly number[] = []): string {
  const [sanitizer, masker] = [createSanitizer(), createMaskers(secrets)()]
  const bytes = Buffer.from(output)
  let shown = ''
  let from = 0
  for (const length of [...lengths, bytes.length]) {
    shown += masker.push(sanitizer.push(bytes.subarray(from, from + length)))
    from += length
  }
  return shown + masker.push(sanitizer.flush()) + masker.flush()
}

const left = (shown: string) => shown.replaceAll(MASK, '').replaceAll('\n', '').length

const percent = (text: string) =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16)}`)
const ascii = (json: string) =>
  json.replaceAll(/[^\0-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
const quoted = (text: string) => JSON.stringify(text).slice(1, -1)

const ENCODINGS: Record<string, (secret: string) => string> = {
  'as it is': (secret) => secret,
  'in upper case': (secret) => secret.toUpperCase(),
  'in lower case': (secret) => secret.toLowerCase(),
  'in hex': (secret) => Buffer.from(secret).toString('hex'),
  'in upper-case hex': (secret) => Buffer.from(secret).toString('hex').toUpperCase(),
  'in a URL': encodeURIComponent,
  'in a strict URL': percent,
  'in a whole URL': encodeURI,
  'in a URL with lower-case escapes': (secret) =>
    percent(secret).replaceAll(/%../g, (digits) => digits.toLowerCase()),
  'in a form': (secret) => new URLSearchParams({ a: secret }).toString().slice(2),
  'in JSON': quoted,
  'in JSON of ASCII': (secret) => ascii(quoted(secret)),
  'in JSON with escaped slashes': (secret) => quoted(secret).replaceAll('/', '\\/'),
  'in JSON for HTML': (secret) =>
    quoted(secret).replaceAll(/[<>&]/g, (one) => `\\u00${one.charCodeAt(0).toString(16)}`),
  'in single quotes': (secret) => secret.replaceAll("'", `'\\''`),
  'in shell quotes of Python': (secret) => secret.replaceAll("'", `'"'"'`),
  'in double quotes': (secret) => secret.replaceAll(/["$`\\]/g, '\\$&'),
}

const secret = fc
  .oneof(
    fc.string({ unit: 'grapheme', minLength: 6, maxLength: 60 }),
    fc.string({ unit: 'grapheme-ascii', minLength: 6, maxLength: 60 }),
    fc.string({ unit: fc.constantFrom(...`aB3'"\\/ $<&%+~é🙂\t`), minLength: 6, maxLength: 30 }),
  )
  .filter((text) => text.trim().length >= 6 && text.trim() === text && !text.includes('*'))
const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 20 })
const others = fc.array(secret, { maxLength: 3 })

suite('a secret that is split anywhere', () => {
  for (const [name, encode] of Object.entries(ENCODINGS)) {
    test(`is masked ${name}`, () => {
      fc.assert(
        fc.property(secret, others, lengths, (secret, others, lengths) => {
          const shown = masked([...others, secret], `a <${encode(secret)}> b`, lengths)
          assert.ok(shown.includes(MASK), shown)
          assert.ok(left(shown) <= 'a <> b'.length, shown)
        }),
        { numRuns: 200 },
      )
    })
  }

  test('is masked inside a longer base64 text at any offset, in one line or in lines of 64 or 76 columns', () => {
    const bytes = fc.uint8Array({ maxLength: 150 })
    const columns = fc.constantFrom(Infinity, 64, 76)
    const encoding = fc.constantFrom('base64' as const, 'base64url' as const)
    fc.assert(
      fc.property(
        bytes,
        secret,
        bytes,
        encoding,
        columns,
        lengths,
        (before, secret, after, encoding, columns, lengths) => {
          const encoded = Buffer.concat([before, Buffer.from(secret), after]).toString(encoding)
          const lines = columns === Infinity ? [encoded] : encoded.match(new RegExp(`.{1,${columns}}`, 'g'))!
          const output = `echo:\n${lines.join('\n')}\nend\n`
          const shown = masked([secret], output, lengths)
          assert.equal(shown.match(/\n/g)!.length, output.match(/\n/g)!.length, 'lines stay lines')
          // The characters at both ends, which the secret shares with its neighbors.
          const most = Math.ceil((before.length * 8) / 6) + Math.ceil((after.length * 8) / 6) + 1
          assert.ok(left(shown.replaceAll('=', '')) <= 'echo:end'.length + most, `${output} ${shown}`)
        },
      ),
      { numRuns: 1_000 },
    )
  })

  test('is masked in lines of hex', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), secret, lengths, (before, secret, lengths) => {
        const encoded = Buffer.concat([before, Buffer.from(secret)]).toString('hex')
        const shown = masked([secret], encoded.match(/.{1,60}/g)!.join('\n'), lengths)
        assert.ok(left(shown) <= before.length * 2, shown)
      }),
    )
  })
})

test('a secret is masked as real programs print it', () => {
  const values = [
    'it\'s $HOME/`x` "~" #1',
    '~#!*?[]{}^,;<>|&()',
    'größe & 日本語',
    'two\nlines of\ttext',
    'a:~b=~c\\d',
  ]
  const script = `
    printf '<%q>' "$VALUE"
    printf '<%s>' "\${VALUE@Q}"
    declare -p VALUE | tail -c +1
    printf %s "$VALUE" | od -An -v -tx1 | tr -d ' \\n'
    printf 'some text before: %s and after' "$VALUE" | base64
    printf 'some text before: %s and after' "$VALUE" | base64 -w 64
    set -x; : "$VALUE"`
  for (const value of values) {
    for (const locale of ['C', 'C.UTF-8']) {
      const command = {
        env: { PATH: process.env.PATH, VALUE: value, LC_ALL: locale },
        encoding: 'utf8' as const,
      }
      const output = execFileSync('bash', ['-c', `{ ${script}\n} 2>&1`], command)
      const shown = masked([value], output)
      const count = shown.split(MASK).length - 1
      assert.ok(count >= 7, `${value}: ${count} of 7\n${shown}`)
    }
  }
})

suite('short values', () => {
  test('of 4 or 5 characters are masked in their own case only', () => {
    assert.equal(masked(['prod1'], 'prod1 PROD1 Prod1'), `${MASK} PROD1 Prod1`)
    assert.equal(masked(['prod12'], 'prod12 PROD12 Prod12'), `${MASK} ${MASK} ${MASK}`)
    assert.equal(masked(['test', 'Test'], 'test Test TEST'), `${MASK} ${MASK} TEST`)
    assert.equal(masked(['test', 'a TEST of it'], 'test, A TEST OF IT'), `${MASK}, ${MASK}`)
  })

  test('of fewer are not masked', () => {
    assert.equal(masked(['yes', '1', 'on'], 'yes, 1 is on; 796573'), 'yes, 1 is on; 796573')
  })
})

test('texts and bodies are masked like logs, with line breaks of any kind', () => {
  fc.assert(
    fc.property(secret, fc.constantFrom(...Object.keys(ENCODINGS)), (secret, name) => {
      const mask = createMask([secret])
      const text = `a <${ENCODINGS[name]!(secret)}> b`
      for (const shown of [
        mask.text(text),
        mask.bytes(Buffer.from(text)).toString(),
        mask.headers({ a: text }).a,
      ]) {
        assert.ok(shown.includes(MASK))
        assert.ok(left(shown) <= 'a <> b'.length, `${name}: ${shown}`)
      }
    }),
    { numRuns: 500 },
  )
  const secretText = 'correct horse battery staple'
  const encoded = Buffer.from(`${'x'.repeat(50)}${secretText}`)
    .toString('base64')
    .match(/.{1,76}/g)!
  assert.equal(
    createMask([secretText]).text(encoded.join('\r\n')),
    `${encoded[0]!.slice(0, 67)}${MASK}\r\n${MASK}`,
  )
})
