// The logic of the pages for accounts, without a browser.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { GantryError, UnreachableError } from '#client/index.ts'
import { RIGHT_REDIRECTS, WRONG_REDIRECTS } from '#test/support/redirect-uris.ts'
import { fieldErrors } from '#web/base/ui/field-errors.ts'
import { languageChoices } from '#web/pages/account/languages.ts'
import { NEW_TOKEN, scopesLabel, toTokenBody, validateToken } from '#web/pages/account/token-input.ts'
import { describeUserAgent } from '#web/pages/account/user-agent.ts'
import {
  type AuthorizationRequest,
  answerUrl,
  readAuthorizationRequest,
} from '#web/pages/sign-in/authorization-request.ts'
import { grantLabel } from '#web/pages/sign-in/grant-label.ts'
import { signInProblem, singleSignOnProblem } from '#web/pages/sign-in/problems.ts'
import { readLink } from '#web/pages/sign-in/read-link.ts'
import { ownPath } from '#web/pages/sign-in/return-to.ts'

describe('a session', () => {
  const MOZILLA = 'Mozilla/5.0'
  const WEBKIT = 'AppleWebKit/605.1.15 (KHTML, like Gecko)'
  const SEEN: [userAgent: string | null, words: string][] = [
    [`${MOZILLA} (X11; Linux x86_64) ${WEBKIT} Chrome/142.0.0.0 Safari/537.36`, 'Chrome 142 on Linux'],
    [`${MOZILLA} (X11; CrOS x86_64 1) ${WEBKIT} Chrome/142.0.0.0 Safari/537.36`, 'Chrome 142 on ChromeOS'],
    [
      `${MOZILLA} (X11; Linux x86_64) ${WEBKIT} HeadlessChrome/142.0.0.0 Safari/537.36`,
      'Chrome 142 on Linux',
    ],
    [
      `${MOZILLA} (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/142.0.0.0 Safari/537.36 Edg/142.0.3595.53`,
      'Edge 142 on Windows',
    ],
    [
      `${MOZILLA} (Macintosh; Intel Mac OS X 10_15_7) ${WEBKIT} Version/18.5 Safari/605.1.15`,
      'Safari 18 on macOS',
    ],
    [
      `${MOZILLA} (iPhone; CPU iPhone OS 18_5 like Mac OS X) ${WEBKIT} Version/18.5 Mobile/15E148 Safari/604.1`,
      'Safari 18 on iOS',
    ],
    [
      `${MOZILLA} (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0`,
      'Firefox 145 on Windows',
    ],
    [`${MOZILLA} (Android 15; Mobile; rv:145.0) Gecko/145.0 Firefox/145.0`, 'Firefox 145 on Android'],
    [`${MOZILLA} (X11; Linux x86_64) SomethingNew/1.0`, 'Unknown browser on Linux'],
    ['curl/8.5.0', 'curl 8.5'],
    ['python-requests/2.32.3', 'python-requests 2.32'],
    ['node', 'node'],
    ['Go-http-client/1.1', 'Go-http-client 1.1'],
    ['', 'Unknown client'],
    ['   ', 'Unknown client'],
    ['<script>alert(1)</script>', 'Unknown browser'],
    [null, 'Unknown client'],
  ]

  it('is described by browser and system, or by the name of the program', () => {
    for (const [userAgent, words] of SEEN) assert.equal(describeUserAgent(userAgent), words)
    assert.ok(describeUserAgent('x'.repeat(255)).length <= 60)
  })
})

describe('a link', () => {
  it('has its token in the fragment, or in the path if it is an old invitation', () => {
    assert.deepEqual(readLink('/app/invitation', '#gty_in_abc'), { page: 'invitation', token: 'gty_in_abc' })
    assert.deepEqual(readLink('/app/invitation/gty_in_abc', ''), { page: 'invitation', token: 'gty_in_abc' })
    assert.deepEqual(readLink('/app/reset-password/', '#gty_rs_abc'), {
      page: 'reset-password',
      token: 'gty_rs_abc',
    })
  })

  it('to another page, or without a token, is none', () => {
    for (const [pathname, hash] of [
      ['/app/invitation', ''],
      ['/app/invitation', '#'],
      ['/app/invitation/', ''],
      ['/app/invitation/a/b', ''],
      ['/app/actions', '#content'],
      ['/other/invitation', '#token'],
    ] as const)
      assert.equal(readLink(pathname, hash), undefined)
  })
})

