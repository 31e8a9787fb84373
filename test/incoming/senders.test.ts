// Tests docs/guides/senders.md: each hook is created as the guide says, and called like the sender calls it.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHmac, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { after, suite, test } from 'node:test'
import { promisify } from 'node:util'
import { openTestApp } from '#test/support/harness.ts'
import { createTestTree } from '#test/support/world.ts'

const guide = await readFile(new URL('../../docs/guides/senders.md', import.meta.url), 'utf8')
const api = await openTestApp({ after })
const tree = await createTestTree(api.db)

type Request = { headers: Record<string, string>; body: string }
type Sender = {
  /** The request that this sender makes for a payload. */
  request(payload: object, secret: string): Request
  payload: object
  variables: object
  source?: { source_type: string; source_ref: string }
  /** Whether the sender's retries have the same id. */
  marksCopies: boolean
  /** A token signs nothing: only the token must be right. */
  signsNothing?: true
  /** The URL is the only key. */
  isUnsigned?: true
}

const COMMIT = '1f0c5e7a9b3d4c2e8f6a7b5c4d3e2f1a0b9c8d7e'
const hex = (secret: string | Buffer, text: string, algorithm = 'sha256') =>
  createHmac(algorithm, secret).update(text).digest('hex')
const NOW = String(Math.floor(Date.now() / 1000))
/** A sender of JSON, with its headers. */
const json =
  (headers: (body: string, secret: string) => Record<string, string>): Sender['request'] =>
  (payload, secret) => {
    const body = JSON.stringify(payload)
    return { body, headers: { 'content-type': 'application/json', ...headers(body, secret) } }
  }
const push = {
  ref: 'refs/heads/main',
  before: '0'.repeat(40),
  after: COMMIT,
  repository: { id: 1_296_269, full_name: 'acme/shop' },
  pusher: { login: 'zoe', name: 'Zoë' },
}
/** Gitea sends its own headers and those of its relatives; so does Forgejo. */
const familyHeaders = (names: string[], body: string, secret: string) => ({
  'user-agent': 'Go-http-client/1.1',
  'x-hub-signature': `sha1=${hex(secret, body, 'sha1')}`,
  'x-hub-signature-256': `sha256=${hex(secret, body)}`,
  'x-github-delivery': 'f6266f16-1bf3-46a5-9ea4-602e06ead473',
  'x-github-event': 'push',
  ...Object.fromEntries(
    names.flatMap((name) => [
      [`x-${name}-delivery`, 'f6266f16-1bf3-46a5-9ea4-602e06ead473'],
      [`x-${name}-event`, 'push'],
      [`x-${name}-event-type`, 'push'],
      [`x-${name}-signature`, hex(secret, body)],
    ]),
  ),
})

