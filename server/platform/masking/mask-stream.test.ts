import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { createMaskers } from './mask-stream.ts'

import { MASK } from './masked.ts'
import { COLORS } from './sanitize.ts'
import { formsOf } from './secret-forms.ts'
import type { Word } from './trie.ts'

const createMasker = (secrets: readonly string[]) => createMaskers(secrets)()

function mask(secrets: readonly string[], ...pieces: string[]): string {
  const masker = createMasker(secrets)
  return pieces.map((piece) => masker.push(piece)).join('') + masker.flush()
}

suite('a secret', () => {
  test('is masked wherever it occurs and however often', () => {
    assert.equal(mask(['hunter2'], 'hunter2 is hunter2, not hunter3'), `${MASK} is ${MASK}, not hunter3`)
    assert.equal(mask(['hunter2'], 'hunter2hunter2'), MASK + MASK)
    assert.equal(mask(['a.*b+'], 'axxb a.*b+'), `axxb ${MASK}`)
  })

  test('that is split into chunks is masked, too', () => {
    assert.equal(mask(['hunter2'], 'x hun', 'te', 'r2 y'), `x ${MASK} y`)
    assert.equal(mask(['hunter2'], ...'x hunter2 y'), `x ${MASK} y`)
  })

  test('shorter than four characters, or of white space alone, is not masked', () => {
    assert.equal(mask(['', 'a', 'abc', '    ', '\n\n\n\n', '1'], 'abc    1\n\n\n\n'), 'abc    1\n\n\n\n')
    assert.equal(mask(['abcd'], 'abcd'), MASK)
  })

  test('is found without its surrounding white space', () => {
    assert.equal(mask([' hunter2\n'], 'hunter2'), MASK)
    assert.equal(mask(['ab  '], 'ab ab  '), `ab ${MASK}`)
  })

  test('that overlaps with another or contains it is covered to the end', () => {
    assert.equal(mask(['abcd', 'cdef'], '-abcdef-'), `-${MASK}-`)
    assert.equal(mask(['pass', 'password'], 'pass password passport'), `${MASK} ${MASK} ${MASK}port`)
    assert.equal(mask(['abab'], '-ababab-'), `-${MASK}-`)
  })

  test('with colors is masked, and the colors follow the mask', () => {
    assert.equal(
      mask(['hunter2'], '\x1b[1mhun', 'te\x1b[31mr', '2\x1b[0m!'),
      `\x1b[1m${MASK}\x1b[31m\x1b[0m!`,
    )
    assert.equal(mask(['hunter2'], 'a\x1b[31mb\x1b[mc'), 'a\x1b[31mb\x1b[mc')
  })
})

suite('what is held back', () => {
  test('is what could be the beginning of a secret, and nothing else', () => {
    const masker = createMasker(['hunter2', 'terrible'])
    assert.equal(masker.push('all of this, and hunter'), 'all of this, and ')
    assert.equal(masker.push('ri'), 'hun')
    assert.equal(masker.push('fic'), 'terrific')
    assert.equal(masker.push('hunt'), '')
    assert.equal(masker.flush(), 'hunt')
    assert.equal(masker.push('er2'), 'er2')
  })

  test('does not include the end of a line, unless that could be a line of an encoder', () => {
    const masker = createMasker(['correct horse'])
    const line = `${'some words '.repeat(6).slice(0, 63)}Y\n`
    assert.equal(line.length, 65)
    assert.equal(masker.push(line), line)
    const encoded = `${'x'.repeat(75)}Y`
    assert.equal(masker.push(`${encoded}\n`), encoded.slice(0, -1))
    assert.equal(masker.push('!'), 'Y\n!')
  })

  test('stays small for any input', () => {
    const masker = createMasker(['hunter2'])
    masker.push('h')
    for (let round = 0; round < 100; round++) masker.push('\x1b[31m'.repeat(1_000))
    assert.ok(masker.push('!').length < 2_000)
    assert.ok(masker.push('x'.repeat(100_000)).length === 100_000)
  })
})

