import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SENDERS } from '#manage/catalog/senders.ts'
import type { Hook, HookRequestDetail, HookRequestRecord } from '#web/base/api/types.ts'
import { catchUpText } from '#web/pages/hooks/incoming/catch-ups.ts'
import { firstCallState } from '#web/pages/hooks/incoming/first-call-state.ts'
import {
  missingVariables,
  whyNoVariable,
  withCondition,
  withHeaderCondition,
  withPathFor,
  withVariable,
} from '#web/pages/hooks/incoming/from-pick.ts'
import { changeOf, inputOf, readHook, receptionOf } from '#web/pages/hooks/incoming/hook-values.ts'
import { initialValues, missingFields, newHookBody } from '#web/pages/hooks/incoming/new-hook-body.ts'
import { repositoryHookBody, senderOfProvider } from '#web/pages/hooks/incoming/repository-hook.ts'
import { payloadText, verdictStatus, whyNotReplayable } from '#web/pages/hooks/incoming/verdict.ts'
import {
  conditionOf,
  rowOf,
  type SingleRow,
  tagValue,
  valueTag,
  withOperator,
} from '#web/resources/hooks/condition-rows.ts'
import {
  intervalText,
  isReachableFrom,
  repositoryHost,
  repositoryState,
  whyNotConnectable,
} from '#web/resources/hooks/connection.ts'
import { ExactNumber, kindOf } from '#web/shared/editor/json-nodes.ts'

const SETTINGS = {
  variables: [
    { name: 'branch', path: 'ref', type: 'string', required: true, default_value: null },
    { name: 'empty', path: null, type: 'string', required: false, default_value: '' },
    { name: 'quoted', path: null, type: 'string', required: false, default_value: '"main"' },
    { name: 'count', path: 'n', type: 'integer', required: false, default_value: 3 },
    { name: 'list', path: 'l', type: 'array', required: false, default_value: ['a', 1] },
  ],
  signature: {
    scheme: 'timestamp',
    template: '{timestamp}.{body}',
    timestamp_header: null,
    id_header: 'x-id',
  },
  rate_limit: { per_second: 5, burst: 10 },
}
const CONDITIONS = [{ path: 'ref', accepted_values: ['refs/heads/main', '42', 42, true, null, { a: [1] }] }]
const HOOK = {
  name: 'Push',
  requires_secret: true,
  secret_algorithm: 'sha512',
  secret_header_name: 'X-Sig',
  settings: SETTINGS,
  trigger_when: { conditions: CONDITIONS },
} as unknown as Hook

const pick = (path: string, value: unknown) => ({ path, value, type: kindOf(value) })
const call = (more: Partial<HookRequestRecord>) =>
  ({ outcome: 'accepted', action_id: null, ...more }) as HookRequestRecord

describe('the form of an incoming hook', () => {
  it('sends what it was given if nothing is changed', () => {
    const values = readHook(HOOK)
    assert.deepEqual(receptionOf(values), {
      settings: SETTINGS,
      trigger_when: { conditions: CONDITIONS },
    })
    const paths = ['api/**', '!**/*.md']
    assert.deepEqual(receptionOf({ ...values, paths }).trigger_when.paths, paths)
    const { secret, ...change } = changeOf(values)
    assert.equal(secret, undefined, 'the secret stays')
    assert.equal(change.secret_algorithm, 'sha512')
  })

  it('sends a default that does not fit its type as it is: the API says what is wrong', () => {
    const [variable] = readHook(HOOK).variables
    const values = {
      ...readHook(HOOK),
      variables: [{ ...variable!, type: 'integer' as const, default: 'x' }],
    }
    assert.equal(receptionOf(values).settings.variables?.[0]?.default_value, 'x')
  })

  it('reads accepted values as JSON where they are, and as text otherwise', () => {
    for (const value of ['main', '42', 42, true, null, 'a, b', '"', [1]])
      assert.deepEqual(tagValue(valueTag(value)), value)
    assert.equal(tagValue('42'), 42)
    assert.equal(tagValue('refs/heads/main'), 'refs/heads/main')
  })

  it('shows errors of the API at the inputs of their rows', () => {
    assert.equal(inputOf('settings.variables.1.default_value'), 'variables.1.default')
    assert.equal(inputOf('trigger_when.conditions.0.accepted_values'), 'conditions.0.values')
    assert.equal(inputOf('trigger_when.conditions.1.any_of.0.header'), 'conditions.1.any_of.0.name')
    assert.equal(inputOf('trigger_when.conditions.1.matches'), 'conditions.1.values')
    assert.equal(inputOf('settings.signature.template'), 'template')
    assert.equal(inputOf('trigger_when.paths.2'), 'paths.2')
    assert.equal(inputOf('name'), undefined)
  })
})

