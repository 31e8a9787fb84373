import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { compileRequest } from '#adapters/templates/compile.ts'
import { renderRequest } from '#adapters/templates/render.ts'
import { RECEIVERS } from '#manage/catalog/receivers.ts'
import { EVENT_KINDS } from '#model/events/event-kinds.ts'
import { OPTIONS, PRESET_KINDS, type PresetKind } from '#model/hooks/presets/schema.ts'
import { STATUS_KINDS } from '#model/hooks/sent-status.ts'
import { templateNames } from '#model/hooks/template-names.ts'
import type { Hook } from '#web/base/api/types.ts'
import { hasRoundedNumber, parseBody } from '#web/pages/hooks/outgoing/body-text.ts'
import { chatMessage } from '#web/pages/hooks/outgoing/chat-message.ts'
import { EVENTS, eventLabel } from '#web/pages/hooks/outgoing/events.ts'
import { waitingFor } from '#web/pages/hooks/outgoing/health.ts'
import {
  changeOf,
  hasOwnRequests,
  PRESET_FLAGS,
  PRESET_TEXTS,
  settingsOf,
  validateValues,
  valuesOf,
} from '#web/pages/hooks/outgoing/hook-values.ts'
import { ejectChanges, presetKind } from '#web/pages/hooks/outgoing/preset-kind.ts'
import {
  hookOf,
  initialValues,
  inputOf,
  needsApplication,
  takesOwnCredential,
  validateReceiver,
} from '#web/pages/hooks/outgoing/receiver-values.ts'
import { localTime, rangeStart } from '#web/pages/hooks/outgoing/redeliver-range.ts'
import { lineAndColumn, scanJson } from '#web/pages/hooks/outgoing/scan-json.ts'
import { TEMPLATE_NAMES } from '#web/pages/hooks/outgoing/template-names.ts'
import { emptyRow, tagValue, valueTag } from '#web/resources/hooks/condition-rows.ts'

const entry = (code: string) => RECEIVERS.find((one) => one.code === code)!

const hook = {
  name: 'Chat',
  target_url: 'https://chat.example.com/x',
  action_type: 'deploy',
  verify_ssl: true,
  credential_id: null,
  settings: {
    request_headers: [],
    request_body: { text: '{{ action.status }}' },
    request_method: 'POST',
    timeout_seconds: 15,
  },
  trigger_when: { events: ['action.failed'], conditions: [], scope: 'pipeline' },
} as unknown as Hook

describe('the body template of an outgoing hook', () => {
  it('is a JSON object, or empty for the event itself', () => {
    assert.deepEqual(parseBody(' \n'), { kind: 'default' })
    assert.deepEqual(parseBody('{"a": 1}'), { kind: 'body', body: { a: 1 } })
    assert.equal(parseBody('[1]').kind, 'invalid')
    assert.equal(parseBody('12345678901234567890').kind, 'invalid')
    assert.match((parseBody('{\n  "a": oops\n}') as { message: string }).message, /line 2, column 8/)
  })

  it('keeps the digits of large integers on the way to the API', () => {
    const text = '{"id": 12345678901234567890}'
    const parsed = parseBody(text)
    assert.equal(parsed.kind === 'body' && JSON.stringify(parsed.body), text.replace(' ', ''))
  })

  it('is not saved when the browser rounded it as it was read', () => {
    const rounded = JSON.parse('{"a": [{"id": 12345678901234567890}]}')
    assert.equal(hasRoundedNumber(rounded), true)
    assert.equal(hasRoundedNumber({ a: [1, 0.5, 1e15], b: null }), false)
    const base = valuesOf({ ...hook, settings: { ...hook.settings, request_body: rounded } })
    const errorOf = (values: typeof base) => validateValues(base, values, rounded)['settings.request_body']
    assert.equal(errorOf({ ...base, name: 'Renamed' }), null)
    assert.match(errorOf({ ...base, 'settings.timeout_seconds': 3 })!, /browsers round/)
  })

  it('shows where a problem is', () => {
    const text = '{\n  "text": "a, [b]",\n  "blocks": [\n    {"x": {"y": "deep"}},\n    -1.5e3\n  ]\n}'
    const scanned = scanJson(text)
    assert.ok(scanned.kind === 'valid')
    const at = (path: string) => lineAndColumn(text, scanned.starts.get(path)!)
    assert.equal(at('text'), 'line 2, column 11')
    assert.equal(at('blocks.0.x.y'), 'line 4, column 17')
    assert.equal(at('blocks.1'), 'line 5, column 5')
    assert.equal(scanned.starts.has('blocks.2'), false)
    for (const wrong of ['', '{', '{"a" 1}', '[1,]', '{"a": 01}', '"\\x"', '[1] 2', '{,}', "{'a': 1}"]) {
      assert.throws(() => JSON.parse(wrong))
      assert.equal(scanJson(wrong).kind, 'invalid', wrong)
    }
  })
})

