// Tests docs/guides/receivers.md: each hook is created as the guide says and notifies a receiver of real status changes;
// each receiver of the guide is run.
import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { signDelivery, signingKey } from '#adapters/http-client/sign.ts'
import { TAGS } from '#adapters/templates/engine.ts'
import { FILTERS } from '#adapters/templates/filters.ts'
import { ATTEMPT_OUTCOMES } from '#engine/outgoing/record-attempt.ts'
import { SKIPPED, type State } from '#model/actions/status.ts'
import { EVENT_KINDS } from '#model/events/event-kinds.ts'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import {
  type Arrival,
  COMPLETED,
  FAILED,
  IN_PROGRESS,
  openDeliveries,
  openReceiver,
} from '#test/support/deliveries.ts'
import { later } from '#test/support/later.ts'
import { untilTrue } from '#test/support/until.ts'
import { createTestTree, type TestTree } from '#test/support/world.ts'

const guide = await readFile(new URL('../../docs/guides/receivers.md', import.meta.url), 'utf8')
const world = await openDeliveries({ after })
const { db, makeHook, move, startAction } = world

const TOKEN = 'token-of-the-credential'
const COMMIT = '1f0c5e7a9b3d4c2e8f6a7b5c4d3e2f1a0b9c8d7e'
const MESSAGE = '<!channel> @everyone **Ünïcode** "quoted" \\ {{ action.id }}'
const CANCELLED: State = { status: 'failed', reason: 'FAILED_CANCELLED' }
const UNREACHABLE: State = { status: 'failed', reason: 'FAILED_UNREACHABLE' }

