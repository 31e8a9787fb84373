// Presets when services answer nonsense, limit, move or refuse, and when credentials change in between.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import type { PresetKind } from '#model/hooks/presets/schema.ts'
import { COMPLETED, IN_PROGRESS, openDeliveries } from '#test/support/deliveries.ts'
import { newCommit, openPreset, presetOf } from '#test/support/presets.ts'
import { startDiscord } from '#test/support/services/discord.ts'
import {
  ANSWER_IS_EMPTY,
  ANSWER_IS_HTML,
  ANSWER_IS_HUGE,
  answering,
  type Failure,
} from '#test/support/services/failures.ts'
import { startGitea } from '#test/support/services/gitea.ts'
import { startGithub } from '#test/support/services/github.ts'
import { startGitlab } from '#test/support/services/gitlab.ts'
import { startSlack } from '#test/support/services/slack.ts'
import { until } from '#test/support/until.ts'
import type { TestTree } from '#test/support/world.ts'

const all = { after }
const world = await openDeliveries(all)
const { db, move, request, startAction } = world
const github = await startGithub(all)
const gitlab = await startGitlab(all)
const gitea = await startGitea(all)
const slack = await startSlack(all)
const discord = await startDiscord(all)
const SERVICES = {
  github_status: github,
  github_deployment: github,
  gitlab_status: gitlab,
  gitea_status: gitea,
  slack_message: slack,
  discord_message: discord,
} satisfies Record<PresetKind, object>

let tokens = 0
async function open(kind: PresetKind, preset = presetOf(kind)) {
  const service = SERVICES[kind]
  return { service, ...(await openPreset(world, service, preset, { token: `limits-${++tokens}-token` })) }
}

const start = (tree: TestTree) => startAction(tree, { commit: newCommit() })
const put = async ({ owner }: TestTree, url: string, body: object) => {
  const answer = await request('PUT', url, { token: owner.token, body })
  assert.equal(answer.status, 200, answer.text)
}
const notification = async (id: number, { owner }: TestTree) =>
  (await request('GET', `/actions/${id}/notifications`, { token: owner.token })).body[0]

const paused = (id: number, tree: TestTree) =>
  until('the hook is paused', 10_000, async () => {
    const found = await notification(id, tree)
    return found.state === 'paused' && found
  })

/** Sends what has failed once more. */
async function redeliver({ owner }: TestTree, hookId: string) {
  const body = { from: new Date(Date.now() - 3_600_000).toISOString() }
  const answer = await request('POST', `/hooks/outgoing/${hookId}/redeliver`, { token: owner.token, body })
  assert.equal(answer.status, 202, answer.text)
}

suite('an answer that makes no sense', () => {
  test('to a status is an accepted status', async () => {
    const { tree, hook } = await open('github_status')
    github.fail(ANSWER_IS_HTML, ANSWER_IS_HUGE, ANSWER_IS_EMPTY)
    const id = await start(tree)
    await move(id, IN_PROGRESS, COMPLETED)
    const deliveries = await world.untilIdle(hook.id)
    assert.deepEqual(new Set(deliveries.map(({ state }) => state)), new Set(['delivered']))
    assert.equal((await notification(id, tree)).state, 'delivered')
  })

  test('to a creation is named, and the next event creates again', async () => {
    const without: Failure = { performed: true, answer: ({ status }) => ({ status, body: { ok: true } }) }
    const problems = [
      [ANSWER_IS_HTML, /: the response is not JSON\./],
      [ANSWER_IS_HUGE, /: the response is longer than 256 KiB\./],
      [without, /: the response has no (ts|statuses_url)\./],
    ] as const
    for (const kind of ['slack_message', 'github_deployment'] as const) {
      const { service, tree, hook } = await open(kind)
      service.fail(...problems.map(([failure]) => failure))
      for (const [index, [, problem]] of problems.entries()) {
        const id = await start(tree)
        const record = (await world.recorded(hook.id, index + 1))[index]!
        assert.deepEqual([record.outcome, record.action_id], ['delivered', id])
        assert.match(record.capture_error!, problem, kind)
      }
      const before = service.requests.length
      const action_id = (await world.requests(hook.id))[0]!.action_id!
      await move(action_id, IN_PROGRESS, COMPLETED)
      await world.untilIdle(hook.id)
      const [first] = service.requests.slice(before)
      assert.ok(['post', 'create deployment'].includes(first!.call!), first!.call!)
      const { state, captured } = await notification(action_id, tree)
      assert.deepEqual([state, Object.keys(captured).length > 0], ['delivered', true])
    }
  })

  test('is data: what it contains is neither evaluated nor followed elsewhere', async () => {
    const { tree, hook } = await open('github_deployment')
    const evil = 'http://evil.test/{{ 7 | times: 6 }}/<b>..%2F..?x#y/statuses'
    github.fail({ performed: true, answer: (real) => ({ ...real, body: { statuses_url: evil } }) })
    const id = await start(tree)
    await world.untilIdle(hook.id)
    const ours = github.requests.filter(({ token }) => token === `limits-${tokens}-token`)
    const [, strange, again, status] = ours
    assert.equal(strange!.path, '/api/v3/repos/acme/shop/deployments/%3Cb%3E..%252F..%3Fx%23y/statuses')
    // GitHub knows no such deployment.
    assert.deepEqual([again!.call, status!.status], ['create deployment', 201])
    assert.equal((await notification(id, tree)).state, 'delivered')
  })
})