suite('a secret in another form', () => {
  const secret = `s3cr/t +"ö'&(~*)%20`

  test('is masked in URLs and forms', () => {
    for (const form of [
      encodeURIComponent(secret),
      encodeURIComponent(secret).replaceAll(/%../g, (digits) => digits.toLowerCase()),
      new URLSearchParams({ secret }).toString().slice('secret='.length),
      's3cr%2Ft%20%2B%22%C3%B6%27%26%28~%2A%29%2520',
      's3cr%2ft+%2b%22%c3%b6%27%26%28~%2a%29%2520',
    ])
      assert.equal(mask([secret], `?q=${form}&x`), `?q=${MASK}&x`, form)
  })

  test('is masked in JSON of any language', () => {
    for (const form of [
      JSON.stringify(secret),
      `"s3cr\\/t +\\"\\u00f6'&(~*)%20"`,
      `"s3cr\\/t +\\"ö'&(~*)%20"`,
      `"s3cr/t +\\"\\u00f6'&(~*)%20"`,
    ])
      assert.equal(mask([secret], `{"key":${form}}`), `{"key":"${MASK}"}`, form)
  })

  test('is masked in the command trace of a shell', () => {
    assert.equal(mask([secret], `+ echo 's3cr/t +"ö'\\''&(~*)%20'`), `+ echo '${MASK}'`)
  })

  test('is masked in basic authentication', () => {
    const basic = Buffer.from('deploy:correct horse').toString('base64')
    assert.equal(
      mask(['correct horse'], `Authorization: Basic ${basic}`),
      `Authorization: Basic ZGVwbG95Om${MASK}=`,
    )
  })

  test('is masked in base64 inside a longer value, except for the characters it shares', () => {
    const bytes = fc.uint8Array({ maxLength: 12 })
    const value = fc
      .string({ unit: 'grapheme', minLength: 4, maxLength: 40 })
      .filter((text) => text.trim() === text)
    fc.assert(
      fc.property(
        bytes,
        value,
        bytes,
        fc.constantFrom('base64', 'base64url'),
        (before, value, after, encoding) => {
          const length = (size: number) => Math.ceil((size * 8) / 6)
          const encoded = Buffer.concat([before, Buffer.from(value), after]).toString(
            encoding as BufferEncoding,
          )
          const masked = mask([value], encoded)
          assert.ok(masked.includes(MASK))
          const left = masked.replaceAll(MASK, '').replaceAll('=', '').length
          assert.ok(left <= length(before.length) + length(after.length) + 1, `${encoded} ${masked}`)
        },
      ),
    )
  })

  test('is masked when base64 breaks it into lines', () => {
    const long = Array.from({ length: 40 }, (_, index) => `word-${index}`).join(' ')
    for (const columns of [64, 76]) {
      const lines = Buffer.from(long)
        .toString('base64')
        .match(new RegExp(`.{1,${columns}}`, 'g'))!
      const masked = mask([long], lines.join('\n'))
      assert.match(masked, /^(\*{8}\n)+\*{8}=*$/)
    }
  })

  test('with many lines is masked as a whole, line by line, and with other line endings', () => {
    const key = '-----BEGIN KEY-----\r\nMIIEvQIBADANBg\r\nkqhkiG9w0BAQEF\r\nAA==\r\n-----END KEY-----\r\n'
    assert.equal(mask([key], `<${key.trim()}>`), `<${MASK}>`)
    assert.equal(mask([key], `<${key.replaceAll('\r\n', '\n').trim()}>`), `<${MASK}>`)
    assert.equal(mask([key], '  kqhkiG9w0BAQEF\n  AA==\n'), `  ${MASK}\n  AA==\n`)
    assert.equal(mask([key], JSON.stringify({ key: key.trim() })), `{"key":"${MASK}"}`)
  })

  test('is masked in its sanitized form', () => {
    assert.equal(mask(['one\0two\x1b[1m\u202ethree'], 'onetwothree'), MASK)
    assert.equal(mask(['one\rtwo'], 'one\ntwo'), MASK)
  })
})

