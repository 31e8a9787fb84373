// Outgoing hooks with presets, captured answers and a credential of their own in a gantry.yaml.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { parse } from 'yaml'
import { createApply, nextName } from '#manage/apply/test-apply.ts'
import { openTestApp } from '#test/support/harness.ts'

const api = await openTestApp({ after })
const { administrator, applied, rejected } = await createApply(api)

/** The hooks begin in line 19, with two spaces. */
const document = (organization: string, hooks: string) => `organization: ${organization}
project: {name: Shop}
credentials:
  GitHub: {provider_code: github, token: a-token}
  Bot: {provider_code: slack, token: xoxb-token}
  Deploy key: {provider_code: ssh, generate: true}
environments:
  live:
    type: production
    applications:
      shop:
        repository: https://github.com/acme/shop.git
        credential: GitHub
        pipelines:
          Deploy:
            operation: deploy
            hooks:
              outgoing:
${hooks.replaceAll(/^/gm, ' '.repeat(14))}`

const HOOKS = `  Statuses:
    settings: {preset: {kind: github_status, context: deploy/live}}
  Channel:
    credential: Bot
    settings: {timeout_seconds: 5, preset: {kind: slack_message, channel: '#deploys'}}
    trigger_when: {events: [action.started, action.failed]}
  A ticket per run:
    settings:
      capture:
        - {name: ticket, path: data.id, type: integer}
        - {name: etag, header: ETag, required: false, hidden: true}
      requests:
        create:
          target_url: https://tickets.example.com/tickets
          request_headers: [{name: Authorization, value: 'Bearer $$\{HOME}'}]
          request_body: {z: 12345678901234567890, a: '{{ action.status }}'}
        update:
          method: PATCH
          target_url: https://tickets.example.com/tickets/{{ captured.ticket }}
          request_body: {state: '{{ action.status }}', a: 1}
        update_after_create: true
  Ordinary: {target_url: https://chat.example.com/x, credential: Bot}
`

const AT = 'environments.live.applications.shop.pipelines.Deploy.hooks.outgoing'

async function exported(organization: string): Promise<string> {
  const { token } = administrator
  const { body } = await api.request('GET', '/organizations?per_page=100', { token })
  const { id } = body.find(({ name }: { name: string }) => name === organization)
  const answer = await api.request('GET', `/organizations/${id}/export?project=Shop`, {
    token,
    headers: { accept: '*/*' },
  })
  assert.equal(answer.status, 200, answer.text)
  return answer.text
}

const VALUES = { values: { GITHUB_TOKEN: 'a-token', BOT_TOKEN: 'xoxb-token' } }

suite('presets, requests and captured answers in a gantry.yaml', () => {
  const organization = nextName()

  test('are created, and applying the file again changes nothing', async () => {
    const { summary } = await applied(document(organization, HOOKS))
    assert.deepEqual(summary, { create: 12, change: 0, delete: 0 })
    assert.deepEqual((await applied(document(organization, HOOKS))).changes, [])
  })

  test('go there and back: the export of what an export has created is the same text', async () => {
    const text = await exported(organization)
    assert.match(text, /credential: Bot\n/)
    assert.match(text, /preset:\n +kind: github_status\n +context: deploy\/live\n/)
    const { hooks } = parse(text).environments.live.applications.shop.pipelines.Deploy
    const { Statuses, 'A ticket per run': ticket } = hooks.outgoing
    assert.ok(!('target_url' in Statuses) && !('target_url' in ticket), 'each URL is in the file once')
    assert.deepEqual((await applied(text, VALUES)).changes, [])
    const other = nextName()
    await applied(text.replace(organization, other), VALUES)
    assert.equal((await exported(other)).replace(other, organization), text)
  })

  test('change one field at a time, and back', async () => {
    const changes: [from: string, to: string, fields: string[]][] = [
      ['deploy/live', 'deploy/shop', ['settings']],
      ["'#deploys'", "'#releases'", ['settings']],
      ["z: 12345678901234567890, a: '{{ action.status }}'", "a: '{{ action.status }}', z: 1", ['settings']],
      ["state: '{{ action.status }}', a: 1", "a: 1, state: '{{ action.status }}'", ['settings']],
      ['com/tickets\n', 'com/issues\n', ['settings']],
      ['update_after_create: true', 'update_after_create: false', ['settings']],
      ['path: data.id', 'path: id', ['settings']],
      ['credential: Bot}', 'credential: GitHub}', ['credential']],
    ]
    for (const [from, to, fields] of changes) {
      const changed = HOOKS.replace(from, to)
      assert.notEqual(changed, HOOKS, from)
      const answer = await applied(document(organization, changed))
      const found = answer.changes.map((change: { fields: { field: string }[] }) =>
        change.fields.map(({ field }) => field),
      )
      assert.deepEqual(found, [fields], from)
      assert.deepEqual((await applied(document(organization, changed))).changes, [], 'applied twice')
      await applied(document(organization, HOOKS))
      assert.deepEqual((await applied(document(organization, HOOKS))).changes, [], 'and back')
    }
  })

  test('replace each other', async () => {
    const kinds = [
      '{settings: {preset: {kind: github_status}}}',
      '{target_url: https://chat.example.com/y, settings: {request_body: {a: 1}}}',
      `{settings: {capture: [{name: id, path: id}], requests: {create: {target_url: 'https://a.example.com/'},
         update: {target_url: 'https://a.example.com/{{ captured.id }}'}}}}`,
      '{settings: {preset: {kind: github_deployment, environment: live}}}',
    ]
    const name = nextName()
    for (const kind of [...kinds, ...kinds.toReversed()]) {
      const file = document(name, `  Changing: ${kind}\n`)
      await applied(file)
      assert.deepEqual((await applied(file)).changes, [], kind)
    }
  })
})