suite('a limit', () => {
  const limitedUntil = (reset: number) =>
    answering(
      403,
      { message: 'API rate limit exceeded.' },
      {
        'x-ratelimit-remaining': '0',
        'x-ratelimit-reset': String(reset),
      },
    )
  const now = () => Math.floor(Date.now() / 1_000)

  test('that ended in the past is waited for a minute, one of next year an hour', async () => {
    for (const [reset, seconds] of [
      [now() - 60, 60],
      [now() + 365 * 86_400, 3_600],
    ] as const) {
      const { tree, hook } = await open('github_status')
      github.fail(limitedUntil(reset))
      const id = await start(tree)
      await world.recorded(hook.id, 1)
      const shown = await paused(id, tree)
      const left = (Date.parse(shown.paused_until) - Date.now()) / 1_000
      assert.ok(left > seconds - 10 && left <= seconds + 1, `${left} s`)
      assert.match(shown.paused_reason, /allows no more requests until .+ \(rate limit\)$/)
    }
  })

  test('that an accepted status says has ended pauses nothing', async () => {
    const { tree, hook } = await open('github_status')
    const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(now() - 5) }
    github.fail({ performed: true, answer: (real) => ({ ...real, headers }) })
    const id = await start(tree)
    await move(id, IN_PROGRESS, COMPLETED)
    await world.untilIdle(hook.id)
    assert.equal((await notification(id, tree)).state, 'delivered')
  })
})

suite('a credential', () => {
  test('whose token is rotated between two requests is used with the new one', async () => {
    const { tree, hook, credentialId, token } = await open('slack_message')
    const id = await start(tree)
    await world.untilIdle(hook.id)
    slack.permit(token, 'revoked')
    await move(id, IN_PROGRESS)
    const record = (await world.recorded(hook.id, 2))[1]!
    assert.deepEqual([record.outcome, record.error], ['refused', 'Slack rejected the message: invalid_auth.'])
    await put(tree, `/credentials/${credentialId}`, { token: 'xoxb-rotated', base_url: slack.url })
    await move(id, COMPLETED)
    await world.untilIdle(hook.id)
    const { token: used, call } = slack.requests.at(-1)!
    assert.deepEqual([used, call, slack.messages.at(-1)!.edits], ['xoxb-rotated', 'update', 1])
    assert.equal((await notification(id, tree)).state, 'delivered')
  })

  test('that moves, or is exchanged, takes its hooks along: the limits of the new address hold', async () => {
    const { tree, hook, credentialId, token } = await open('github_status')
    const other = await startGithub(all)
    const assertPaused = async (id: number, hookId: string) => {
      const shown = await paused(id, tree)
      assert.deepEqual([shown.hook_id, shown.receiver, shown.attempts], [hookId, new URL(other.url).host, 0])
      const { body } = await request('GET', `/hooks/outgoing/${hookId}`, { token: tree.owner.token })
      assert.equal(body.paused_until, shown.paused_until)
    }
    await put(tree, `/credentials/${credentialId}`, { token, base_url: other.url })
    other.fail(answering(429, {}, { 'retry-after': '600' }))
    await assertPaused(await start(tree), hook.id)
    await put(tree, `/hooks/outgoing/${hook.id}`, { active: false })
    // A hook that names none has the credential of its application.
    const ofApplication = await world.makeHook({ settings: { preset: { kind: 'github_status' } } }, tree)
    const source = { credential_id: credentialId, repository: `${other.url}/acme/shop.git` }
    await put(tree, `/applications/${tree.applicationId}`, source)
    await assertPaused(await start(tree), ofApplication.id)
    assert.equal(other.requests.length, 1)
  })

  test('that is switched off, or no longer the one of the application, is named; nothing is sent', async () => {
    const { tree, hook, credentialId } = await open('github_status')
    const id = await start(tree)
    await world.untilIdle(hook.id)
    const before = github.requests.length
    await put(tree, `/credentials/${credentialId}`, { active: false })
    await move(id, IN_PROGRESS)
    const blocked = (await world.recorded(hook.id, 2))[1]!
    assert.deepEqual([blocked.outcome, blocked.next_attempt_at], ['blocked', null])
    assert.match(blocked.error!, /credential of this hook is inactive/)
    await db.updateTable('hooks').set({ credential_id: null }).where('id', '=', hook.id).execute()
    await db
      .updateTable('applications')
      .set({ credential_id: null })
      .where('id', '=', tree.applicationId)
      .execute()
    await move(id, COMPLETED)
    const unfit = (await world.recorded(hook.id, 3))[2]!
    assert.deepEqual([unfit.outcome, unfit.next_attempt_at], ['unrenderable', null])
    assert.match(unfit.error!, /does not fit the preset: must be a credential of GitHub/)
    assert.equal(github.requests.length, before)
  })
})

