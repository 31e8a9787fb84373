import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { renderRequest, type TemplateContext } from '#adapters/templates/render.ts'
import { VERSION } from '#platform/version.ts'
import { allOf, compileRequests } from '../compile-requests.ts'
import { expandPreset } from './expand.ts'
import { OPTIONS, PRESET_KINDS, type Preset, providerOf } from './schema.ts'

const COMMIT = '1f0c5e7a9b3d4c2e8f6a7b5c4d3e2f1a0b9c8d7e'

function expand(preset: Preset, baseUrl: string | null = null) {
  const expanded = expandPreset(preset, { provider: providerOf(preset.kind), baseUrl }, 15)
  assert.ok(expanded.kind === 'expanded', JSON.stringify(expanded))
  const compiled = compileRequests(expanded)
  assert.ok(compiled.kind === 'compiled', 'errors' in compiled ? JSON.stringify(compiled.errors) : '')
  return { expanded, requests: allOf(compiled.requests) }
}

const context = (
  action: object = {},
  repository = 'https://git.example.com/acme/tools/shop.git',
): TemplateContext => ({
  event: { id: 1 },
  action: {
    id: 7,
    status: 'completed',
    status_reason_code: 'COMPLETED',
    status_reason_human_readable: 'Completed',
    url_web_permalink: 'https://gantry.example/app/actions/7',
    started_at: '2026-11-15T08:00:00.000Z',
    completed_at: '2026-11-15T08:03:07.900Z',
    triggered_from: { name: 'zoe <!here>', trigger_type: 'manual', hook_parsed_variables: {} },
    action_data: { commit: { hash: COMMIT, message: '<!channel> @everyone' } },
    ...action,
  },
  application: { name: 'A & B', repository, repository_owner: 'tools', repository_name: 'shop' },
  credential: { access_token: 'secret' },
  pipeline: { id: 3, name: 'Deploy' },
  environment: { name: 'production' },
  captured: {
    ts: '1.2',
    channel: 'C1',
    message_id: '99',
    statuses_url: 'https://api.github.com/repos/a/statuses/deployments/12/statuses',
  },
  request: { idempotency_key: 'key' },
})

function render(preset: Preset, action?: object, baseUrl: string | null = null, repository?: string) {
  return expand(preset, baseUrl).requests.map((request) => {
    const rendered = renderRequest(request, context(action, repository))
    assert.ok(rendered.kind === 'rendered', JSON.stringify(rendered))
    return { url: rendered.url, headers: rendered.headers, json: JSON.parse(String(rendered.body)) }
  })
}

const CHANNELS = { slack_message: { channel: '#deploys' }, discord_message: { channel: '42' } }
const presets = PRESET_KINDS.map((kind): Preset => ({ kind, ...CHANNELS[kind as keyof typeof CHANNELS] }))