const sections = new Map(
  [...guide.matchAll(/^## (.+?)\n(.*?)(?=^## |$(?![\s\S]))/gms)].map(([, title, text]) => [title!, text!]),
)
const CREATION = /^```bash\n(api \/pipelines\/1\/hooks\/outgoing -d @- <<'JSON'\n(\{\n.*?\n\})\nJSON\n)```$/ms
/** The sections that create a hook: the receiver → the JSON of its hook. */
const hooksOfGuide = new Map(
  [...sections].flatMap(([title, text]) => {
    const json = CREATION.exec(text)?.[2]
    return json === undefined ? [] : [[title, JSON.parse(json)] as const]
  }),
)

type Notified = { id: number; environment: string; pipelineId: number; words: string }
type Receiver = {
  path: string
  headers: Record<string, string>
  /** What arrives for a run that went through these states, starting with `queued`. */
  states: Record<'completed' | 'failed' | 'cancelled' | 'unreachable' | 'skipped', string[]>
  /** The body for one of the states above. */
  body(state: string, received: Notified): object
}

const permalink = (id: number) => `http://gantry.test/app/actions/${id}`
const sameAsGitHub: Receiver['states'] = {
  completed: ['pending', 'pending', 'success'],
  failed: ['pending', 'pending', 'failure'],
  cancelled: ['pending', 'pending', 'error'],
  unreachable: ['pending', 'pending', 'error'],
  skipped: ['pending', 'error'],
}
const gitHubBody: Receiver['body'] = (state, { id, words }) => ({
  state,
  context: 'deploy/production',
  description: words,
  target_url: permalink(id),
})
const chatStates: Receiver['states'] = {
  completed: ['⏳', '✅'],
  failed: ['⏳', '❌'],
  cancelled: ['⏳', '❌'],
  unreachable: ['⏳', '❌'],
  skipped: [],
}

const receivers: Record<string, Receiver> = {
  GitHub: {
    path: `/api/v3/repos/acme/shop/statuses/${COMMIT}`,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      accept: 'application/vnd.github+json',
      'x-github-api-version': '2022-11-28',
    },
    states: sameAsGitHub,
    body: gitHubBody,
  },
  GitLab: {
    path: `/api/v4/projects/acme%2Fshop/statuses/${COMMIT}`,
    headers: { 'private-token': TOKEN },
    states: {
      completed: ['pending', 'running', 'success'],
      failed: ['pending', 'running', 'failed'],
      cancelled: ['pending', 'running', 'canceled'],
      unreachable: ['pending', 'running', 'failed'],
      skipped: ['pending', 'canceled'],
    },
    body: (state, { id, words }) => ({
      state,
      name: 'deploy/production',
      description: words,
      target_url: permalink(id),
    }),
  },
  Bitbucket: {
    path: `/2.0/repositories/acme/shop/commit/${COMMIT}/statuses/build`,
    headers: { authorization: `Bearer ${TOKEN}` },
    states: {
      completed: ['INPROGRESS', 'INPROGRESS', 'SUCCESSFUL'],
      failed: ['INPROGRESS', 'INPROGRESS', 'FAILED'],
      cancelled: ['INPROGRESS', 'INPROGRESS', 'STOPPED'],
      unreachable: ['INPROGRESS', 'INPROGRESS', 'FAILED'],
      skipped: ['INPROGRESS', 'STOPPED'],
    },
    body: (state, { id, environment, pipelineId, words }) => ({
      key: `gantry-${pipelineId}`,
      state,
      name: `Deploy (${environment})`,
      description: words,
      url: permalink(id),
    }),
  },
  'Gitea and Forgejo': {
    path: `/api/v1/repos/acme/shop/statuses/${COMMIT}`,
    headers: { authorization: `token ${TOKEN}` },
    states: sameAsGitHub,
    body: gitHubBody,
  },
  'Slack webhook': {
    path: '/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX',
    headers: {},
    states: chatStates,
    body: (state, { id, environment, words }) => ({
      text: `Deploy: ${words}`,
      blocks: [
        {
          type: 'section',
          text: { type: 'plain_text', text: `${state} Shop, ${environment}: ${words}\n${MESSAGE}` },
        },
        { type: 'section', text: { type: 'mrkdwn', text: `<${permalink(id)}|Action ${id}>` } },
      ],
    }),
  },
  'Discord webhook': {
    path: '/api/webhooks/000000000000000000/the-rest-of-the-address',
    headers: {},
    states: chatStates,
    body: (state, { id, environment, words }) => ({
      username: 'Gantry',
      content: `${state} Shop, ${environment}: ${words}\n${MESSAGE}\n<${permalink(id)}>`,
      allowed_mentions: { parse: [] },
    }),
  },
  'Microsoft Teams': {
    path: '/workflows/0123456789/triggers/manual/paths/invoke?api-version=2016-06-01&sig=the-rest-of-the-address',
    headers: {},
    states: {
      completed: ['good'],
      failed: ['attention'],
      cancelled: ['attention'],
      unreachable: ['attention'],
      skipped: [],
    },
    body: (color, { id, environment, words }) => {
      const line = (run: object) => ({ type: 'RichTextBlock', inlines: [{ type: 'TextRun', ...run }] })
      const content = {
        $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
        type: 'AdaptiveCard',
        version: '1.4',
        body: [
          line({ weight: 'bolder', color, text: `Shop, ${environment}: ${words}` }),
          line({ text: `${MESSAGE} ` }),
        ],
        actions: [{ type: 'Action.OpenUrl', title: `Action ${id}`, url: permalink(id) }],
      }
      return {
        type: 'message',
        attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', content }],
      }
    },
  },
  Mattermost: {
    path: '/hooks/xxxxxxxxxxxxxxxxxxxxxxxxxx',
    headers: {},
    states: chatStates,
    body: (state, { id, environment, words }) => ({
      username: 'Gantry',
      text: `${state} Shop, ${environment}: ${words}\n${MESSAGE.replaceAll('@', '＠').replaceAll('<', '＜')}\n[Action ${id}](${permalink(id)})`,
    }),
  },
}
const OWN = 'Your own receiver'
/** Their second request depends on the answer to the first: preset-messages.test.ts. */
const TESTED_ELSEWHERE = new Set(['GitHub Deployments', 'Slack', 'Discord'])

const RUNS: Record<keyof Receiver['states'], State[]> = {
  completed: [IN_PROGRESS, COMPLETED],
  failed: [IN_PROGRESS, FAILED],
  cancelled: [IN_PROGRESS, CANCELLED],
  unreachable: [IN_PROGRESS, UNREACHABLE],
  skipped: [SKIPPED],
}
const WORDS: Record<string, string> = {
  QUEUED: 'Queued',
  IN_PROGRESS: 'In progress',
  COMPLETED: 'Completed',
  FAILED: 'Failed',
  FAILED_CANCELLED: 'Canceled by a user',
  FAILED_UNREACHABLE: 'Server unreachable',
  SKIPPED: 'Skipped',
}

/** An application with a credential that holds a token. */
async function openTree(): Promise<TestTree> {
  const tree = await createTestTree(db)
  const secret = world.box.seal(TOKEN, credentialAad(tree.credentialId))
  await db.updateTable('credentials').set({ secret }).where('id', '=', tree.credentialId).execute()
  return tree
}

/** The hook of the guide, with its host replaced: that of a preset is that of the credential. */
async function hookFor(name: string, receiverUrl: string, tree: TestTree) {
  const input = hooksOfGuide.get(name)
  if (input.settings?.preset) {
    const home = {
      provider_code: input.settings.preset.kind.split('_')[0],
      base_url: receiverUrl,
      ssh_hosts: ['github.com'],
    }
    await db.updateTable('credentials').set(home).where('id', '=', tree.credentialId).execute()
    return input
  }
  return { ...input, target_url: input.target_url.replace(/^https:\/\/[^/]+/, receiverUrl) }
}

async function findCommit(actionId: number): Promise<void> {
  const commit = JSON.stringify({ hash: COMMIT, message: MESSAGE })
  await db.updateTable('actions').set({ commit }).where('id', '=', actionId).execute()
}

const environmentOf = async ({ environmentId }: TestTree) =>
  (
    await db
      .selectFrom('environments')
      .select('name')
      .where('id', '=', environmentId)
      .executeTakeFirstOrThrow()
  ).name

suite('the guide', () => {
  const codesIn = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code!)
  const rowsBelow = (text: string, head: string) =>
    text
      .slice(text.indexOf(head))
      .split('\n\n')[0]!
      .split('\n')
      .slice(2)
      .map((row) => row.split('|')[1]!.trim())

  test('has an example for every receiver of this test, and no other', () => {
    const here = [...hooksOfGuide.keys()].filter((name) => !TESTED_ELSEWHERE.has(name))
    assert.deepEqual(here, [...Object.keys(receivers), OWN])
  })

  test('lists all events, tags, filters and outcomes, and no others', () => {
    const templates = sections.get('Templates')!
    const listed = (title: string) => codesIn(new RegExp(`^${title}: (.*?)\\.$`, 'ms').exec(templates)![1]!)
    assert.deepEqual(codesIn(rowsBelow(sections.get('Events')!, '| event').join()), [...EVENT_KINDS])
    assert.deepEqual(listed('Tags'), [...TAGS])
    assert.deepEqual(listed('Filters'), [...FILTERS])
    assert.deepEqual(codesIn(rowsBelow(sections.get('Deliveries')!, '| outcome').join()), [
      ...ATTEMPT_OUTCOMES,
    ])
  })

  test('lists names that a template can use, and only the token is not allowed in URLs', async () => {
    const names = codesIn(rowsBelow(sections.get('Templates')!, '| name').join())
    assert.ok(names.length > 40, `only ${names.length} names found`)
    const request_body = Object.fromEntries(names.map((name) => [name, `{{ ${name} }}`]))
    const tree = await openTree()
    // `credential.access_token` goes nowhere else.
    const home = { base_url: 'http://127.0.0.1:9' }
    await db.updateTable('credentials').set(home).where('id', '=', tree.credentialId).execute()
    await makeHook({ target_url: 'http://127.0.0.1:9/', settings: { request_body } }, tree)
    const address = names.map((name) => `{{ ${name} }}`).join('/')
    const refused = await world.request('POST', `/pipelines/${tree.pipelineId}/hooks/outgoing`, {
      token: tree.owner.token,
      body: { name: 'Address', target_url: `http://127.0.0.1:9/${address}` },
    })
    assert.equal(refused.status, 422)
    assert.equal(refused.body.errors.target_url.length, 2)
    for (const message of refused.body.errors.target_url) assert.match(message, /access_token/)
  })
})

