import { sql } from 'kysely'
import { loadOutgoingHooks, type OutgoingHook, opened } from '#engine/outgoing/outgoing-hooks.ts'
import { signatureOf } from '#engine/outgoing/send-request.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { isOutage } from '#platform/database/outages.ts'
import { uuidAt } from '#platform/database/uuid-at.ts'
import type { Signal } from '#platform/queue/signal.ts'
import { advance, type DeliveryCursor, encodeCursor, isSeen, LATE_MS, timeOf } from './delivery-cursor.ts'
import type { EventData } from './schemas.ts'
import type { StreamDeps } from './settings.ts'
import { formatEvent, pause } from './sse.ts'

type DeliveryStreamDeps = StreamDeps & {
  db: Database
  box: SecretBox
  /** Fires when deliveries of the hook were attempted, when the hook may have changed, and when the signal aborts. */
  wakeUp: Signal
}

/** Their bodies can be as large as 64 KiB each. */
const PAGE = 20

/**
 * The deliveries of a hook after a position, each once its attempt has ended, until the hook is removed or the signal
 * aborts. Bodies are masked as in their records and signed again: the secret of the hook is valid for what is sent
 * here, and the original signature, which is that of other bytes, is not repeated.
 */
export async function* streamDeliveries(
  { db, box, wakeUp, signal, settings }: DeliveryStreamDeps,
  hookId: string,
  position: { cursor: DeliveryCursor },
): AsyncGenerator<string> {
  yield formatEvent('ready', encodeCursor(position.cursor), {})
  while (!signal.aborted) {
    const wokenAt = performance.now()
    try {
      const hook = opened((await loadOutgoingHooks(db, box, [hookId])).get(hookId))
      if (!hook) return
      if (yield* sendPage(hook)) continue
    } catch (error) {
      if (!isOutage(error)) throw error
      // The position has not moved: everything is sent when the database is back.
      await pause(settings.outageRetryMs, signal)
      continue
    }
    await wakeUp.wait(settings.pollMs)
    await pause(wokenAt + settings.batchMs - performance.now(), signal)
  }

  /** Whether there may be more. */
  async function* sendPage(hook: OutgoingHook): AsyncGenerator<string, boolean> {
    const { from, seen } = position.cursor
    // A page, and one more that shows whether there are others.
    const enough = Math.min(seen.size + PAGE + 1, MAX_IDS)
    const { ids, now, isComplete } = await findIds(db, hookId, from, enough)
    const unseen = ids.filter((id) => !isSeen(position.cursor, id)).slice(0, PAGE)
    for (const record of await loadRecords(db, unseen)) {
      position.cursor.seen.add(record.id)
      yield formatEvent('delivery', encodeCursor(position.cursor), present(hook, record))
    }
    for (const id of unseen) position.cursor.seen.add(id)
    const isFull = unseen.length === PAGE
    // More of them than are read at once: those that are stored late are given up.
    const isStuck = !isComplete && unseen.length === 0
    const last = isFull ? unseen.at(-1) : isComplete ? undefined : ids.at(-1)
    const until = last === undefined ? now : Math.min(now, timeOf(last))
    position.cursor = advance(position.cursor, until, isStuck ? 0 : LATE_MS)
    return isFull || !isComplete
  }
}

/** The position now: what is stored counts as sent. What an attempt stores from now on does not, whenever it was made. */
export async function currentPosition(db: Database, hookId: string): Promise<DeliveryCursor> {
  const from = Date.now() - LATE_MS
  const { ids } = await findIds(db, hookId, from, MAX_IDS)
  return { from, seen: new Set(ids) }
}

const MAX_IDS = 10_000

async function findIds(db: Database, hookId: string, from: number, limit: number) {
  const { rows } = await sql<{ now: number; ids: string[] }>`
    select (extract(epoch from now()) * 1000)::bigint as now, array(
      select id from hook_requests where hook_id = ${hookId} and id >= ${uuidAt(from)}::uuid
      order by hook_id, id limit ${limit}::int)::text[] as ids`.execute(db)
  const { now, ids } = rows[0]!
  return { now: Number(now), ids, isComplete: ids.length < limit }
}

type DeliveryRecord = Awaited<ReturnType<typeof loadRecords>>[number]

/** Without those of which nothing was sent, and those whose bodies were pruned. */
async function loadRecords(db: Database, ids: readonly string[]) {
  if (ids.length === 0) return []
  return db
    .selectFrom('hook_requests')
    .select(['id', 'action_id', 'event_kind', 'attempt', 'method', 'url', 'request_headers', 'request_body'])
    .select('created_at')
    .where('id', 'in', ids)
    .where('request_headers', 'is not', null)
    .orderBy('id')
    .execute()
}

const SIGNATURE_HEADERS = new Set(['webhook-id', 'webhook-timestamp', 'webhook-signature'])
/** Longer bodies are cut off in their records. */
const MAX_BODY_BYTES = 64 * 1024

function present(hook: OutgoingHook, record: DeliveryRecord): EventData['delivery'] {
  const headers = hook.mask.headers(record.request_headers ?? {})
  const bytes = hook.mask.bytes(record.request_body ?? Buffer.alloc(0))
  const body = bytes.toString()
  const id = headers['webhook-id'] ?? `msg_${record.id}`
  const others = Object.entries(headers).filter(([name]) => !SIGNATURE_HEADERS.has(name.toLowerCase()))
  return {
    id,
    hook_request_id: record.id,
    action_id: record.action_id,
    event: record.event_kind,
    attempt: record.attempt ?? 1,
    method: record.method,
    target_url: hook.mask.text(record.url),
    headers: { ...Object.fromEntries(others), ...signatureOf(hook, id, body, new Date()) },
    body,
    is_truncated: bytes.length >= MAX_BODY_BYTES,
    created_at: record.created_at,
  }
}