describe('the names that the template editor completes', () => {
  it('all render', () => {
    const body = Object.fromEntries(TEMPLATE_NAMES.map(({ label }) => [label, `{{ ${label} }}`]))
    const settings = { request_headers: [], request_body: body, request_method: 'POST' }
    const compiled = compileRequest({ target_url: 'https://example.com/', settings }, templateNames())
    if (compiled.kind === 'invalid') assert.fail(JSON.stringify(compiled.errors))
    const rendered = renderRequest(compiled.request, { event: {}, action: {} })
    assert.equal(rendered.kind, 'rendered')
  })
})

describe('the form of an outgoing hook', () => {
  const base = valuesOf(hook)

  it('sends what changed, and objects as a whole', () => {
    assert.deepEqual(changeOf(base, base), {})
    assert.deepEqual(changeOf(base, { ...base, name: ' Alerts ' }), { name: 'Alerts' })
    assert.deepEqual(changeOf(base, { ...base, 'settings.timeout_seconds': '5' }), {
      settings: { ...hook.settings, timeout_seconds: 5 },
    })
    assert.deepEqual(changeOf(base, { ...base, 'trigger_when.scope': 'resource' }), {
      trigger_when: { events: ['action.failed'], scope: 'resource', conditions: [] },
    })
  })

  it('keeps what it shows as JSON, and sends no request beside two of its own', () => {
    const capture = [{ name: 'id', path: 'id', type: 'string', required: true, hidden: false }]
    const one = valuesOf({ ...hook, settings: { ...hook.settings, capture } })
    assert.deepEqual(changeOf(one, { ...one, 'settings.timeout_seconds': 5 }).settings, {
      ...hook.settings,
      capture,
      timeout_seconds: 5,
    })
    const requests = {
      create: { target_url: 'https://a.example' },
      update: { target_url: 'https://a.example' },
    }
    const two = valuesOf({ ...hook, settings: { capture, requests, timeout_seconds: 15 } })
    assert.equal(hasOwnRequests(two), true)
    const change = changeOf(two, { ...two, target_url: 'https://b.example', 'settings.timeout_seconds': 5 })
    assert.deepEqual(change, { settings: { capture, requests, timeout_seconds: 5 } })
    assert.match(
      validateValues(two, { ...two, 'settings.more': '{' }, {})['settings.more']!,
      /not valid JSON/,
    )
  })

  it('sends an empty body as the default, and no empty headers', () => {
    const headers = [
      { name: '', value: '' },
      { name: 'X-A', value: '' },
    ]
    const values = { ...base, 'settings.request_body': '', 'settings.request_headers': headers }
    assert.deepEqual(settingsOf(values)?.request_body, null)
    assert.deepEqual(settingsOf(values)?.request_headers, [{ name: 'X-A', value: '' }])
    assert.equal(settingsOf({ ...base, 'settings.request_body': '{' }), undefined)
  })

  it('offers every event of the API', () => {
    assert.deepEqual(EVENTS.map(({ value }) => value).toSorted(), [...EVENT_KINDS].toSorted())
    assert.equal(eventLabel('test'), 'Test')
    assert.equal(eventLabel('action.invented'), 'action.invented')
  })

  it('reads accepted values as JSON where they are JSON, and writes them so that they are read the same', () => {
    assert.deepEqual(['failed', '3', '"3"', 'true', 'null'].map(tagValue), ['failed', 3, '3', true, null])
    for (const value of ['a, b', '"x"', '[y]', ' z ', 'true', true, null, 'null', { a: [1, 2] }, '', 7])
      assert.deepEqual(tagValue(valueTag(value)), value)
    const base = valuesOf(hook)
    const change = changeOf(base, { ...base, 'trigger_when.conditions': [{ ...emptyRow(), name: ' ' }] })
    assert.deepEqual(change.trigger_when?.conditions, [])
  })
})