const senders: Record<string, Sender> = {
  GitHub: {
    payload: push,
    request: json((body, secret) => ({
      accept: '*/*',
      'user-agent': 'GitHub-Hookshot/044aadd',
      'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
      'x-github-event': 'push',
      'x-github-hook-id': '292430182',
      'x-hub-signature': `sha1=${hex(secret, body, 'sha1')}`,
      'x-hub-signature-256': `sha256=${hex(secret, body)}`,
    })),
    variables: { branch: 'refs/heads/main', commit: COMMIT },
    source: { source_type: 'commit', source_ref: COMMIT },
    marksCopies: true,
  },
  Gitea: {
    payload: push,
    request: json((body, secret) => familyHeaders(['gitea', 'gogs'], body, secret)),
    variables: { branch: 'refs/heads/main', commit: COMMIT },
    source: { source_type: 'commit', source_ref: COMMIT },
    marksCopies: true,
  },
  Forgejo: {
    payload: push,
    request: json((body, secret) => familyHeaders(['forgejo', 'gitea', 'gogs'], body, secret)),
    variables: { branch: 'refs/heads/main', commit: COMMIT, pusher: 'zoe' },
    source: { source_type: 'commit', source_ref: COMMIT },
    marksCopies: true,
  },
  Bitbucket: {
    payload: {
      push: {
        changes: [
          { new: { type: 'branch', name: 'main', target: { type: 'commit', hash: COMMIT } }, old: null },
        ],
      },
      repository: { full_name: 'acme/shop' },
    },
    request: json((body, secret) => ({
      'user-agent': 'Bitbucket-Webhooks/2.0',
      'x-attempt-number': '1',
      'x-event-key': 'repo:push',
      'x-hook-uuid': randomUUID(),
      'x-request-uuid': randomUUID(),
      'x-hub-signature': `sha256=${hex(secret, body)}`,
    })),
    variables: { branch: 'main', commit: COMMIT },
    source: { source_type: 'commit', source_ref: COMMIT },
    marksCopies: false,
  },
  GitLab: {
    payload: {
      object_kind: 'push',
      ref: 'refs/heads/main',
      checkout_sha: COMMIT,
      project_id: 15,
      user_name: 'Zoë',
    },
    request: json((_body, secret) => ({
      'user-agent': 'GitLab/18.0.0',
      'idempotency-key': 'f5e5f430-f57b-4e6e-9fac-d9128cd7232f',
      'x-gitlab-event': 'Push Hook',
      'x-gitlab-event-uuid': '13792a34-cac6-4fda-95a8-c58e00a3954e',
      'x-gitlab-instance': 'https://gitlab.example.com',
      'x-gitlab-token': secret,
    })),
    variables: { branch: 'refs/heads/main', commit: COMMIT, project: 15 },
    source: { source_type: 'commit', source_ref: COMMIT },
    marksCopies: true,
    signsNothing: true,
  },
  Shopify: {
    payload: { id: 788_032_119_674_292_900, title: 'Shirt', tags: 'summer, new' },
    request: json((body, secret) => ({
      'user-agent': 'Shopify-Captain-Hook',
      'x-shopify-api-version': '2026-07',
      'x-shopify-shop-domain': 'acme.myshopify.com',
      'x-shopify-topic': 'products/update',
      'x-shopify-webhook-id': 'b54557e4-bdd9-4b37-8a5f-bf7d70bcd043',
      'x-shopify-hmac-sha256': createHmac('sha256', secret).update(body).digest('base64'),
    })),
    variables: { product: '788032119674292900', tags: 'summer, new' },
    marksCopies: true,
  },
  Sentry: {
    payload: {
      action: 'triggered',
      actor: { id: 'sentry', name: 'Sentry', type: 'application' },
      data: { event: { issue_id: '1117540176', title: 'ReferenceError: heck is not defined' } },
      installation: { uuid: 'a8e5d37a-696c-4c54-adb5-b3f28d64c7de' },
    },
    request: json((body, secret) => ({
      'request-id': randomUUID(),
      'sentry-hook-resource': 'event_alert',
      'sentry-hook-timestamp': NOW,
      'sentry-hook-signature': hex(secret, body),
    })),
    variables: { issue: 1_117_540_176, title: 'ReferenceError: heck is not defined' },
    marksCopies: false,
  },
  Linear: {
    payload: {
      action: 'update',
      type: 'Issue',
      data: { identifier: 'SHOP-17', state: { name: 'Ready to ship' } },
      updatedFrom: { stateId: 'x' },
      webhookTimestamp: 1_790_000_000_000,
    },
    request: json((body, secret) => ({
      'user-agent': 'Linear-Webhook',
      'linear-delivery': '234d1a4e-b617-4388-90fe-adc3633d6b72',
      'linear-event': 'Issue',
      'linear-signature': hex(secret, body),
    })),
    variables: { issue: 'SHOP-17' },
    marksCopies: true,
  },
  Grafana: {
    payload: {
      receiver: 'gantry',
      status: 'firing',
      alerts: [{ status: 'firing', labels: { alertname: 'High load' } }],
      commonLabels: { alertname: 'High load' },
      version: '1',
    },
    request: json((body, secret) => ({
      'user-agent': 'Grafana',
      'x-grafana-alerting-timestamp': NOW,
      'x-grafana-alerting-signature': hex(secret, `${NOW}:${body}`),
    })),
    variables: { alert: 'High load', alerts: [{ status: 'firing', labels: { alertname: 'High load' } }] },
    marksCopies: false,
  },
  Stripe: {
    payload: {
      id: 'evt_1',
      object: 'event',
      type: 'checkout.session.completed',
      data: { object: { id: 'cs_test_1', amount_total: 1999 } },
    },
    request: json((body, secret) => ({
      accept: '*/*; q=0.5, application/xml',
      'user-agent': 'Stripe/1.0 (+https://stripe.com/docs/webhooks)',
      'stripe-signature': `t=${NOW},v1=${hex(secret, `${NOW}.${body}`)},v0=${'0'.repeat(64)}`,
    })),
    variables: { session: 'cs_test_1', amount: 1999 },
    marksCopies: false,
  },
  Slack: {
    payload: { type: 'shortcut', callback_id: 'deploy', user: { id: 'U1', username: 'zoë' } },
    request(payload, secret) {
      const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString()
      const headers = {
        'content-type': 'application/x-www-form-urlencoded',
        'user-agent': 'Slackbot 1.0 (+https://api.slack.com/robots)',
        'x-slack-request-timestamp': NOW,
        'x-slack-signature': `v0=${hex(secret, `v0:${NOW}:${body}`)}`,
      }
      return { body, headers }
    },
    variables: { person: 'zoë' },
    marksCopies: false,
  },
  'Docker Hub': {
    payload: {
      callback_url:
        'https://registry.hub.docker.com/u/acme/shop/hook/2141b5bi5i5b02bec211i4eeih0242eg11000a/',
      push_data: { images: [], pushed_at: 1_790_000_000, pusher: 'zoe', tag: 'latest' },
      repository: { name: 'shop', namespace: 'acme', repo_name: 'acme/shop', status: 'Active' },
    },
    request: json(() => ({ 'user-agent': 'Go-http-client/1.1' })),
    variables: { image: 'acme/shop', image_tag: 'latest' },
    marksCopies: false,
    isUnsigned: true,
  },
  'Standard Webhooks': {
    payload: { type: 'release.published', timestamp: '2026-11-15T03:00:00Z', data: { tag: 'v1.2.0' } },
    request: json((body, secret) => {
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
      const sign = createHmac('sha256', key).update(`msg_1.${NOW}.${body}`).digest('base64')
      return {
        'webhook-id': 'msg_1',
        'webhook-timestamp': NOW,
        'webhook-signature': `v1a,${'A'.repeat(86)}== v1,${sign}`,
      }
    }),
    variables: { tag: 'v1.2.0' },
    source: { source_type: 'tag', source_ref: 'v1.2.0' },
    marksCopies: true,
  },
  'Your own script': {
    payload: { branch: 'next' },
    request: json((body, secret) => ({
      'user-agent': 'curl/8.5.0',
      'x-hub-signature-256': `sha256=${hex(secret, body)}`,
    })),
    variables: { branch: 'next' },
    source: { source_type: 'branch', source_ref: 'next' },
    marksCopies: false,
  },
  'Without a signature': {
    payload: { branch: 'next' },
    request: json(() => ({ 'user-agent': 'curl/8.5.0' })),
    variables: { branch: 'next' },
    source: { source_type: 'branch', source_ref: 'next' },
    marksCopies: false,
    isUnsigned: true,
  },
}