for (const [name, receiver] of Object.entries(receivers)) {
  test(`${name} is notified of runs in its own format`, async (t) => {
    const endpoint = await openReceiver(t)
    const tree = await openTree()
    const environment = await environmentOf(tree)
    const hook = await makeHook(await hookFor(name, endpoint.url, tree), tree)
    for (const [run, moves] of Object.entries(RUNS)) {
      const before = endpoint.arrivals.length
      const id = await startAction(tree, { commit: COMMIT })
      await findCommit(id)
      await move(id, ...moves)
      const expected = receiver.states[run as keyof Receiver['states']]
      await endpoint.until(before + expected.length)
      await world.untilIdle(hook.id)
      const history = ['QUEUED', ...moves.map(({ reason }) => reason)].slice(-expected.length)
      const bodies = expected.map((state, index) =>
        receiver.body(state, {
          id,
          environment,
          pipelineId: tree.pipelineId,
          words: WORDS[history[index]!]!,
        }),
      )
      const arrived = endpoint.arrivals.slice(before)
      assert.deepEqual(
        arrived.map(({ json }) => json),
        bodies,
        run,
      )
      for (const arrival of arrived) assertSent(arrival, receiver)
    }
  })
}

function assertSent({ method, path, headers }: Arrival, receiver: Receiver): void {
  assert.deepEqual([method, path], ['POST', receiver.path])
  assert.equal(headers['content-type'], 'application/json')
  const keys = [...Object.keys(receiver.headers), 'authorization', 'private-token']
  const sent = Object.fromEntries(keys.filter((key) => headers[key]).map((key) => [key, headers[key]]))
  assert.deepEqual(sent, receiver.headers)
}