describe('the conditions of a hook', () => {
  it('stay as they are when nothing is changed', () => {
    const conditions = [
      { path: 'ref', equals: 'main' },
      { path: 'n', one_of: [1, '1'], not: true },
      { path: 'ref', accepted_values: ['x'] },
      { path: 'ref', matches: 'refs/heads/**' },
      { header: 'X-Event', matches: 'a*', not: true },
      { header: 'X-Event', exists: false },
      {
        any_of: [
          { path: 'a', exists: true },
          { header: 'B', equals: null },
        ],
      },
    ]
    assert.deepEqual(conditions.map(rowOf).map(conditionOf), conditions)
    assert.deepEqual(conditionOf(rowOf({ path: 'a', exists: true, not: true })), { path: 'a', exists: false })
  })

  it('keep what was entered when the operator changes, as far as it fits', () => {
    const row = { ...(rowOf({ path: 'ref', equals: 'main' }) as SingleRow), values: ['main', 'dev'] }
    assert.deepEqual(conditionOf(row), { path: 'ref', one_of: ['main', 'dev'] })
    assert.deepEqual(conditionOf(withOperator(row, 'matches_not')), {
      path: 'ref',
      matches: 'main',
      not: true,
    })
    assert.deepEqual(conditionOf(withOperator(row, 'absent')), { path: 'ref', exists: false })
  })
})

describe('a value of a received call', () => {
  it('becomes a variable with path and type, under a free name', () => {
    const add = (path: string, value: unknown) => withVariable([], pick(path, value))[0]!
    assert.deepEqual(add('ref', 'refs/heads/main'), {
      name: 'branch',
      path: 'ref',
      type: 'string',
      required: true,
      default: '',
    })
    assert.equal(add('head_commit.id', 'a'.repeat(40)).name, 'commit')
    assert.equal(add('commits.0.added', []).type, 'array')
    assert.equal(add('a.n', 7).type, 'integer')
    assert.equal(add('a.n', new ExactNumber('12345678901234567890')).type, 'string')
    assert.equal(add('["x.y"]["été"]', true).name, 't')
    assert.equal(add('a.none', null).required, false)
    const twice = withVariable(withVariable([], pick('a.Id', 1)), pick('b.id', 2))
    assert.deepEqual(
      twice.map(({ name }) => name),
      ['Id', 'id_2'],
    )
    assert.equal(withVariable(twice, pick('b.id', 2)).length, 2, 'the same value is not added twice')
    assert.match(whyNoVariable(pick('a', {})) ?? '', /object/)
  })

  it('becomes a condition, or another value of the one at its path', () => {
    const one = withCondition([], pick('ref', 'refs/heads/main'))
    const two = withCondition(one, pick('ref', 'refs/heads/dev'))
    assert.deepEqual(two.map(conditionOf), [
      { path: 'ref', accepted_values: ['refs/heads/main', 'refs/heads/dev'] },
    ])
    assert.deepEqual(withCondition(two, pick('ref', 'refs/heads/dev')), two)
    const [large] = withCondition([], pick('id', new ExactNumber('12345678901234567890')))
    assert.deepEqual((large as SingleRow).values, ['12345678901234567890'])
    const header = withHeaderCondition(two, 'X-Event', 'push')
    assert.deepEqual(conditionOf(header[1]!), { header: 'X-Event', accepted_values: ['push'] })
    assert.equal(withHeaderCondition(header, 'x-event', 'pull').length, 2)
  })
})

