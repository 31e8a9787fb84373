import assert from 'node:assert/strict'
import { type BinaryToTextEncoding, createHmac } from 'node:crypto'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { parseTemplate, type SignatureRule, signatureProblem } from './signature-schemes.ts'

const NOW = 1_790_000_000
const SECRET = 'a secret of a hook'
const BODY = Buffer.from('{"ref":"refs/heads/main","note":"größer"}')
const ALGORITHMS = ['sha1', 'sha256', 'sha384', 'sha512'] as const

const ruleOf = (more: Partial<SignatureRule> = {}): SignatureRule => ({
  scheme: 'body',
  algorithm: 'sha256',
  header: 'x-signature',
  template: [],
  timestampHeader: null,
  idHeader: null,
  secrets: [SECRET],
  ...more,
})
const sign = (
  algorithm: string,
  encoding: BinaryToTextEncoding,
  key: string | Buffer = SECRET,
  text: string | Buffer = BODY,
) => createHmac(algorithm, key).update(text).digest(encoding)
const accepts = (
  rule: SignatureRule,
  value: string | string[] | undefined,
  more: Record<string, string> = {},
) => problemOf(rule, value, more) === null
const problemOf = (
  rule: SignatureRule,
  value: string | string[] | undefined,
  more: Record<string, string> = {},
) => signatureProblem(rule, { headers: { ...more, 'x-signature': value }, body: BODY, now: NOW })

