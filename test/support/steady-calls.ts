// Signed calls that start runs all the time, and what must be true of them whatever happens meanwhile. Senders repeat what
// was not accepted, with the same delivery id.
import assert from 'node:assert/strict'
import { createHmac, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '#platform/database/connect.ts'
import { until } from './until.ts'

export type SteadyCalls = ReturnType<typeof startCalls>

const GIVES_UP_MS = 60_000
const RETRY_MS = 100

/** `urls`: read for each attempt; each is another process. */
export function startCalls(options: {
  urls: () => readonly string[]
  hooks: readonly { path: string; secret: string }[]
  senders: number
  /** Between two calls of a sender. */
  gapMs: number
}) {
  const actions = new Map<string, number>()
  /** Answers other than an acceptance, by status and code. */
  const refusals = new Map<string, number>()
  const acceptances: { sentAt: number; acceptedAt: number }[] = []
  let isOver = false
  let count = 0

  /** Every attempt at call `n` is the same request, to another process. */
  async function attempt(n: number, tries: number, delivery: string): Promise<boolean> {
    const { path, secret } = options.hooks[n % options.hooks.length]!
    const urls = options.urls()
    const body = JSON.stringify({ n })
    const sentAt = performance.now()
    const response = await fetch(`${urls[(n + tries) % urls.length]}${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-github-delivery': delivery,
        'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
      },
      body,
    })
    const answer = (await response.json()) as { action_id: number; code?: string }
    if (response.status !== 202 && response.status !== 200) {
      assert.equal(response.status, 503, JSON.stringify(answer))
      refuse(`503 ${answer.code}`)
      return false
    }
    const known = actions.get(delivery)
    assert.ok(known === undefined || known === answer.action_id, `${delivery} started two runs`)
    actions.set(delivery, answer.action_id)
    acceptances.push({ sentAt, acceptedAt: performance.now() })
    return true
  }

  function refuse(kind: string): void {
    refusals.set(kind, (refusals.get(kind) ?? 0) + 1)
  }

  async function deliver(): Promise<void> {
    const delivery = randomUUID()
    const deadline = performance.now() + GIVES_UP_MS
    const n = count++
    for (let tries = 0; ; tries += 1) {
      const isAccepted = await attempt(n, tries, delivery).catch((error) => {
        // Stopped, or cut off: another process gets the next attempt.
        if (error instanceof assert.AssertionError) throw error
        refuse('no answer')
        return false
      })
      if (isAccepted) return
      assert.ok(performance.now() < deadline, 'a call is not accepted')
      await delay(RETRY_MS)
    }
  }

  const sending = Promise.all(
    Array.from({ length: options.senders }, async () => {
      while (!isOver) {
        await deliver()
        await delay(options.gapMs)
      }
    }),
  )
  sending.catch(() => {})
  return {
    /** Deliveries that were accepted, and the ids of their actions. */
    actions,
    refusals,
    /** How long after a time the first call that was sent after it was accepted. */
    acceptedAfter(time: number): number {
      const later = acceptances.filter(({ sentAt }) => sentAt >= time)
      return Math.min(...later.map(({ acceptedAt }) => acceptedAt)) - time
    },
    /** Resolves when every call that was begun has been accepted. */
    async stop(): Promise<void> {
      isOver = true
      await sending
    },
  }
}

/** Not idempotent: one that is interrupted fails its run, and one that runs twice leaves two lines. */
export function notingSteps(file: string) {
  return ['one', 'two'].map((name) => ({
    name,
    command: `sleep 0.3; echo "$GANTRY_ACTION_ID ${name}" >> ${file}`,
  }))
}

/** Each accepted delivery has one record and one action, and there are no others than these. */
export async function assertStartedOnce(
  db: Database,
  accepted: ReadonlyMap<string, number>,
  others: readonly number[],
): Promise<void> {
  const byNumber = (a: number, b: number) => a - b
  const ids = [...accepted.values()].sort(byNumber)
  assert.equal(new Set(ids).size, ids.length, 'no two deliveries share an action')
  const actions = await db.selectFrom('actions').select('id').orderBy('id').execute()
  assert.deepEqual(
    actions.map(({ id }) => id),
    [...ids, ...others].sort(byNumber),
  )
  const records = await db
    .selectFrom('hook_requests')
    .select('action_id')
    .where('outcome', '=', 'accepted')
    .execute()
  assert.deepEqual(records.map(({ action_id }) => action_id!).sort(byNumber), ids)
}

/** All have completed, and each of their steps has run once. */
export async function assertRanOnce(db: Database, file: string, ids: readonly number[]): Promise<void> {
  const notCompleted = () =>
    db
      .selectFrom('actions')
      .select(['id', 'status', 'status_reason_code'])
      .where('status', '!=', 'completed')
      .execute()
  await until('all runs have ended', 90_000, async () =>
    (await notCompleted()).every(({ status }) => status === 'failed' || status === 'skipped'),
  )
  assert.deepEqual(await notCompleted(), [])
  const lines = (await readFile(file, 'utf8')).trim().split('\n').sort()
  assert.deepEqual(lines, ids.flatMap((id) => [`${id} one`, `${id} two`]).sort())
}