describe('a tile', () => {
  it('asks for the fields of its sender, and sends a hook without what was left empty', () => {
    for (const sender of SENDERS) {
      const values = initialValues(sender)
      assert.deepEqual(missingFields(sender, values), {}, `${sender.code} has defaults for what it needs`)
      assert.doesNotMatch(JSON.stringify(newHookBody(sender, values)), /<[a-z_]+>/)
    }
    const github = SENDERS.find(({ code }) => code === 'github')!
    const body = newHookBody(github, { ...initialValues(github), name: 'Mine', field_branch: 'dev' })
    assert.equal(body.name, 'Mine')
    assert.deepEqual(body.trigger_when?.conditions, [{ path: 'ref', accepted_values: ['refs/heads/dev'] }])
    assert.deepEqual(Object.keys(missingFields(github, { name: 'x', field_branch: ' ' })), ['field_branch'])
  })
})

describe('a received call', () => {
  it('shows that the sender is set up once one is not rejected', () => {
    assert.equal(firstCallState([]).kind, 'waiting')
    assert.equal(firstCallState([call({ outcome: 'rejected_signature' })]).kind, 'rejected')
    const calls = [call({ outcome: 'rejected_payload' }), call({ outcome: 'ping' })]
    assert.equal(firstCallState(calls).kind, 'received')
  })

  it('is neither good nor bad if nothing had to be done', () => {
    assert.deepEqual(['accepted', 'ignored', 'rejected_payload'].map(verdictStatus), [
      'completed',
      'skipped',
      'failed',
    ])
  })

  it('has its JSON in a form field, too, and is not replayed if its sender is unknown', () => {
    const detail = (more: object) =>
      ({ request_body_encoding: 'utf-8', request_headers: {}, ...more }) as HookRequestDetail
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
    const encoded = `payload=${encodeURIComponent('{"a":1}')}`
    assert.equal(payloadText(detail({ request_body: encoded, request_headers: form })), '{"a":1}')
    assert.equal(payloadText(detail({ request_body: 'plain', request_headers: form })), 'plain')
    assert.equal(payloadText(detail({ request_body: null })), null)
    assert.match(whyNotReplayable(detail({ outcome: 'rejected_signature' })) ?? '', /signature/)
    assert.equal(whyNotReplayable(detail({ outcome: 'rejected_variables' })), undefined)
  })
})

describe('a call that lacks a variable', () => {
  const row = (name: string, path = '') => ({
    name,
    path,
    type: 'string' as const,
    required: true,
    default: '',
  })

  it('offers its values for that variable', () => {
    const rows = [row('commit', 'head.sha'), row('branch', 'ref')]
    const payload = { ref: 'main', after: 'abc' }
    assert.deepEqual(missingVariables(rows, payload), [rows[0]])
    assert.deepEqual(missingVariables(rows, { ref: 'main', head: { sha: 'abc' } }), [])
    assert.deepEqual(missingVariables([{ ...rows[0]!, default: 'x' }], payload), [])
    const [changed, same] = withPathFor(rows, 'commit', { path: 'after', value: 'abc', type: 'string' })
    assert.equal(changed!.path, 'after')
    assert.equal(same, rows[1])
  })
})