/** The sections of the guide that create a hook: the sender → the JSON of its hook. */
const hooksOfGuide = new Map(
  [...guide.matchAll(/^## (.+?)\n(.*?)(?=^## |$(?![\s\S]))/gms)].flatMap(([, sender, section]) => {
    const block = /^```bash\napi \/pipelines\/1\/hooks\/incoming -d '(\{\n.*?\n\})'\n```$/ms.exec(section!)
    return block ? [[sender!, JSON.parse(block[1]!)] as const] : []
  }),
)

test('the guide has an example for every sender of this test, and no other', () => {
  assert.deepEqual([...hooksOfGuide.keys()], Object.keys(senders))
})

async function createHook(input: object) {
  const url = `/pipelines/${tree.pipelineId}/hooks/incoming`
  const { status, body, text } = await api.request('POST', url, { token: tree.owner.token, body: input })
  assert.equal(status, 201, text)
  return body as { id: string; url: string; secret: string }
}
const send = (
  hook: { url: string },
  { headers, body }: { headers: Request['headers']; body: string | Buffer },
) => api.request('POST', new URL(hook.url).pathname, { headers, rawBody: body })
const actionsOf = ({ id }: { id: string }) =>
  api.db.selectFrom('actions').selectAll().where('hook_id', '=', id).execute()