suite('signatures of the body', () => {
  test('every algorithm is accepted in hex of any case, base64 and base64url, with and without its name', () => {
    for (const algorithm of ALGORITHMS) {
      const rule = ruleOf({ algorithm })
      const hex = sign(algorithm, 'hex')
      const base64 = sign(algorithm, 'base64')
      const values = [
        hex,
        hex.toUpperCase(),
        hex.replace(/[a-f]/, (letter) => letter.toUpperCase()),
        base64,
        base64.replaceAll('=', ''),
        sign(algorithm, 'base64url'),
      ]
      for (const value of values) {
        assert.ok(accepts(rule, value), `${algorithm} ${value}`)
        assert.ok(accepts(rule, `${algorithm}=${value}`), `${algorithm} with its name ${value}`)
        assert.ok(accepts(rule, `${algorithm.toUpperCase()}=${value}`), `${algorithm} in capitals ${value}`)
      }
    }
  })

  test('a right value with the name of another algorithm is rejected', () => {
    for (const algorithm of ALGORITHMS) {
      const value = sign(algorithm, 'hex')
      for (const other of ALGORITHMS.filter((one) => one !== algorithm)) {
        assert.ok(!accepts(ruleOf({ algorithm }), `${other}=${value}`), `${other}= on a ${algorithm} hook`)
      }
    }
  })

  test('a right value with the name of any other hash is rejected, and with other prefixes accepted', () => {
    const value = sign('sha256', 'hex')
    const hashes = [
      'sha',
      'sha224',
      'SHA512',
      'sha3256',
      'sha512256',
      'shake256',
      'md5',
      'MD5',
      'blake2b',
      'blake3',
    ]
    for (const prefix of hashes) {
      assert.ok(!accepts(ruleOf(), `${prefix}=${value}`), prefix)
      // Among others, it does not spoil the right one.
      assert.ok(accepts(ruleOf(), `${prefix}=00,v1=${value}`), prefix)
    }
    for (const prefix of ['v0', 'v1', 'signature', 's', 'constructor', 'toString', 'hmac'])
      assert.ok(accepts(ruleOf(), `${prefix}=${value}`), prefix)
  })

  test('a signature of another algorithm is rejected under every name', () => {
    for (const algorithm of ALGORITHMS) {
      for (const other of ALGORITHMS.filter((one) => one !== algorithm)) {
        for (const encoding of ['hex', 'base64', 'base64url'] as const) {
          const value = sign(other, encoding)
          for (const text of [value, `${algorithm}=${value}`, `${other}=${value}`])
            assert.ok(!accepts(ruleOf({ algorithm }), text), text)
        }
      }
    }
  })

  test('each of several comma-separated values is tried', () => {
    const good = sign('sha256', 'hex')
    const bad = sign('sha256', 'hex', 'another secret')
    for (const value of [`${good},${bad}`, `${bad}, ${good}`, `sha1=${bad},sha256=${good}`, `,,${good},`])
      assert.ok(accepts(ruleOf(), value), value)
    for (const value of [`${bad},${bad}`, `sha1=${good},${bad}`, ',', ', ,'])
      assert.ok(!accepts(ruleOf(), value), value)
  })

  test('a value that is missing, empty, truncated, too long or sent twice is rejected', () => {
    const good = sign('sha256', 'hex')
    const base64 = sign('sha256', 'base64')
    const values = [undefined, '', ' ', 'sha256', 'sha256=', '=', good.slice(0, -1), good.slice(0, -2)]
    values.push(good.slice(1), `${good}0`, `${good}00`, `${good.slice(0, -1)}g`, `sha256==${good}`)
    values.push(base64.slice(0, -2), `${base64}A`, `${base64.slice(0, 8)}!${base64.slice(8)}`, `"${good}"`)
    for (const value of values) assert.ok(!accepts(ruleOf(), value), String(value))
    assert.ok(!accepts(ruleOf(), [good, good]), 'the same header twice')
    assert.ok(!accepts(ruleOf(), []), 'a header without a value')
  })

  test('during a rotation both secrets are valid, and no third one', () => {
    const rule = ruleOf({ secrets: ['the new secret', 'the old secret'] })
    assert.ok(accepts(rule, sign('sha256', 'hex', 'the new secret')))
    assert.ok(accepts(rule, sign('sha256', 'hex', 'the old secret')))
    assert.ok(!accepts(rule, sign('sha256', 'hex', SECRET)))
  })

  test('a secret that begins with whsec_ is used as text', () => {
    const secret = `whsec_${Buffer.from('a key of at least 24 bytes').toString('base64')}`
    assert.ok(accepts(ruleOf({ secrets: [secret] }), sign('sha256', 'hex', secret)))
    const decoded = Buffer.from(secret.slice(6), 'base64')
    assert.ok(!accepts(ruleOf({ secrets: [secret] }), sign('sha256', 'hex', decoded)))
  })

  test('one changed bit of the body invalidates the signature', () => {
    const value = sign('sha256', 'hex')
    fc.assert(
      fc.property(fc.nat(BODY.length - 1), fc.nat(7), (at, bit) => {
        const body = Buffer.from(BODY)
        body[at]! ^= 1 << bit
        return (
          signatureProblem(ruleOf(), { headers: { 'x-signature': value }, body, now: NOW }) === 'mismatch'
        )
      }),
    )
  })

  test('no other header value is accepted, and none throws', () => {
    const pieces = fc.constantFrom(
      'sha256=',
      'sha1=',
      'v1=',
      'v1,',
      ',',
      ' ',
      '=',
      't=1790000000',
      'constructor=',
    )
    const texts = fc.array(
      fc.oneof(pieces, fc.string(), fc.base64String(), fc.stringMatching(/^[0-9a-f]{64}$/)),
    )
    fc.assert(
      fc.property(texts, fc.constantFrom(...ALGORITHMS), (parts, algorithm) => {
        const value = parts.join('')
        return (['body', 'timestamp', 'token'] as const).every(
          (scheme) =>
            !accepts(ruleOf({ scheme, algorithm, template: parseTemplate('{timestamp}.{body}') }), value),
        )
      }),
    )
  })
})

suite('tokens', () => {
  const rule = ruleOf({ scheme: 'token', secrets: [SECRET, 'the old secret'] })

  test('the header must be exactly the secret or, during a rotation, the previous one', () => {
    assert.ok(accepts(rule, SECRET))
    assert.ok(accepts(rule, 'the old secret'))
    const wrong = [SECRET.toUpperCase(), SECRET.slice(1), `${SECRET}x`, `${SECRET},${SECRET}`, '', undefined]
    for (const value of wrong) assert.ok(!accepts(rule, value), String(value))
    assert.ok(!accepts(rule, [SECRET, SECRET]))
  })

  test('an HMAC is not accepted as the secret', () => {
    assert.ok(!accepts(rule, sign('sha256', 'hex')))
  })
})