test('a run without the variable is reported once its commit is known', async (t) => {
  const endpoint = await openReceiver(t)
  endpoint.behave(({ url }, response) => response.writeHead(url!.includes('/commit//') ? 404 : 201).end())
  const tree = await openTree()
  const hook = await makeHook(await hookFor('Bitbucket', endpoint.url, tree), tree)
  const id = await startAction(tree)
  await world.recorded(hook.id, 1)
  await findCommit(id)
  await world.passTime(hook.id, 10)
  const [first, second] = await endpoint.until(2)
  assert.equal(first!.path, '/2.0/repositories/acme/shop/commit//statuses/build')
  assert.equal(second!.path, receivers.Bitbucket!.path)
  assert.equal(second!.json.state, 'INPROGRESS')
  assert.equal(second!.headers['webhook-id'], first!.headers['webhook-id'])
})

test('a preset sends nothing before the commit is known, and then what it missed', async (t) => {
  const endpoint = await openReceiver(t)
  const tree = await openTree()
  const hook = await makeHook(await hookFor('GitHub', endpoint.url, tree), tree)
  const id = await startAction(tree)
  const [record] = await world.recorded(hook.id, 1)
  assert.deepEqual(
    [record!.outcome, record!.error],
    ['unrenderable', 'The commit of this run is not known yet.'],
  )
  await findCommit(id)
  await world.passTime(hook.id, 10)
  const [first] = await endpoint.until(1)
  assert.deepEqual([first!.path, first!.json.state], [receivers.GitHub!.path, 'pending'])
  const never = await startAction(tree)
  await move(never, IN_PROGRESS, FAILED)
  await world.exhaust(hook.id)
  assert.equal(endpoint.arrivals.length, 1)
})