describe('after single sign-on', () => {
  it('people return to pages of the dashboard only', () => {
    for (const path of ['/actions/7?step=2', '/invitation', '/account', '/sign-ins'])
      assert.equal(ownPath(path), path)
    const foreign = [
      '//evil.example',
      '/\\evil.example',
      'https://evil.example',
      'javascript:alert(1)',
      '/a\\b',
    ]
    for (const path of [...foreign, '/\t/evil.example', '', 'actions', null])
      assert.equal(ownPath(path), undefined)
    for (const path of ['/', '/sign-in', '/sign-in?problem=sso_expired'])
      assert.equal(ownPath(path), undefined)
  })

  it('every problem has a text, also one that is not known yet', () => {
    for (const code of [
      'sso_unavailable',
      'sso_rejected',
      'sso_expired',
      'sso_no_account',
      'sso_email_taken',
      'sso_identity_taken',
    ])
      assert.notEqual(singleSignOnProblem(code), singleSignOnProblem('new_code'))
    assert.match(singleSignOnProblem('constructor')!, /failed/)
    assert.equal(singleSignOnProblem(null), undefined)
  })
})

function failure(
  status: number,
  body: { message?: string; errors?: Record<string, string[]> },
  retryAfter = '',
) {
  return new GantryError(new Response(null, { status, headers: { 'retry-after': retryAfter } }), body)
}

describe('a failed sign-in', () => {
  it('says what is wrong, and when to try again', () => {
    const now = Date.parse('2026-11-15T08:00:00.000Z')
    assert.equal(signInProblem(failure(401, {}), now), 'Incorrect email or password')
    assert.match(signInProblem(new UnreachableError(), now), /unreachable/)
    const throttled = (seconds: string) => signInProblem(failure(429, { message: 'Wait.' }, seconds), now)
    assert.match(throttled('840'), /^Too many failed attempts. Try again in 14 minutes, at \d+:14/)
    assert.match(throttled('841'), /in 15 minutes/)
    assert.match(throttled('5'), /in a minute\.$/)
    assert.equal(throttled('soon'), 'Wait.')
  })
})

describe('an error of a form', () => {
  it('is shown at the fields that it names, and above the form if it names others', () => {
    const about = (errors: Record<string, string[]>) => failure(422, { message: 'Invalid', errors })
    const name = about({ name: ['must not be empty'] })
    assert.deepEqual(fieldErrors(name, ['name']), { errors: { name: 'Must not be empty' }, rest: null })
    const both = about({ name: ['is long'], token: ['is spent'] })
    assert.deepEqual(fieldErrors(both, ['name']), { errors: { name: 'Is long' }, rest: both })
    const other = failure(409, { message: 'No password' })
    assert.deepEqual(fieldErrors(other, ['name']), { errors: {}, rest: other })
  })
})

describe('a new token', () => {
  const NOW = Date.parse('2026-11-15T08:00:00.000Z')

  it('reads only and expires unless its owner wants otherwise', () => {
    assert.deepEqual(toTokenBody({ ...NEW_TOKEN, name: ' CI ' }, NOW), {
      name: 'CI',
      scopes: ['read'],
      organization_ids: null,
      project_ids: null,
      expires_at: '2027-02-13T08:00:00.000Z',
    })
    const full = { ...NEW_TOKEN, access: 'full', expiry: 'never' } as const
    assert.deepEqual(toTokenBody(full, NOW), {
      ...toTokenBody(NEW_TOKEN, NOW),
      scopes: null,
      expires_at: null,
    })
  })

  it('is limited to what is selected, and not to what was selected before', () => {
    const input = { ...NEW_TOKEN, organizations: ['1'], projects: ['2', '3'] }
    const limits = (reach: string) => {
      const { organization_ids, project_ids } = toTokenBody({ ...input, reach }, NOW)
      return { organization_ids, project_ids }
    }
    assert.deepEqual(limits('all'), { organization_ids: null, project_ids: null })
    assert.deepEqual(limits('organizations'), { organization_ids: [1], project_ids: null })
    assert.deepEqual(limits('projects'), { organization_ids: null, project_ids: [2, 3] })
  })

  it('needs a selection where it is limited to one', () => {
    const problems = (input: object) =>
      Object.entries(validateToken({ ...NEW_TOKEN, name: 'CI', ...input })).filter(([, problem]) => problem)
    assert.deepEqual(problems({}), [])
    assert.equal(problems({ name: ' ' })[0]![0], 'name')
    assert.equal(problems({ scopes: [] })[0]![0], 'scopes')
    assert.deepEqual(problems({ scopes: [], access: 'full' }), [])
    assert.equal(problems({ reach: 'organizations' })[0]![0], 'organizations')
    assert.equal(problems({ reach: 'projects' })[0]![0], 'projects')
    assert.equal(scopesLabel(null), 'full access')
    assert.equal(scopesLabel(['read', 'run']), 'read, run')
  })
})