suite('whatever the secrets and the text', () => {
  const unit = fc.constantFrom('a', 'b', '🙂', '\n')
  const secrets = fc.array(fc.string({ unit, maxLength: 8 }), { maxLength: 4 })
  const text = fc.string({
    unit: fc.oneof({ weight: 8, arbitrary: unit }, fc.constant('\x1b[31m')),
    maxLength: 60,
  })
  /** Whole characters and whole colors, as sanitizing produces them. */
  const pieces = fc.array(text, { maxLength: 8 })

  const endsWith = (text: string, form: Word) =>
    form.isExact ? text.endsWith(form.text) : text.toLowerCase().endsWith(form.text.toLowerCase())

  /** Every character that belongs to an occurrence is covered; touching occurrences have stars of their own. */
  function maskNaively(secrets: readonly string[], text: string): string {
    const forms = formsOf(secrets)
    const runs: [number, number][] = []
    for (let end = 1; end <= text.length; end++) {
      const longest = Math.max(
        0,
        ...forms.filter((form) => endsWith(text.slice(0, end), form)).map((one) => one.text.length),
      )
      if (longest === 0) continue
      let start = end - longest
      while (runs.length > 0 && runs.at(-1)![1] > start) start = Math.min(runs.pop()![0], start)
      runs.push([start, end])
    }
    return runs.reduceRight((rest, [start, end]) => rest.slice(0, start) + MASK + rest.slice(end), text)
  }

  test('every character of every occurrence is covered, and no other', () => {
    fc.assert(
      fc.property(secrets, text, (secrets, text) => {
        const plain = text.replaceAll(COLORS, '')
        assert.equal(mask(secrets, text).replaceAll(COLORS, ''), maskNaively(secrets, plain))
      }),
      { numRuns: 2_000 },
    )
  })

  test('the result does not depend on how it was split', () => {
    fc.assert(
      fc.property(secrets, pieces, (secrets, pieces) => {
        assert.equal(mask(secrets, ...pieces), mask(secrets, pieces.join('')))
      }),
      { numRuns: 2_000 },
    )
  })

  test('every color is preserved, in order', () => {
    const numbered = fc
      .array(fc.string({ unit, maxLength: 6 }))
      .map((texts) => texts.map((text, index) => `\x1b[${index}m${text}`))
    fc.assert(
      fc.property(secrets, numbered, (secrets, pieces) => {
        const found = mask(secrets, ...pieces).match(COLORS) ?? []
        assert.deepEqual(
          found,
          pieces.map((_, index) => `\x1b[${index}m`),
        )
      }),
    )
  })

  test('preparing never fails', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)) })),
        (secrets) => {
          for (const { text } of formsOf(secrets)) assert.ok(text.length >= 4)
          createMasker(secrets)
        },
      ),
    )
  })
})

test('the time depends on the length of the text only, even when it almost matches', () => {
  const secrets = Array.from({ length: 20 }, (_, index) => `ghp_${'x'.repeat(30)}${index}`)
  const timeOf = (text: string) => {
    const masker = createMasker([...secrets, 'a'.repeat(20_000)])
    const before = process.cpuUsage()
    for (let at = 0; at < text.length; at += 65_536) masker.push(text.slice(at, at + 65_536))
    masker.flush()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1_000
  }
  const size = 2 * 2 ** 20
  for (const unit of [
    'a line of a log that is like most lines\n',
    'ghp_',
    `ghp_${'x'.repeat(30)}`,
    `${'a'.repeat(19_999)}b`,
  ])
    assert.ok(timeOf(unit.repeat(size / unit.length)) < 3_000, unit.slice(0, 40))
})
