// Only server/platform/queue names the tables, columns and functions of the queue; other rooms call it, or put the SQL
// fragments that it exports into their statements.
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')

/** Tables and functions with their schema, and the columns that no table of ours has. */
const QUEUE_NAMES =
  /\bqueue\.(?:job|queue|version|job_\w+)\b|\bpgboss\w*|\b(?:singleton_(?:key|on)|start_after|retry_(?:count|limit|delay|backoff)|heartbeat_(?:on|seconds)|keep_until|source_(?:name|output|retry_count)|group_id|dead_letter|(?:expire|deletion|retention)_seconds|(?:created|started|completed)_on)\b/g

const namesIn = (source: string) => [...source.matchAll(QUEUE_NAMES)].map(([name]) => name)

test('the names of the queue are found, and those of others are not', () => {
  const statement = "select start_after from queue.job where retry_count = 1 and queue.job_now() > 'now'"
  assert.deepEqual(namesIn(statement), ['start_after', 'queue.job', 'retry_count', 'queue.job_now'])
  assert.deepEqual(namesIn("queue.jobs['queue.probe'].started_at; queue.enqueue(trx, jobs)"), [])
})

test('only server/platform/queue names the tables and columns of the queue', async () => {
  const found: string[] = []
  for await (const path of glob('server/**/*.{ts,sh}', { cwd: root })) {
    if (path.startsWith('server/platform/queue/') || /(\.test|\/test-[^/]*|\/fixtures)\.ts$/.test(path))
      continue
    const names = namesIn(await readFile(join(root, path), 'utf8'))
    found.push(...names.map((name) => `${path} names ${name}`))
  }
  assert.deepEqual(found, [])
})