describe('labels', () => {
  it('name a role with its scope, and languages by their own names', () => {
    const grant = { role_name: 'developer', project_name: 'Web shop', environment_name: null }
    assert.equal(grantLabel(grant), 'developer in Web shop')
    assert.equal(grantLabel({ ...grant, environment_name: 'Staging' }), 'developer in Web shop / Staging')
    assert.equal(grantLabel({ ...grant, project_name: null }), 'developer in the whole organization')
    assert.equal(languageChoices('en').find(({ value }) => value === 'de')?.label, 'Deutsch')
    assert.deepEqual(languageChoices('not a tag')[0], { value: 'not a tag', label: 'not a tag' })
  })
})

describe('a request to authorize the command line', () => {
  const right = {
    redirect_uri: 'http://127.0.0.1:49152/callback',
    state: 'a+b/c=&?#',
    code_challenge: 'x'.repeat(43),
    name: 'laptop',
  }
  const read = (more: Record<string, string> = {}) =>
    readAuthorizationRequest(`?${new URLSearchParams({ ...right, ...more })}`)
  const isRefused = (search: string) => 'problems' in readAuthorizationRequest(search)

  it('leads back to a loopback port, with the state as it was', () => {
    for (const redirect_uri of RIGHT_REDIRECTS) {
      const request = read({ redirect_uri }) as AuthorizationRequest
      const url = new URL(answerUrl(request, { code: 'a&b' }))
      assert.equal(url.href.split('?')[0], new URL(redirect_uri).href)
      assert.deepEqual(
        [...url.searchParams],
        [
          ['code', 'a&b'],
          ['state', right.state],
        ],
      )
    }
  })

  it('leads nowhere else', () => {
    for (const redirect_uri of WRONG_REDIRECTS) assert.ok('problems' in read({ redirect_uri }), redirect_uri)
  })

  it('is refused when a parameter is missing, wrong or given twice', () => {
    assert.equal((readAuthorizationRequest('') as { problems: string[] }).problems.length, 4)
    for (const [name, value] of Object.entries(right)) {
      const search = new URLSearchParams(right)
      search.append(name, value)
      assert.ok(isRefused(`?${search}`), `${name} twice`)
      search.delete(name)
      assert.ok(isRefused(`?${search}`), `no ${name}`)
    }
    const wrong: Record<string, string>[] = [
      { state: 'x'.repeat(513) },
      { state: 'a b' },
      { code_challenge: 'x'.repeat(42) },
      { code_challenge_method: 'plain' },
      { name: '\u200b\u202e\n' },
    ]
    for (const more of wrong) assert.ok('problems' in read(more), JSON.stringify(more))
    assert.ok(!('problems' in read({ code_challenge_method: 'S256' })))
  })

  it('names the machine on one line, in 50 characters at most', () => {
    const nameOf = (name: string) => (read({ name }) as AuthorizationRequest).name
    assert.equal(nameOf(' a\nb\u202egnp\u0000 '), 'a b gnp')
    assert.equal(nameOf('😀'.repeat(60)), '😀'.repeat(50))
    assert.equal(nameOf(`${'x'.repeat(49)} y`), 'x'.repeat(49))
  })
})
