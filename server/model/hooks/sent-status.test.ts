import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { readSentStatus } from './sent-status.ts'

const LINK = 'https://gantry.example/app/actions/7'
const body = (fields: object) => Buffer.from(JSON.stringify(fields))

suite('the status that a request sets', () => {
  test('is read from the URL and the body', () => {
    const url = 'https://api.github.com/repos/acme/shop/statuses/c0ffee'
    const fields = { state: 'success', context: 'gantry/live/deploy', target_url: LINK, description: 'ok' }
    assert.deepEqual(readSentStatus('github_status', { url, body: body(fields) }), {
      kind: 'github_status',
      url,
      state: 'success',
      context: 'gantry/live/deploy',
      link: LINK,
    })
  })

  test('is found in the query as well, and GitLab names the context', () => {
    const sent = readSentStatus('gitlab_status', {
      url: `https://gitlab.com/api/v4/projects/acme%2Fshop/statuses/c0ffee?state=failed&private_token=x`,
      body: body({ name: 'gantry', target_url: LINK }),
    })
    assert.deepEqual(
      [sent?.url, sent?.state, sent?.context],
      ['https://gitlab.com/api/v4/projects/acme%2Fshop/statuses/c0ffee', 'failed', 'gantry'],
    )
  })

  test('is none when it could not be found again, or not be stored', () => {
    const url = 'https://git.example/api/v1/repos/a/b/statuses/c'
    const fields = { state: 'success', context: 'gantry', target_url: LINK }
    const read = (more: object, at = url) =>
      readSentStatus('gitea_status', { url: at, body: body({ ...fields, ...more }) })
    assert.ok(read({}))
    for (const more of [
      { state: 1 },
      { context: '' },
      { context: 'a\u0000' },
      { target_url: 'x'.repeat(3_000) },
    ])
      assert.equal(read(more), null, JSON.stringify(more).slice(0, 40))
    assert.equal(read({}, 'https://git.example/api/v1/repos/a/b/issues'), null)
    assert.equal(read({}, `https://git.example/${'x'.repeat(1_100)}/statuses/c`), null)
    assert.equal(readSentStatus('gitea_status', { url, body: Buffer.from('state=success') }), null)
    assert.equal(readSentStatus('gitea_status', { url, body: null }), null)
  })
})