/** The code block of a language in the last section. */
const codeIn = (language: string) =>
  [...sections.get(OWN)!.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].at(-1)![1]!

/** A receiver of the guide in its own process. */
async function runReceiver(t: TestContext, command: string, file: string, code: string, secret: string) {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-receiver-'))
  later(t, () => rm(folder, { recursive: true }))
  await writeFile(join(folder, file), code)
  const child = spawn(command, [join(folder, file)], {
    env: { ...process.env, SECRET: secret, PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let isOver = false
  const ended = once(child, 'close').then(() => {
    isOver = true
  })
  later(t, async () => {
    child.kill('SIGKILL')
    await ended
  })
  let printed = ''
  let complaints = ''
  child.stdout.on('data', (chunk) => (printed += chunk))
  child.stderr.on('data', (chunk) => (complaints += chunk))
  await untilTrue(() => /^port \d+$/m.test(printed) || isOver, 30_000)
  assert.ok(!isOver, complaints)
  return {
    url: `http://127.0.0.1:${/^port (\d+)$/m.exec(printed)![1]}`,
    lines: () => printed.trimEnd().split('\n').slice(1),
    complaints: () => complaints,
  }
}

const hasPython = spawnSync('python3', ['--version']).status === 0
const programs = [
  { language: 'js', command: process.execPath, file: 'receiver.mjs' },
  ...(hasPython ? [{ language: 'python', command: 'python3', file: 'receiver.py' }] : []),
]

for (const { language, command, file } of programs) {
  test(`the receiver in ${language} accepts what Gantry sent, and nothing else`, async (t) => {
    const tree = await createTestTree(db)
    const hook = await makeHook(await hookFor(OWN, 'http://127.0.0.1:9', tree), tree)
    const receiver = await runReceiver(t, command, file, codeIn(language), hook.secret)
    const target_url = `${receiver.url}/gantry`
    const moved = await world.change(hook.id, { target_url }, tree.owner.token)
    assert.equal(moved.status, 200, moved.text)
    const action = await startAction(tree)
    await move(action, IN_PROGRESS, COMPLETED)
    const records = await world.recorded(hook.id, 3)
    assert.deepEqual(
      records.map(({ outcome, response_status_code }) => [outcome, response_status_code]),
      Array(3).fill(['delivered', 204]),
    )
    const received = [
      `action.created: action ${action} is queued`,
      `action.status_changed: action ${action} is in-progress`,
      `action.status_changed: action ${action} is completed`,
    ]
    await untilTrue(() => receiver.lines().length >= received.length)
    assert.deepEqual(receiver.lines(), received)

    const { request_headers, request_body } = records[2]!
    const sent = { headers: request_headers as Record<string, string>, body: request_body! }
    const post = async (headers: Record<string, string>, body: Buffer) =>
      (await fetch(target_url, { method: 'POST', headers, body: new Uint8Array(body) })).status
    assert.equal(await post(sent.headers, sent.body), 204, 'the same once more')
    const flipped = Buffer.from(sent.body)
    flipped[Math.floor(flipped.length / 2)]! ^= 1
    assert.equal(await post(sent.headers, flipped), 401, 'one byte is another')
    const signedAt = (secondsAgo: number, secret = hook.secret) => ({
      'content-type': 'application/json',
      ...signDelivery({
        id: 'msg_again',
        timestampSeconds: Date.now() / 1000 - secondsAgo,
        body: sent.body,
        keys: [signingKey(secret)],
      }),
    })
    assert.equal(await post(signedAt(3_600), sent.body), 401, 'an hour old')
    assert.equal(await post(signedAt(-3_600), sent.body), 401, 'an hour ahead')
    const otherSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
    assert.equal(await post(signedAt(0, otherSecret), sent.body), 401, 'the secret of somebody else')
    assert.equal(await post({}, sent.body), 401, 'not signed')
    assert.deepEqual(receiver.lines(), received)
    assert.equal(await post(signedAt(0), sent.body), 204, 'signed now')

    // During a rotation, a receiver with the old secret keeps working.
    const rotated = await world.request('POST', `/hooks/outgoing/${hook.id}/rotate-secret`, {
      token: tree.owner.token,
      body: {},
    })
    assert.equal(rotated.status, 200, rotated.text)
    await startAction(tree)
    const [, , , last] = await world.recorded(hook.id, 4)
    assert.deepEqual([last!.outcome, last!.response_status_code], ['delivered', 204])
    assert.equal((last!.request_headers as Record<string, string>)['webhook-signature']!.split(' ').length, 2)
    assert.equal(receiver.complaints(), '')
  })

  test(`the receiver in ${language} does not start without a secret`, async (t) => {
    const start = runReceiver(t, command, file, codeIn(language), '')
    await assert.rejects(start, /SECRET must hold the secret of the hook/)
  })
}

test('the shell commands create the hook and reproduce the signature', async (t) => {
  const endpoint = await openReceiver(t)
  const folder = await mkdtemp(join(tmpdir(), 'gantry-shell-'))
  later(t, () => rm(folder, { recursive: true }))
  const type = async (lines: string, env: Record<string, string>) => {
    const shell = ['--noprofile', '--norc', '-euo', 'pipefail', '-c', lines]
    const options = { cwd: folder, env: { PATH: process.env.PATH, ...env } }
    return (await promisify(execFile)('bash', shell, options)).stdout
  }
  await world.app.listen({ host: '127.0.0.1', port: 0 })
  const GANTRY_URL = `http://127.0.0.1:${(world.app.server.address() as AddressInfo).port}`
  const tree = await createTestTree(db)
  const create = CREATION.exec(sections.get(OWN)!)![1]!
    .replace('/pipelines/1/', `/pipelines/${tree.pipelineId}/`)
    .replace('https://deploys.example.com', endpoint.url)
  const helper = /^api\(\) .+$/m.exec(guide)![0]
  const hook = JSON.parse(await type(`${helper}\n${create}`, { GANTRY_URL, GANTRY_TOKEN: tree.owner.token }))
  assert.equal(hook.target_url, `${endpoint.url}/gantry`)

  await startAction(tree)
  const [arrival] = await endpoint.until(1)
  await writeFile(join(folder, 'body'), arrival!.body)
  const signature = await type(codeIn('bash'), {
    SECRET: hook.secret,
    ID: arrival!.headers['webhook-id']!,
    TIMESTAMP: arrival!.headers['webhook-timestamp']!,
  })
  assert.equal(signature.trimEnd(), arrival!.headers['webhook-signature'])
})

test('the commands for a preview and a redelivery work as printed', async (t) => {
  const endpoint = await openReceiver(t)
  const tree = await createTestTree(db)
  const hook = await makeHook(await hookFor(OWN, endpoint.url, tree), tree)
  const action = await startAction(tree)
  await world.untilIdle(hook.id)
  const lines = [...guide.matchAll(/^api "(\/hooks\/outgoing\/\$HOOK\/\w+)" -d '(.+)'$/gm)]
  const answers = await Promise.all(
    lines.map(([, url, body]) =>
      world.request('POST', url!.replace('$HOOK', hook.id), {
        token: tree.owner.token,
        body: JSON.parse(body!),
      }),
    ),
  )
  const [preview, redelivery] = answers
  assert.deepEqual([preview!.status, preview!.body.action_id], [200, action])
  assert.deepEqual([redelivery!.status, redelivery!.body], [200, { deliveries: 0, dry_run: true }])
})