suite('signatures with a timestamp', () => {
  const stripe = ruleOf({ scheme: 'timestamp', template: parseTemplate('{timestamp}.{body}') })
  const slack = ruleOf({
    scheme: 'timestamp',
    template: parseTemplate('v0:{timestamp}:{body}'),
    timestampHeader: 'x-time',
  })
  const standard = ruleOf({
    scheme: 'timestamp',
    template: parseTemplate('{id}.{timestamp}.{body}'),
    timestampHeader: 'webhook-timestamp',
    idHeader: 'webhook-id',
  })
  const stripeValue = (time: number | string, key: string | Buffer = SECRET) =>
    `t=${time},v1=${sign('sha256', 'hex', key, `${time}.${BODY}`)}`
  const slackValue = (time: number | string) => `v0=${sign('sha256', 'hex', SECRET, `v0:${time}:${BODY}`)}`
  const standardValue = (key: string | Buffer, time = NOW) =>
    `v1,${sign('sha256', 'base64', key, `msg_1.${time}.${BODY}`)}`
  const standardHeaders = { 'webhook-id': 'msg_1', 'webhook-timestamp': String(NOW) }

  test('the timestamp may be a field of the signature header', () => {
    assert.ok(accepts(stripe, stripeValue(NOW)))
    assert.ok(accepts(stripe, `${stripeValue(NOW)},v0=${'0'.repeat(64)}`))
    assert.ok(accepts(stripe, `t=${NOW}, v1=${'0'.repeat(64)}, ${stripeValue(NOW).split(',')[1]}`))
    const alone = stripeValue(NOW).split(',')[1]!
    for (const value of [alone, `t=,${alone}`, `t=${NOW}`, `t=${NOW + 1},${alone}`, `t=x${NOW},${alone}`])
      assert.ok(!accepts(stripe, value), value)
  })

  test('the timestamp may have its own header', () => {
    assert.ok(accepts(slack, slackValue(NOW), { 'x-time': String(NOW) }))
    assert.ok(!accepts(slack, slackValue(NOW)), 'without it')
    for (const time of ['', ` ${NOW}`, `${NOW}.0`, `-${NOW}`, '1e9', 'now', `${NOW}, ${NOW}`, `${NOW}000`])
      assert.ok(!accepts(slack, slackValue(time), { 'x-time': time }), time)
    const headers = { 'x-signature': slackValue(NOW), 'x-time': [String(NOW), String(NOW)] }
    assert.equal(signatureProblem(slack, { headers, body: BODY, now: NOW }), 'timestamp', 'sent twice')
  })

  test('300 seconds are tolerated in both directions, and not one more', () => {
    for (const time of [NOW - 300, NOW + 300])
      assert.ok(accepts(stripe, stripeValue(time)), String(time - NOW))
    for (const time of [NOW - 301, NOW + 301, 0, NOW * 1000])
      assert.ok(!accepts(stripe, stripeValue(time)), String(time - NOW))
  })

  test('a signed id must be present', () => {
    assert.ok(accepts(standard, standardValue(SECRET), standardHeaders))
    assert.ok(!accepts(standard, standardValue(SECRET), { 'webhook-timestamp': String(NOW) }))
    assert.ok(!accepts(standard, standardValue(SECRET), { ...standardHeaders, 'webhook-id': 'msg_2' }))
  })

  test('each of several space-separated signatures is tried', () => {
    const other = standardValue('another secret')
    assert.ok(accepts(standard, `${other} ${standardValue(SECRET)}`, standardHeaders))
    assert.ok(!accepts(standard, `${other} ${other}`, standardHeaders))
  })

  test('a secret that begins with whsec_ may hold the key in base64', () => {
    const key = Buffer.from('a key of at least 24 bytes')
    const rule = { ...standard, secrets: [`whsec_${key.toString('base64')}`] }
    assert.ok(accepts(rule, standardValue(key), standardHeaders))
    assert.ok(!accepts(rule, standardValue(key.toString('base64')), standardHeaders))
  })

  test('a sender that uses a whsec_ secret as text is accepted as well', () => {
    // Stripe: the key is the whole text.
    for (const secret of ['whsec_abcdefghijklmnop', 'whsec_abcdefghijklmno', 'whsec_!not base64!'])
      assert.ok(accepts({ ...stripe, secrets: [secret] }, stripeValue(NOW, secret)), secret)
  })

  test('a whsec_ secret that is not base64 never becomes a weaker key', () => {
    const rule = { ...stripe, secrets: ['whsec_!!!!!!!!!!!'] }
    assert.ok(!accepts(rule, stripeValue(NOW, '')))
  })

  test('both secrets of a rotation are valid, one as base64 and one as text', () => {
    const key = Buffer.from('another key of at least 24 bytes')
    const rule = { ...standard, secrets: [`whsec_${key.toString('base64')}`, SECRET] }
    assert.ok(accepts(rule, standardValue(key), standardHeaders))
    assert.ok(accepts(rule, standardValue(SECRET), standardHeaders))
  })
})