describe('a tile of the gallery', () => {
  it('becomes a hook with the fields that differ', () => {
    const gitlab = entry('gitlab_status')
    assert.deepEqual(hookOf(gitlab, initialValues(gitlab)), {
      name: 'GitLab status',
      settings: { preset: { kind: 'gitlab_status' } },
    })
    const made = hookOf(gitlab, { ...initialValues(gitlab), name: ' Shop ', 'fields.project': 'acme/shop ' })
    assert.equal(made.name, 'Shop')
    assert.deepEqual(made.settings?.preset, { kind: 'gitlab_status', project: 'acme/shop' })
  })

  it('asks for what is missing, and shows errors of the API at the field they are about', () => {
    const slack = entry('slack_message')
    const found = validateReceiver(slack, { ...initialValues(slack), name: ' ' }, false)
    assert.deepEqual(found, {
      name: 'Enter a name.',
      credential_id: 'Select a credential.',
      'fields.channel': 'Channel is missing.',
    })
    assert.equal(inputOf(slack, 'settings.preset.channel'), 'fields.channel')
    assert.equal(inputOf(slack, 'credential_id'), 'credential_id')
    assert.equal(inputOf(slack, 'settings.preset.kind'), undefined)
    const deployment = entry('github_deployment')
    assert.equal(inputOf(deployment, 'settings.preset.environment_url'), 'fields.environment_url')
    assert.equal(inputOf(deployment, 'settings.preset'), undefined)
    assert.equal(inputOf(slack, 'target_url'), undefined)
    assert.equal(inputOf(slack, 'name'), 'name')
    const webhook = entry('slack_webhook')
    assert.equal(inputOf(webhook, 'target_url'), 'fields.webhook_url')
    assert.equal(inputOf(webhook, 'settings'), undefined)
  })

  it('has a credential of the provider, or the one of the application where that may fit', () => {
    const [github, slack] = [entry('github_status'), entry('slack_message')]
    assert.equal(hookOf(slack, { ...initialValues(slack), credential_id: '7' }).credential_id, 7)
    assert.equal(hookOf(github, initialValues(github)).credential_id, undefined)
    assert.deepEqual(
      ['github', undefined, 'gitlab', null].map((own) => takesOwnCredential(github, own)),
      [true, true, false, false],
    )
    assert.equal(takesOwnCredential(slack, undefined), false)
    assert.equal(validateReceiver(github, initialValues(github), true).credential_id, null)
    assert.equal(validateReceiver(github, initialValues(github), false).credential_id, 'Select a credential.')
    const generic = entry('generic')
    assert.equal(validateReceiver(generic, initialValues(generic), false).credential_id, null)
  })

  it('needs a pipeline of an application if it reports on commits', () => {
    const codes = RECEIVERS.filter(needsApplication).map(({ code }) => code)
    const statuses = ['github_status', 'github_deployment', 'gitlab_status', 'bitbucket_status']
    assert.deepEqual(codes, [...statuses, 'gitea_status'])
  })
})