suite('a repository that was renamed', () => {
  const MOVED = {
    github_status: [
      () => github.rename('acme/shop', 'acme/store'),
      'redirected',
      /moved to http.*\/repositories\/\d+/,
    ],
    gitea_status: [
      () => gitea.rename('acme/shop', 'acme/store'),
      'redirected',
      /moved to .*\/repos\/acme\/store/,
    ],
    gitlab_status: [
      () => gitlab.move('acme/shop', 'acme/store'),
      'refused',
      /405: Non GET methods are not allowed/,
    ],
  } as const

  test('is named, not followed, and reported once the application has its new address', async () => {
    for (const [kind, [rename, outcome, error]] of Object.entries(MOVED)) {
      const { service, tree, hook } = await open(kind as keyof typeof MOVED, { kind: kind as PresetKind })
      rename()
      const id = await start(tree)
      await move(id, IN_PROGRESS, COMPLETED)
      const deliveries = await world.untilIdle(hook.id)
      assert.deepEqual(new Set(deliveries.map(({ state }) => state)), new Set(['failed']), kind)
      const [record] = await world.requests(hook.id)
      assert.deepEqual([record!.outcome, record!.next_attempt_at], [outcome, null])
      assert.match(record!.error!, error)
      assert.ok(service.requests.slice(-3).every(({ path }) => /acme(\/|%2F)shop/.test(path)))
      const repository = 'https://github.com/acme/store.git'
      await put(tree, `/applications/${tree.applicationId}`, { repository })
      await redeliver(tree, hook.id)
      await world.exhaust(hook.id)
      assert.equal((await notification(id, tree)).state, 'delivered', kind)
    }
  })
})

suite('a token without the permission', () => {
  const NEEDED: Record<PresetKind, RegExp> = {
    github_status: /^GitHub does not allow the token to write commit statuses: Resource not accessible/,
    github_deployment: /^GitHub does not allow the token to write deployments: Resource not accessible/,
    gitlab_status: /^GitLab does not allow the token to write statuses \(scope api, role Developer\): 403/,
    gitea_status:
      /^Gitea does not allow the token to write to the repository \(write:repository\): token does/,
    slack_message: /^Slack rejected the message: missing_scope; the token needs chat:write\.$/,
    discord_message:
      /^Discord does not allow the token to send messages in the channel: Missing Permissions\.$/,
  }

  test('is named in the record, and each event is tried once', async () => {
    for (const [kind, needed] of Object.entries(NEEDED)) {
      const { service, tree, hook, token } = await open(kind as PresetKind)
      service.permit(token, 'read')
      const id = await start(tree)
      await move(id, IN_PROGRESS, COMPLETED)
      const deliveries = await world.exhaust(hook.id)
      assert.deepEqual(
        deliveries.map(({ state, attempts }) => `${state} ${attempts}`),
        Array(3).fill('failed 1'),
        kind,
      )
      assert.equal(service.requests.filter((one) => one.token === token).length, 3)
      const { state, last_error } = await notification(id, tree)
      assert.equal(state, 'failed')
      assert.match(last_error, needed)
    }
  })
})