describe('a hook and its repository', () => {
  it('is created in the format of the credential, and polls only for what each push has', () => {
    const gitlab = senderOfProvider([...SENDERS], 'gitlab')
    const connected = repositoryHookBody('connect', gitlab, 'next')
    assert.equal(connected.connect, true)
    assert.match(JSON.stringify(connected.trigger_when), /refs\/heads\/next/)
    const polled = repositoryHookBody('poll', gitlab, 'next')
    assert.deepEqual(
      polled.settings?.variables?.map(({ name }) => name),
      ['branch', 'commit'],
    )
    assert.deepEqual([polled.trigger_when, polled.connect, polled.settings?.poll], [undefined, undefined, {}])
    assert.equal(polled.requires_secret, true)
    assert.equal(senderOfProvider([...SENDERS], 'ssh').code, 'github')
  })

  it('keeps settings that the form does not show, and finds the inputs of polling', () => {
    const poll = { refs: ['main'], every_seconds: 90 }
    const hook = { ...HOOK, settings: { ...SETTINGS, poll, unknown: { a: [1] } } } as unknown as Hook
    const { settings } = changeOf(readHook(hook))
    assert.deepEqual(settings, { ...SETTINGS, poll, unknown: { a: [1] } })
    assert.equal(changeOf({ ...readHook(hook), polls: false }).settings?.poll, undefined)
    assert.deepEqual(['settings.poll', 'settings.poll.refs.3', 'settings.poll.every_seconds'].map(inputOf), [
      'polls',
      'poll_refs',
      'poll_seconds',
    ])
  })

  it('is recommended to be connected where the host reaches Gantry', () => {
    const hosts: [repository: string, host: string | undefined][] = [
      ['https://github.com/acme/shop.git', 'github.com'],
      ['git@git.corp:acme/shop.git', 'git.corp'],
      ['ssh://git@10.0.0.7:22/acme/shop', '10.0.0.7'],
      ['acme/shop', undefined],
      ['/srv/git/shop', undefined],
    ]
    for (const [repository, host] of hosts) assert.equal(repositoryHost(repository), host, repository)
    const rows: [repository: string, baseUrl: string, isReachable: boolean][] = [
      ['https://github.com/acme/shop', 'https://gantry.example.com', true],
      ['https://github.com/acme/shop', 'http://10.0.0.5:7070', false],
      ['acme/shop', 'http://127.0.0.1:7070', false],
      ['https://git.corp/acme/shop', 'http://10.0.0.5:7070', true],
      ['https://git.corp/acme/shop', 'http://127.0.0.1:7070', false],
      ['http://localhost:3000/acme/shop', 'http://127.0.0.1:7070', true],
    ]
    for (const [repository, baseUrl, isReachable] of rows)
      assert.equal(isReachableFrom(repository, baseUrl), isReachable, `${repository} ${baseUrl}`)
  })

  it('says why it cannot be connected', () => {
    const github = { name: 'Token', provider: { code: 'github' } }
    const signed = { requires_secret: true, settings: {} }
    assert.equal(whyNotConnectable(signed, github), undefined)
    assert.match(whyNotConnectable({ ...signed, settings: { poll: {} } }, github)!, /polls/)
    assert.match(whyNotConnectable({ ...signed, requires_secret: false }, github)!, /no secret/)
    assert.match(whyNotConnectable(signed, null)!, /no credential/)
    assert.match(whyNotConnectable(signed, { name: 'Key', provider: { code: 'ssh' } })!, /Key is for another/)
  })

  it('says what was caught up after which outage', () => {
    const now = new Date(2026, 10, 18, 12)
    const at = (hour: number, minute: number, day = 18) => new Date(2026, 10, day, hour, minute).toISOString()
    const none = { id: 1, created_at: at(2, 30), caught_up: 0, superseded: 0, waiting: 0, lost: 0 }
    const text = (more: object) =>
      catchUpText({ ...none, missed_from: at(2, 10), missed_until: at(2, 25), ...more }, now)
    assert.match(text({ caught_up: 3 }), /^3 calls were caught up after the outage of 0?2:10.*–0?2:25.*\.$/)
    assert.match(
      text({ caught_up: 1, missed_until: at(2, 10) }),
      /^1 call was caught up .* of 0?2:10[^–]*\.$/,
    )
    assert.match(
      text({ caught_up: 1, superseded: 2, lost: 1 }),
      /; 2 older pushes were superseded; 1 was lost\.$/,
    )
    assert.match(text({ waiting: 2 }), /^2 calls are being caught up after [^;]*$/)
    assert.match(text({ lost: 1 }), /^No call was caught up after .*; 1 was lost\.$/)
    assert.match(text({ missed_from: at(23, 50, 17), missed_until: at(0, 5) }), /17.*–.*18/)
  })

  it('has one state in lists', () => {
    const state = (more: object) =>
      repositoryState({ active: true, connection: null, poll: null, ...more } as unknown as Hook)?.label
    assert.equal(state({}), undefined)
    assert.equal(state({ active: false, poll: { problem: null } }), undefined)
    assert.equal(state({ poll: { problem: null } }), 'Polling')
    assert.equal(state({ poll: { problem: 'No answer' } }), 'Polling fails')
    assert.equal(state({ connection: { state: 'missing' } }), 'Webhook missing')
    assert.deepEqual([60, 90, 3600, 1].map(intervalText), [
      'every minute',
      'every 90 seconds',
      'every 60 minutes',
      'every second',
    ])
  })
})
