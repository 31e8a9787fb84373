import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readAddress } from './address.ts'
import { explainDisk, explainFetch, explainLimited } from './failures.ts'

const read = readAddress('https://h.example/acme/shop')
const remote = read.kind === 'remote' ? read.remote : assert.fail()
const explain = (errors: string, hasCredential = true, hidden: string[] = []) =>
  explainFetch(errors, { remote, hasCredential, hidden })

const said: [string, string, RegExp][] = [
  ["fatal: unable to access 'x': The requested URL returned error: 301", 'moved', /moved from https:/],
  [
    "fatal: could not read Username for 'x': terminal prompts disabled",
    'refused',
    /credential of this application/,
  ],
  ["fatal: unable to access 'x': The requested URL returned error: 403", 'refused', /does not allow/],
  [
    "fatal: unable to access 'x': The requested URL returned error: 502",
    'unreachable',
    /unavailable right now/,
  ],
  ["fatal: repository 'https://h.example/acme/shop/' not found", 'absent', /no repository at https:/],
  ['ERROR: Repository not found.\nfatal: Could not read from remote repository.', 'absent', /no repository/],
  ["fatal: unable to access 'x': Could not resolve host: h.example", 'unreachable', /could not be resolved/],
  [
    "fatal: unable to access 'x': Operation too slow. Less than 1 bytes/sec",
    'unreachable',
    /does not answer/,
  ],
  [
    'ssh: connect to host h.example port 22: Connection refused',
    'unreachable',
    /does not accept connections/,
  ],
  ['git@h.example: Permission denied (publickey).', 'refused', /SSH key/],
  ['@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @', 'refused', /host key/],
  ['Load key "/k": error in libcrypto\nPermission denied (publickey).', 'refused', /cannot be read/],
  ["fatal: unable to access 'x': server certificate verification failed.", 'refused', /secure connection/],
  ['error: RPC failed; curl 18\nfatal: early EOF', 'unreachable', /closed the connection/],
  ['fatal: write error: No space left on device', 'disk', /No space/],
  ['fatal: mismatched algorithms: client sha1; server sha256', 'hashes', /hash algorithm/],
  ['fatal: bad object refs/heads/main', 'unknown', /bad object/],
  ['', 'unknown', /did not report a reason/],
]

for (const [errors, kind, message] of said) {
  test(`${JSON.stringify(errors.slice(0, 70))} means ${kind}`, () => {
    const failure = explain(errors)
    assert.equal(failure.kind, kind)
    assert.match(failure.message, message)
  })
}

test('without a credential, the message says that one may be missing', () => {
  assert.match(explain('terminal prompts disabled', false).message, /requires a credential/)
  assert.match(explain('Permission denied (publickey)', false).message, /has none/)
})

test('output of the remote cannot choose the reason', () => {
  assert.equal(explain('remote: No space left on device\nfatal: something else').kind, 'unknown')
})

test("git's own words are shown in one line, cut, without secrets and folders", () => {
  const errors = `fatal: cannot open /home/gantry/mirrors/1/x with s3cret\x1b[2J ${'y'.repeat(1_000)}`
  const { message } = explain(errors, true, ['/home/gantry/mirrors', 's3cret', ''])
  assert.doesNotMatch(message, /gantry|s3cret|\x1b/)
  assert.match(message, /cannot open \*{8}\/1\/x with \*{8} \[2J yyy/)
  assert.ok(message.length < 400)
  const basic = Buffer.from('robot:s3cret-token').toString('base64')
  const encoded = `fatal: unable to access https://robot:s3cret%2Dtoken@git/ with Basic ${basic}`
  const shown = explain(encoded, true, ['s3cret-token']).message
  assert.doesNotMatch(shown, /czNjcmV0|NjcmV0/)
})

test('disk errors are reported without a path, and other errors are no outcome', () => {
  assert.match(explainDisk(Object.assign(new Error('/home/x'), { code: 'ENOSPC' })) ?? '', /No space/)
  assert.match(
    explainDisk(Object.assign(new Error('/home/x'), { code: 'EROFS' })) ?? '',
    /not usable \(EROFS\)/,
  )
  assert.match(
    explainDisk(Object.assign(new Error('/home/x'), { code: 'ERR_SQLITE_ERROR', errcode: 14 })) ?? '',
    /usable\./,
  )
  assert.equal(explainDisk(new TypeError('x is undefined')), undefined)
})

test('git that reached its limits says that the repository is too large, in branches as in files', () => {
  const context = { remote, hasCredential: false, hidden: [] }
  for (const errors of ['fatal: Out of memory, realloc failed', 'fatal: write error: File too large']) {
    assert.equal(explainLimited(errors, context).problem, 'too_large')
    assert.equal(explainFetch(errors, context).problem, 'other')
  }
  assert.equal(explainLimited('fatal: Repository not found', context).problem, 'not_found')
})