for (const [name, sender] of Object.entries(senders)) {
  suite(name, () => {
    test('a call as the sender makes it starts the pipeline with its variables', async () => {
      const hook = await createHook(hooksOfGuide.get(name))
      const request = sender.request(sender.payload, hook.secret)
      const answer = await send(hook, request)
      assert.equal(answer.status, 202, answer.text)
      const [action] = await actionsOf(hook)
      assert.equal(action!.id, answer.body.action_id)
      assert.deepEqual(action!.hook_parsed_variables, sender.variables)
      const { source_type, source_ref } = action!.deployment!
      assert.deepEqual(
        { source_type, source_ref },
        sender.source ?? { source_type: 'branch', source_ref: 'main' },
      )
      const again = await send(hook, request)
      assert.equal(again.status, sender.marksCopies ? 200 : 202)
      assert.equal(again.body.action_id === answer.body.action_id, sender.marksCopies)
    })

    if (sender.isUnsigned) return
    test('with one byte changed it is rejected, and starts nothing', async () => {
      const hook = await createHook(hooksOfGuide.get(name))
      const { headers, body } = sender.request(sender.payload, hook.secret)
      const changed = Buffer.from(body)
      changed[Math.floor(body.length / 2)]! ^= 1
      const refused = sender.signsNothing
        ? { ...sender.request(sender.payload, `${hook.secret.slice(0, -1)}x`) }
        : { headers, body: changed }
      const answer = await send(hook, refused)
      assert.equal(answer.status, 403, answer.text)
      assert.deepEqual(await actionsOf(hook), [])
      assert.equal((await send(hook, { headers, body })).status, 202)
    })
  })
}

test('a secret that the sender shows only later can be set later', async () => {
  const line = /^api "\/hooks\/incoming\/\$HOOK" -X PUT -d '(.+)'$/m.exec(guide)?.[1]
  const { secret: _later, ...input } = hooksOfGuide.get('Linear')
  const hook = await createHook(input)
  const change = JSON.parse(line!)
  const url = `/hooks/incoming/${hook.id}`
  assert.equal((await api.request('PUT', url, { token: tree.owner.token, body: change })).status, 200)
  const { payload, request } = senders.Linear!
  assert.equal((await send(hook, request(payload, hook.secret))).status, 403)
  assert.equal((await send(hook, request(payload, change.secret))).status, 202)
})

test('the script commands, run in a shell, create the hook, sign, and start the pipeline', async (t) => {
  const own = await openTestApp(t, { beside: api })
  await own.app.listen({ host: '127.0.0.1', port: 0 })
  const GANTRY_URL = `http://127.0.0.1:${(own.app.server.address() as AddressInfo).port}`
  const section = /^## Your own script\n.*?(?=^## )/ms.exec(guide)![0]
  const [create, call] = [...section.matchAll(/^```bash\n(.*?)^```$/gms)].map(([, lines]) => lines!)
  const helper = /^api\(\) .+$/m.exec(guide)![0]
  const type = async (lines: string, env: Record<string, string>) => {
    const shell = ['--noprofile', '--norc', '-euo', 'pipefail', '-c', lines]
    const { stdout } = await promisify(execFile)('bash', shell, { env: { PATH: process.env.PATH, ...env } })
    return JSON.parse(stdout)
  }
  const mine = `${helper}\n${create!.replace('/pipelines/1/', `/pipelines/${tree.pipelineId}/`)}`
  const hook = await type(mine, { GANTRY_URL, GANTRY_TOKEN: tree.owner.token })
  const URL_ = GANTRY_URL + new URL(hook.url).pathname
  const answer = await type(call!, { URL: URL_, SECRET: hook.secret })
  assert.equal(answer.message, 'The pipeline was started.')
  const [action] = await actionsOf(hook)
  assert.equal(action!.id, answer.action_id)
  assert.deepEqual(action!.hook_parsed_variables, { branch: 'next' })
})