describe('a hook with a preset', () => {
  const preset = { kind: 'github_deployment', environment: 'live', auto_inactive: false }
  const base = valuesOf({ ...hook, credential_id: 3, settings: { preset, timeout_seconds: 15 } })

  it('has a form with its credential and options, and no request of its own', () => {
    assert.equal(hasOwnRequests(base), true)
    assert.deepEqual(settingsOf(base), { preset, timeout_seconds: 15 })
    assert.deepEqual(changeOf(base, { ...base, target_url: '', credential_id: '' }), { credential_id: null })
    const change = changeOf(base, {
      ...base,
      credential_id: '4',
      'settings.preset.environment': ' ',
      'settings.preset.environment_url': 'https://shop.example.com ',
      'settings.preset.auto_inactive': '',
      'settings.preset.production': 'true',
    })
    assert.deepEqual(change, {
      credential_id: 4,
      settings: {
        preset: {
          kind: 'github_deployment',
          environment_url: 'https://shop.example.com',
          production: true,
        },
        timeout_seconds: 15,
      },
    })
    assert.equal(validateValues(base, { ...base, target_url: '' }, {}).target_url, null)
  })

  it('has inputs for all options of the API', () => {
    const options = new Set(Object.values(OPTIONS).flat())
    assert.deepEqual([...PRESET_TEXTS, ...PRESET_FLAGS].toSorted(), [...options].toSorted())
    for (const { code, fields } of RECEIVERS.filter((one) => one.credential_provider !== null)) {
      const known: readonly string[] = OPTIONS[code as PresetKind]
      const asked = [...fields.map(({ name }) => name), ...PRESET_FLAGS]
      assert.deepEqual(
        known.filter((option) => !asked.includes(option)),
        [],
        code,
      )
    }
  })

  it('says what changes once it is an ordinary one', () => {
    assert.equal(presetKind({ settings: { preset } }), 'github_deployment')
    assert.equal(presetKind(hook), undefined)
    const isReadBack = (kind: string) =>
      ejectChanges(kind, 'X').some((text) => text.includes('no longer checks'))
    assert.deepEqual(PRESET_KINDS.filter(isReadBack), [...STATUS_KINDS])
    assert.match(ejectChanges('slack_message', 'Slack').join(' '), /200 .* counts as delivered/)
  })
})

describe('redelivering', () => {
  it('starts at a time in the past', () => {
    const now = Date.parse('2026-01-02T00:00:00Z')
    assert.equal(rangeStart('24', '', now), '2026-01-01T00:00:00.000Z')
    assert.equal(rangeStart('custom', '', now), undefined)
    assert.equal(rangeStart('custom', localTime(now + 60_000), now), undefined)
    assert.equal(rangeStart('custom', localTime(now - 60_000), now), '2026-01-01T23:59:00.000Z')
  })
})

describe('a paused hook', () => {
  it('names the service that it waits for, and until when', () => {
    const until = new Date(2026, 0, 2, 14, 5)
    const paused = {
      target_url: 'https://api.github.com/repos/x/statuses/{{ action.id }}',
      paused_until: until.toISOString(),
      paused_reason: 'api.github.com allows no more requests until 13:05 UTC (secondary rate limit)',
    }
    assert.equal(waitingFor(paused), 'Waiting for api.github.com until 14:05 (secondary rate limit)')
    assert.equal(waitingFor({ ...paused, paused_until: null, paused_reason: null }), undefined)
    const failing = { ...paused, paused_reason: 'nothing is sent until 13:05 UTC: attempts failed' }
    assert.equal(waitingFor(failing), undefined)
  })
})

describe('a chat message', () => {
  it('is read from what Slack and Discord get', () => {
    const slack = {
      text: 'a &lt;b&gt; &amp; c',
      attachments: [{ color: '#e01e5a', blocks: [{ fields: [{ text: 'Commit: 1a: fix' }] }, {}] }],
    }
    assert.deepEqual(chatMessage('slack_message', JSON.stringify(slack)), {
      title: 'a <b> & c',
      color: '#e01e5a',
      fields: [['Commit', '1a: fix']],
    })
    const discord = {
      embeds: [{ title: 'Deploy', color: 3061373, fields: [{ name: 'Pipeline', value: 'x' }] }],
    }
    assert.deepEqual(chatMessage('discord_message', JSON.stringify(discord)), {
      title: 'Deploy',
      color: '#2eb67d',
      fields: [['Pipeline', 'x']],
    })
    assert.equal(chatMessage('slack_message', 'no JSON'), undefined)
    assert.equal(chatMessage('github_status', '{}'), undefined)
  })
})