test('a template is split at its placeholders, and nothing else in braces is one', () => {
  assert.deepEqual(parseTemplate('v0:{timestamp}:{body}'), [
    { text: 'v0:' },
    { placeholder: 'timestamp' },
    { text: ':' },
    { placeholder: 'body' },
  ])
  assert.deepEqual(parseTemplate('{id}{x}{body}'), [
    { placeholder: 'id' },
    { text: '{x}' },
    { placeholder: 'body' },
  ])
  assert.deepEqual(parseTemplate(''), [])
})

suite('what is wrong with a signature', () => {
  const right = sign('sha256', 'hex')
  const timed = ruleOf({ scheme: 'timestamp', template: parseTemplate('{timestamp}.{body}') })
  const timedValue = (time: number | string) =>
    `t=${time},v1=${sign('sha256', 'hex', SECRET, `${time}.${BODY}`)}`

  test('is named by the first thing that would have to change', () => {
    const cases: [SignatureRule, string | string[] | undefined, string | null][] = [
      [ruleOf(), right, null],
      [ruleOf(), undefined, 'header_missing'],
      [ruleOf(), ' ', 'header_missing'],
      [ruleOf(), [right, right], 'header_missing'],
      [ruleOf(), `sha512=${right}`, 'prefix'],
      [ruleOf(), `md5=${right}`, 'prefix'],
      [ruleOf(), `sha1=${sign('sha1', 'hex')}`, 'prefix'],
      [ruleOf(), `sha1=${sign('sha1', 'hex')},sha256=${sign('sha256', 'hex', 'other')}`, 'mismatch'],
      [ruleOf(), `sha1=${sign('sha1', 'hex')},sha256=${right}`, null],
      [ruleOf(), right.slice(1), 'encoding'],
      [ruleOf(), SECRET, 'encoding'],
      [ruleOf(), sign('sha256', 'hex', 'other'), 'mismatch'],
      [ruleOf(), sign('sha256', 'hex', SECRET, `${BODY} `), 'mismatch'],
      [ruleOf({ scheme: 'token' }), SECRET, null],
      [ruleOf({ scheme: 'token' }), 'other', 'mismatch'],
      [ruleOf({ scheme: 'token' }), undefined, 'header_missing'],
      [timed, timedValue(NOW), null],
      [timed, timedValue(NOW - 301), 'timestamp'],
      [timed, timedValue('x'), 'timestamp'],
      [timed, right, 'timestamp'],
      [timed, `t=${NOW},v1=${right}`, 'mismatch'],
      [timed, `t=${NOW},v1=x`, 'encoding'],
      [ruleOf({ ...timed, timestampHeader: 'x-time' }), right, 'timestamp'],
      [ruleOf({ ...timed, idHeader: 'x-id' }), timedValue(NOW), 'header_missing'],
    ]
    for (const [rule, value, problem] of cases)
      assert.equal(problemOf(rule, value), problem, `${rule.scheme} ${value}`)
  })

  test('cannot be told from the time that the check takes', () => {
    const body = Buffer.alloc(2 ** 22)
    const now = NOW
    // CPU time of this thread, which a busy machine does not lengthen; the kernel counts it in steps of milliseconds.
    const timeOf = (rule: SignatureRule, value: string | undefined) => {
      const startedAt = process.threadCpuUsage()
      for (let check = 0; check < 10; check++)
        assert.notEqual(signatureProblem(rule, { headers: { 'x-signature': value }, body, now }), null)
      const { user, system } = process.threadCpuUsage(startedAt)
      return user + system
    }
    const wrong = timeOf(ruleOf(), right)
    for (const value of [undefined, '', `sha512=${right}`, 'x'])
      assert.ok(timeOf(ruleOf(), value) > wrong / 3, `${value}`)
    for (const value of [undefined, right, timedValue(NOW - 301)])
      assert.ok(timeOf(timed, value) > wrong / 3, `timestamp ${value}`)
  })
})
