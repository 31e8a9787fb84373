import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { readAnswer } from './read-answer.ts'

const answer = (status: number, body: unknown = {}, headers: Record<string, string> = {}) => ({
  status,
  headers,
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
})
function reasonOf(verdict: ReturnType<typeof readAnswer>): [reason: string, as: number] {
  assert.ok(typeof verdict === 'object' && verdict.kind === 'refused', JSON.stringify(verdict))
  return [verdict.reason, verdict.as]
}

suite('the answer of a known service', () => {
  test('of Slack is 200 also when it rejects the message', () => {
    const slack = (error: string, which: 'create' | 'update' = 'update') =>
      readAnswer('slack_message', which, answer(200, { ok: false, error }))
    assert.equal(readAnswer('slack_message', 'create', answer(200, { ok: true, ts: '1' })), 'ok')
    assert.deepEqual(slack('ratelimited'), { kind: 'limited' })
    // The last one: of another workspace, whose token the hook has now.
    for (const error of ['message_not_found', 'cant_update_message', 'channel_not_found'])
      assert.deepEqual([slack(error), reasonOf(slack(error, 'create'))[1]], [{ kind: 'gone' }, 403])
    assert.deepEqual(reasonOf(slack('not_in_channel')), ['Slack rejected the message: not_in_channel.', 403])
    assert.deepEqual(reasonOf(slack('internal_error'))[1], 503)
    const scope = answer(200, { ok: false, error: 'missing_scope', needed: 'chat:write' })
    assert.match(reasonOf(readAnswer('slack_message', 'create', scope))[0], /needs chat:write\.$/)
    for (const body of ['<html>', '[1]', 'null', '']) {
      assert.equal(readAnswer('slack_message', 'create', answer(200, body)), 'ok')
    }
  })

  test('of Discord says which of the two is missing: the message or the channel', () => {
    const missing = (code: number) => readAnswer('discord_message', 'update', answer(404, { code }))
    assert.deepEqual(missing(10_008), { kind: 'gone' })
    const ofAnotherBot = answer(403, {
      code: 50_005,
      message: 'Cannot edit a message authored by another user',
    })
    assert.deepEqual(readAnswer('discord_message', 'update', ofAnotherBot), { kind: 'gone' })
    assert.deepEqual(reasonOf(missing(10_003)), ['Discord does not know the channel.', 403])
    const create = readAnswer('discord_message', 'create', answer(404, { code: 10_008 }))
    assert.deepEqual(reasonOf(create)[1], 403)
    const denied = answer(403, { code: 50_013, message: 'Missing Permissions' })
    assert.match(
      reasonOf(readAnswer('discord_message', 'create', denied))[0],
      /does not allow the token to send messages in the channel: Missing Permissions\.$/,
    )
  })

  test('of GitLab counts when the status has that state already', () => {
    const gitlab = (message: unknown) => readAnswer('gitlab_status', 'only', answer(400, { message }))
    const same = 'Cannot transition status via :enqueue from :pending (Reason(s): …)'
    assert.deepEqual(gitlab(same), { kind: 'already' })
    assert.deepEqual(gitlab({ state: [same] }), { kind: 'already' })
    const other = gitlab('Cannot transition status via :run from :success')
    assert.match(reasonOf(other)[0], /^GitLab rejected the status: Cannot transition/)
  })

  test('names a repository that has moved, a token without permission, and a limit', () => {
    const location = 'https://api.github.com/repositories/1/statuses/abc'
    const moved = readAnswer('github_status', 'only', answer(301, '', { location }))
    assert.deepEqual(reasonOf(moved), [
      `The repository has moved to ${location}. Update the repository of the application.`,
      301,
    ])
    const denied = answer(403, { message: 'Resource not accessible by personal access token' })
    assert.match(reasonOf(readAnswer('github_status', 'only', denied))[0], /write commit statuses: Res/)
    assert.match(
      reasonOf(readAnswer('gitea_status', 'only', answer(401)))[0],
      /^Gitea does not accept the token\.$/,
    )
    for (const limited of [
      answer(429),
      answer(403, { message: 'You have exceeded a secondary rate limit.' }),
      answer(403, '', { 'x-ratelimit-remaining': '0' }),
    ])
      assert.deepEqual(readAnswer('github_status', 'only', limited), { kind: 'limited' })
    assert.equal(readAnswer('github_status', 'only', answer(502, '<html>')), 'ok')
    assert.deepEqual(readAnswer('github_deployment', 'update', answer(404)), { kind: 'gone' })
    assert.deepEqual(reasonOf(readAnswer('github_deployment', 'create', answer(404)))[1], 403)
  })
})
