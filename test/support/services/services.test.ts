import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { startDiscord } from './discord.ts'
import { ANSWER_IS_HUGE, ANSWER_LOST, BAD_GATEWAY, failingAt } from './failures.ts'
import { startGitea } from './gitea.ts'
import { startGithub } from './github.ts'
import { startGitlab } from './gitlab.ts'
import type { Service } from './service.ts'
import { startSlack } from './slack.ts'

const SHA = 'a'.repeat(40)
const STATUS = { state: 'pending', context: 'gantry/production/Deploy', target_url: 'https://gantry.test/1' }

async function call(
  { url }: Service,
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = { authorization: 'Bearer token' },
) {
  const init = { method, headers, redirect: 'manual' as const, body: body && JSON.stringify(body) }
  const response = await fetch(url + path, init)
  const text = await response.text()
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  const json: any = /json/.test(response.headers.get('content-type') ?? '') ? JSON.parse(text) : text
  return { status: response.status, headers: response.headers, json }
}

suite('GitHub', () => {
  const STATUSES = `/repos/acme/shop/statuses/${SHA}`

  test('shows the newest status of a context', async (t) => {
    const github = await startGithub(t)
    for (const state of ['pending', 'success']) await call(github, 'POST', STATUSES, { ...STATUS, state })
    assert.deepEqual(github.shown(SHA), { [STATUS.context]: 'success' })
    const { json } = await call(github, 'GET', `/api/v3/repos/acme/shop/commits/${SHA}/statuses?per_page=1`)
    assert.deepEqual([json.length, json[0].state], [1, 'success'])
  })

  test('a request that breaks the schema is rejected and noted', async (t) => {
    const github = await startGithub(t)
    assert.equal((await call(github, 'POST', STATUSES, { ...STATUS, state: 'done' })).status, 422)
    assert.equal((await call(github, 'POST', '/repos/acme/shop/things', {})).status, 404)
    assert.equal(github.violations.splice(0).length, 2)
    assert.equal(github.statuses.length, 0)
  })

  test('limits count per token and end with their window', async (t) => {
    const github = await startGithub(t)
    github.limitTo(1, 60_000)
    const first = await call(github, 'POST', STATUSES, STATUS)
    assert.deepEqual([first.status, first.headers.get('x-ratelimit-remaining')], [201, '0'])
    const second = await call(github, 'POST', STATUSES, STATUS)
    assert.deepEqual([second.status, github.requests[1]!.limited], [403, true])
    const other = await call(github, 'POST', STATUSES, STATUS, { authorization: 'token another' })
    assert.equal(other.status, 201)
    github.pass(60_000)
    assert.equal((await call(github, 'POST', STATUSES, STATUS)).status, 201)
  })

  test('redirects a renamed repository', async (t) => {
    const github = await startGithub(t)
    github.rename('acme/shop', 'acme/store')
    const { status, headers } = await call(github, 'POST', STATUSES, STATUS)
    assert.equal(status, 307)
    const { pathname } = new URL(headers.get('location')!)
    assert.equal((await call(github, 'POST', pathname, STATUS)).status, 201)
    assert.equal(github.statuses[0]!.repository, 'acme/store')
  })

  test('a successful deployment makes the one before inactive', async (t) => {
    const github = await startGithub(t)
    for (let run = 0; run < 2; run++) {
      const body = { ref: SHA, auto_merge: false, required_contexts: [], environment: 'staging' }
      const { json } = await call(github, 'POST', '/repos/acme/shop/deployments', body)
      await call(github, 'POST', `/repos/acme/shop/deployments/${json.id}/statuses`, { state: 'success' })
    }
    assert.deepEqual(
      github.deployments.map(({ statuses }) => statuses.map(({ state }) => state)),
      [['success', 'inactive'], ['success']],
    )
  })

  test('fails as scripted, before or after the effect', async (t) => {
    const github = await startGithub(t)
    github.fail(failingAt('create status', BAD_GATEWAY), ANSWER_LOST, ANSWER_IS_HUGE)
    assert.equal((await call(github, 'POST', STATUSES, STATUS)).status, 502)
    await assert.rejects(call(github, 'POST', STATUSES, STATUS))
    const { status, json } = await call(github, 'POST', STATUSES, STATUS)
    assert.deepEqual([status, json.padding.length], [201, 2 * 1024 * 1024])
    assert.equal(github.statuses.length, 2)
  })

  test('names what a token lacks', async (t) => {
    const github = await startGithub(t)
    const answers: number[] = []
    for (const access of ['read', 'hidden', 'revoked'] as const) {
      github.permit('token', access)
      answers.push((await call(github, 'POST', STATUSES, STATUS)).status)
    }
    assert.deepEqual(answers, [403, 404, 401])
  })
})

