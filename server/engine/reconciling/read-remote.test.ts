import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { SendOutcome } from '#adapters/http-client/client.ts'
import type { SentStatus } from '#model/hooks/sent-status.ts'
import { MAX_ANSWER_BYTES, MAX_PAGES, readBackRequest, readPage, readRemote } from './read-remote.ts'

const LINK = 'https://gantry.example/app/actions/7'
const sent = (kind: SentStatus['kind'], url: string): SentStatus => ({
  kind,
  url,
  context: 'gantry/live/deploy',
  state: 'success',
  link: LINK,
})
const GITHUB = sent('github_status', 'https://api.github.com/repos/acme/shop/statuses/c0ffee')
const GITLAB = sent('gitlab_status', 'https://gitlab.com/api/v4/projects/acme%2Fshop/statuses/c0ffee')
const GITEA = sent('gitea_status', 'https://git.example/api/v1/repos/acme/shop/statuses/c0ffee')

const answer = (body: unknown, status = 200, headers: Record<string, string> = {}) => ({
  kind: 'answered' as const,
  status,
  headers,
  body: Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  retryAfter: null,
  ipAddress: null,
  durationMs: 1,
})

/** What one answer says, when no further page may be read. */
function readOne(status: SentStatus, outcome: SendOutcome) {
  const page = readPage(status, outcome)
  if (page.kind === 'unreadable') return page
  return readRemote(status, page.statuses, { number: MAX_PAGES, isLast: page.isLast })!
}

suite('reading a status back', () => {
  test('asks each service where it lists the statuses of a commit', () => {
    assert.deepEqual(
      [GITHUB, GITLAB, GITEA].map((status) => readBackRequest(status, 'token').url),
      [
        'https://api.github.com/repos/acme/shop/commits/c0ffee/statuses?per_page=100',
        'https://gitlab.com/api/v4/projects/acme%2Fshop/repository/commits/c0ffee/statuses?per_page=100&name=gantry%2Flive%2Fdeploy',
        'https://git.example/api/v1/repos/acme/shop/commits/c0ffee/statuses?limit=50&sort=recentupdate',
      ],
    )
  })

  test('finds the newest one of the context', () => {
    const other = { id: 9, context: 'ci', state: 'failure', target_url: null }
    const newest = { id: 5, context: 'Gantry/Live/Deploy', state: 'success', target_url: LINK }
    const older = { id: 4, context: GITHUB.context, state: 'pending', target_url: LINK }
    const found = { kind: 'found', state: 'success', link: LINK }
    assert.deepEqual(readOne(GITHUB, answer([older, other, newest])), found)
    assert.deepEqual(readOne(GITHUB, answer([other])), { kind: 'missing' })
    const last = { link: '<https://git.example/?page=1>; rel="first"' }
    assert.deepEqual(readOne(GITHUB, answer([other], 200, last)), { kind: 'missing' })
    const cut = readOne(GITHUB, answer([{ ...newest, state: `${'x'.repeat(63)}💥` }]))
    assert.ok(cut.kind === 'found' && cut.state.isWellFormed())
    const gitlab = { id: 1, name: GITLAB.context, status: 'success', target_url: LINK }
    assert.deepEqual(readOne(GITLAB, answer([gitlab])), found)
    const gitea = { id: 1, context: GITEA.context, status: 'success', target_url: '' }
    assert.deepEqual(readOne(GITEA, answer([gitea])), { ...found, link: null })
  })

  test('continues with the next page until it is found, or there is none', () => {
    assert.match(readBackRequest(GITHUB, 'token', 2).url, /\?per_page=100&page=2$/)
    const ours = { id: 5, context: GITHUB.context, name: GITLAB.context, state: 'success', status: 'success' }
    const full = readPage(GITHUB, answer(Array.from({ length: 100 }, (_, id) => ({ id, context: 'ci' }))))
    assert.deepEqual(full, { kind: 'page', statuses: [], isLast: false })
    assert.equal(readRemote(GITHUB, [], { number: 1, isLast: false }), null)
    assert.equal(readRemote(GITHUB, [ours], { number: 2, isLast: false })?.kind, 'found')
    // GitLab lists the oldest first.
    assert.equal(readRemote(GITLAB, [ours], { number: 2, isLast: false }), null)
    const newer = { ...ours, id: 6, status: 'failed' }
    const last = readRemote(GITLAB, [ours, newer], { number: 3, isLast: true })
    assert.deepEqual(last, { kind: 'found', state: 'failed', link: null })
    assert.equal(readRemote(GITHUB, [], { number: MAX_PAGES, isLast: false })?.kind, 'unreadable')
    assert.equal(readRemote(GITHUB, [], { number: MAX_PAGES, isLast: true })?.kind, 'missing')
  })

  test('names what it cannot read, and whether asking again may help', () => {
    const reasons: [SendOutcome, RegExp, boolean][] = [
      [answer('<html>'), /something other/, false],
      [answer({ message: 'no list' }), /something other/, false],
      [answer(Buffer.alloc(MAX_ANSWER_BYTES, '[')), /more than 1 MiB/, false],
      [answer([{ context: GITHUB.context }]), /without a state/, false],
      [answer(Array.from({ length: 100 }, (_, id) => ({ id, context: 'ci' }))), /too many/, false],
      [
        answer([{ context: 'ci' }], 200, { link: '<https://git.example/?page=2>; rel="next"' }),
        /too many/,
        false,
      ],
      [answer('', 301), /has moved/, false],
      [answer('', 401), /token is not valid/, false],
      [answer('', 403), /may not read/, false],
      [answer('', 404), /no such commit/, false],
      [answer('', 502), /returned 502/, true],
      [{ kind: 'timed-out', message: 'No response.', ipAddress: null, durationMs: 1 }, /No response/, true],
      [{ kind: 'blocked', message: 'Not allowed.', ipAddress: null, durationMs: 1 }, /Not allowed/, false],
    ]
    for (const [outcome, reason, isTemporary] of reasons) {
      const remote = readOne(GITHUB, outcome)
      assert.ok(remote.kind === 'unreadable', String(reason))
      assert.match(remote.reason, reason)
      assert.equal(remote.isTemporary, isTemporary, remote.reason)
    }
    assert.deepEqual(readOne(GITHUB, answer([null, 1, [], { context: [] }])), { kind: 'missing' })
  })
})