suite('a preset', () => {
  test('renders for every status of a run, at the public service and at another URL', () => {
    for (const preset of presets)
      for (const status of ['queued', 'waiting', 'in-progress', 'completed', 'failed', 'skipped'])
        for (const baseUrl of [
          ...(preset.kind === 'gitea_status' ? [] : [null]),
          'https://git.example.com/sub',
        ])
          for (const { url, json } of render(preset, { status }, baseUrl)) {
            assert.ok(url.startsWith(baseUrl ?? 'https://'), url)
            assert.doesNotMatch(JSON.stringify(json), /\{[{%]/)
          }
  })

  test('says why a run failed in the words of its reason', () => {
    const action = { status: 'failed', status_reason_code: 'FAILED_TIMEOUT' }
    const why = { ...action, status_reason_human_readable: 'Step timed out' }
    for (const preset of presets) {
      const baseUrl = preset.kind === 'gitea_status' ? 'https://git.example.com' : null
      const last = render(preset, why, baseUrl).at(-1)!
      assert.match(JSON.stringify(last.json), /Step timed out/, preset.kind)
    }
  })

  test('needs a credential of its service, and only options of its kind', () => {
    for (const preset of presets) {
      for (const credential of [null, { provider: 'ssh', baseUrl: null }]) {
        const unfit = expandPreset(preset, credential, 15)
        assert.ok(unfit.kind === 'unfit')
        assert.match(unfit.errors.credential_id![0]!, /^must be a credential of [A-Z]/)
      }
      for (const option of new Set(Object.values(OPTIONS).flat())) {
        if (OPTIONS[preset.kind].includes(option)) continue
        const unfit = expandPreset(
          { ...preset, [option]: 'x' } as Preset,
          { provider: 'x', baseUrl: null },
          15,
        )
        assert.ok(unfit.kind === 'unfit')
        assert.deepEqual(unfit.errors[`settings.preset.${option}`], [`is not used with ${preset.kind}`])
      }
    }
    const missing = expandPreset({ kind: 'slack_message' }, { provider: 'slack', baseUrl: null }, 15)
    assert.deepEqual(missing, {
      kind: 'unfit',
      errors: { 'settings.preset.channel': ['is required for slack_message'] },
    })
  })

  test('of a status names context, state and link, and encodes the path of a GitLab project', () => {
    const [github] = render({ kind: 'github_status' })
    assert.equal(github!.url, `https://api.github.com/repos/tools/shop/statuses/${COMMIT}`)
    assert.deepEqual(github!.json, {
      state: 'success',
      context: 'gantry/production/Deploy',
      description: 'Completed',
      target_url: 'https://gantry.example/app/actions/7',
    })
    for (const repository of [
      'https://gitlab.com/acme/tools/shop.git',
      'https://gitlab.com/acme/tools/shop/',
      'git@gitlab.com:acme/tools/shop.git',
      'ssh://git@gitlab.com:22/acme/tools/shop',
      'acme/tools/shop',
    ]) {
      const [gitlab] = render({ kind: 'gitlab_status' }, {}, null, repository)
      assert.equal(gitlab!.url, `https://gitlab.com/api/v4/projects/acme%2Ftools%2Fshop/statuses/${COMMIT}`)
    }
    const below = 'https://example.com/gitlab/acme/shop.git'
    const [ofOwn] = render({ kind: 'gitlab_status' }, {}, 'https://example.com/gitlab', below)
    assert.match(ofOwn!.url, /example\.com\/gitlab\/api\/v4\/projects\/acme%2Fshop\/statuses/)
    for (const project of ['acme/shop', 'acme%2Fshop'])
      assert.match(render({ kind: 'gitlab_status', project })[0]!.url, /projects\/acme%2Fshop\/statuses/)
    assert.match(render({ kind: 'github_deployment' })[1]!.url, /\/deployments\/12\/statuses$/)
    assert.match(
      render({ kind: 'github_status', context: 'x' }, {}, 'https://ghe.acme.com')[0]!.url,
      /\/api\/v3\//,
    )
  })

  test('of a message says who, what, for how long and where, and mentions nobody', () => {
    const [create, update] = render({ kind: 'slack_message', channel: '#deploys' })
    assert.equal(create!.json.text, '✅ A &amp; B, production: Completed')
    assert.deepEqual([update!.json.channel, update!.json.ts, update!.json.parse], ['C1', '1.2', 'none'])
    const [section, link] = create!.json.attachments[0].blocks
    assert.deepEqual(
      section.fields.map(({ type, text }: { type: string; text: string }) => [type, text]),
      [
        ['plain_text', 'Pipeline: Deploy'],
        ['plain_text', 'Started by: zoe <!here>'],
        ['plain_text', 'Commit: 1f0c5e7a9b <!channel> @everyone'],
        ['plain_text', 'Duration: 3 min 7 s'],
      ],
    )
    assert.equal(link.elements[0].text, '<https://gantry.example/app/actions/7|Run 7>')
    const [posted, edited] = render({ kind: 'discord_message', channel: '42' }, { completed_at: null })
    assert.deepEqual([posted!.json.nonce, posted!.json.enforce_nonce], ['key', true])
    assert.equal(posted!.headers['User-Agent'], `DiscordBot (https://gantry.example, ${VERSION})`)
    assert.match(edited!.url, /\/channels\/42\/messages\/99$/)
    assert.deepEqual(edited!.json.allowed_mentions, { parse: [] })
    assert.equal(edited!.json.embeds[0].color, 0x2eb67d)
  })
})