test('GitLab rejects a transition to the same state', async (t) => {
  const gitlab = await startGitlab(t)
  const path = `/api/v4/projects/acme%2Fshop/statuses/${SHA}`
  const send = (state: string) => call(gitlab, 'POST', path, { state, name: 'gantry' })
  assert.equal((await send('pending')).status, 201)
  const again = await send('pending')
  assert.equal(again.status, 400)
  assert.match(again.json.message, /^Cannot transition status via :enqueue from :pending/)
  for (const state of ['running', 'success', 'success']) assert.equal((await send(state)).status, 201)
  const list = `/api/v4/projects/acme%2Fshop/repository/commits/${SHA}/statuses?name=gantry`
  const { json } = await call(gitlab, 'GET', list)
  assert.deepEqual([json.length, json[0].status, gitlab.statuses.length], [1, 'success', 2])
})

test('Gitea lists the newest status first', async (t) => {
  const gitea = await startGitea(t)
  for (const state of ['pending', 'success']) {
    await call(gitea, 'POST', `/api/v1/repos/acme/shop/statuses/${SHA}`, { ...STATUS, state })
  }
  const { json } = await call(gitea, 'GET', `/api/v1/repos/acme/shop/commits/${SHA}/statuses`)
  assert.equal(json[0].status, 'success')
})

test('Slack updates a message by the id of its channel', async (t) => {
  const slack = await startSlack(t)
  const { json } = await call(slack, 'POST', '/api/chat.postMessage', {
    channel: '#deploys',
    text: 'started',
  })
  const change = { channel: json.channel, ts: json.ts, text: 'done' }
  assert.equal((await call(slack, 'POST', '/api/chat.update', change)).json.ok, true)
  assert.deepEqual(
    slack.messages.map((one) => [one.text, one.edits]),
    [['done', 1]],
  )
  slack.remove(json.ts)
  const gone = await call(slack, 'POST', '/api/chat.update', change)
  assert.deepEqual([gone.status, gone.json.error], [200, 'message_not_found'])
  slack.limitTo(0, 30_000)
  const limited = await call(slack, 'POST', '/api/chat.update', change)
  assert.deepEqual([limited.status, limited.headers.get('retry-after')], [429, '30'])
})

test('Discord returns the message of a nonce that it knows', async (t) => {
  const discord = await startDiscord(t)
  const headers = { authorization: 'Bot token', 'user-agent': 'DiscordBot (https://gantry.example, 1.0.0)' }
  const path = '/api/v10/channels/42/messages'
  const body = { content: 'started', nonce: '1', enforce_nonce: true, allowed_mentions: { parse: [] } }
  const first = await call(discord, 'POST', path, body, headers)
  const second = await call(discord, 'POST', path, body, headers)
  assert.deepEqual([second.json.id, discord.messages.length], [first.json.id, 1])
  const changed = await call(discord, 'PATCH', `${path}/${first.json.id}`, { content: 'done' }, headers)
  assert.deepEqual([changed.status, discord.messages[0]!.content], [200, 'done'])
  discord.remove(first.json.id)
  const gone = await call(discord, 'PATCH', `${path}/${first.json.id}`, { content: 'done' }, headers)
  assert.deepEqual([gone.status, gone.json.code], [404, 10008])
  const other = await call(discord, 'POST', path, body, { ...headers, 'user-agent': 'Gantry/1.0.0' })
  assert.equal(other.status, 403)
  discord.limitTo(0, 1_500)
  const limited = await call(discord, 'POST', path, body, headers)
  assert.deepEqual([limited.status, limited.json.global], [429, false])
  assert.ok(limited.json.retry_after > 1)
})