suite('what does not fit in the file is an error with its position', () => {
  const organization = nextName()
  const errorsOf = (hook: string) => rejected(document(organization, `  Notify:\n    ${hook}\n`))
  const wrong: [what: string, hook: string, errors: Record<string, string>][] = [
    [
      'a credential that does not exist',
      'credential: Nope\n    settings: {preset: {kind: slack_message, channel: x}}',
      { credential: 'line 20, column 31: is not a credential that you can view in this organization' },
    ],
    [
      'a credential of another service',
      'credential: Bot\n    settings: {preset: {kind: github_status}}',
      { credential: 'line 20, column 31: must be a credential of GitHub' },
    ],
    [
      'a credential without a token',
      'credential: Deploy key\n    settings: {preset: {kind: github_status}}',
      { credential: 'line 20, column 31: has no token to send' },
    ],
    [
      'an option of another kind',
      'settings: {preset: {kind: github_status, channel: x}}',
      { 'settings.preset.channel': 'line 20, column 69: ' },
    ],
    [
      'an unknown kind',
      'settings: {preset: {kind: github}}',
      { 'settings.preset.kind': 'line 20, column 45: must be one of: github_status, ' },
    ],
    [
      'a preset with a URL',
      'target_url: https://example.com/\n    settings: {preset: {kind: github_status}}',
      { target_url: 'line 20, column 31: must be absent: settings.preset has its own' },
    ],
    [
      'a preset with a body',
      'settings: {preset: {kind: github_status}, request_body: {a: 1}}',
      {
        'settings.request_body': 'line 20, column 75: must be absent: settings.preset has its own',
      },
    ],
    [
      'requests with a body',
      `settings: {request_body: {a: 1}, capture: [{name: id, path: id}], requests: {create: {target_url: 'https://a.example.com'}, update: {target_url: 'https://a.example.com'}}}`,
      {
        'settings.request_body': 'line 20, column 44: must be absent: each of settings.requests has its own',
      },
    ],
    [
      'requests without a captured value',
      `settings: {requests: {create: {target_url: 'https://a.example.com'}, update: {target_url: 'https://a.example.com'}}}`,
      { 'settings.capture': 'line 20, column 29: must have a required value' },
    ],
    [
      'a request to a private address',
      `settings: {capture: [{name: id, path: id}], requests: {create: {target_url: 'http://10.0.0.5/'}, update: {target_url: 'http://10.0.0.6/'}}}`,
      {
        'settings.requests.create.target_url': 'line 20, column 95: ',
        'settings.requests.update.target_url': 'line 20, column 137: ',
      },
    ],
    ['neither a URL nor a preset', 'settings: {timeout_seconds: 5}', { target_url: 'line 20, column 19: ' }],
  ]
  for (const [what, hook, expected] of wrong)
    test(what, async () => {
      const errors = await errorsOf(hook)
      assert.deepEqual(
        Object.keys(errors).sort(),
        Object.keys(expected).map((field) => `${AT}.Notify.${field}`),
        JSON.stringify(errors),
      )
      for (const [field, start] of Object.entries(expected)) {
        const messages = errors[`${AT}.Notify.${field}`]!
        assert.equal(messages.length, 1)
        assert.equal(messages[0]!.slice(0, start.length), start)
      }
    })

  test('also when the hook exists and the URL is that of its preset', async () => {
    const other = nextName()
    const hook = (more: string) =>
      document(other, `  Notify:\n    settings: {preset: {kind: github_status}}${more}\n`)
    await applied(hook(''))
    const { target_url } = await api.db
      .selectFrom('hooks')
      .select('target_url')
      .orderBy('created_at', 'desc')
      .executeTakeFirstOrThrow()
    const errors = await rejected(hook(`\n    target_url: '${target_url}'`))
    assert.deepEqual(errors, {
      [`${AT}.Notify.target_url`]: ['line 21, column 31: must be absent: settings.preset has its own'],
    })
  })
})

test('editors accept a hook without a URL if it has a preset or requests, and only then', async () => {
  const { body } = await api.request('GET', '/gantry.schema.json')
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  const validate = ajv.compile(body)
  const isValid = (hooks: string) => validate(parse(document('Acme', hooks)))
  assert.ok(isValid(HOOKS), ajv.errorsText(validate.errors))
  assert.ok(!isValid('  Notify: {settings: {timeout_seconds: 5}}\n'))
  assert.ok(!isValid('  Notify: {}\n'))
  assert.ok(!isValid('  Notify: {settings: {preset: {kind: carrier_pigeon}}}\n'))
})
