import assert from 'node:assert/strict'
import { test } from 'node:test'
import { github } from './github.ts'
import { gitlab } from './gitlab.ts'
import { judgeWebhooks } from './judge.ts'
import { entriesOf, readHostAnswer } from './read-answer.ts'

const answered = (text: string) =>
  readHostAnswer(github, {
    kind: 'answered',
    status: 200,
    headers: {},
    body: Buffer.from(text),
  } as Parameters<typeof readHostAnswer>[1])

test('ids of 64 bits are read as they are', () => {
  const rest = '"guid": "d1", "delivered_at": "2026-11-18T02:10:00Z", "event": "push", "status_code": 502'
  const ids = ['42', '9007199254740993', '9223372036854775807']
  const answer = answered(`[${ids.map((id) => `{"id": ${id}, ${rest}}`).join(', ')}]`)
  assert.ok(answer.kind === 'ok')
  const read = entriesOf(answer.json)!.map((entry) => github.redelivery!.read(entry)?.id)
  assert.deepEqual(read, ids)
})

test('what only looks like a large id is none', () => {
  const answer = answered(
    '[{"id": 1e300}, {"id": 1.5}, {"id": "9007199254740993x"}, {"id": -9007199254740993}]',
  )
  assert.ok(answer.kind === 'ok')
  for (const entry of entriesOf(answer.json)!) assert.equal(github.redelivery!.read(entry), null)
})

test('until when a webhook is suspended is said to the minute', () => {
  const url = 'https://gantry.example.com/hooks/our-token/trigger'
  const webhook = gitlab.read({
    ...{ id: 1, url, push_events: true, alert_status: 'temporarily_disabled' },
    disabled_until: '2026-11-18T02:25:31.209Z',
  })!
  const expected = { url, events: ['push_events'], hookId: '', tokenHash: null, webhookId: '1' }
  const { problem, disabledUntil } = judgeWebhooks(gitlab, [webhook], expected)
  assert.equal(disabledUntil, '2026-11-18T02:25:31.209Z')
  assert.equal(problem, 'GitLab has suspended the webhook until 2026-11-18 02:25 UTC because calls failed.')
})
