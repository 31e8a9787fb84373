import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { SendOutcome } from '#adapters/http-client/client.ts'
import type { CapturedValue } from '#model/hooks/captured.ts'
import { capturedAad } from '#model/inventory/sealed-aad.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { createMask, type Mask } from '#platform/masking/mask.ts'
import { type Captured, chooseRequest, NOTHING_CAPTURED } from './choose-request.ts'
import type { ClaimedDelivery } from './claim-deliveries.ts'
import type { Judgement } from './judge-answer.ts'
import type { OutgoingHook } from './outgoing-hooks.ts'
import { hiddenTexts } from './read-captures.ts'
import { type AttemptRecord, recordAttempt, type ShownRequest, withoutAnswer } from './record-attempt.ts'

/** A row as it is to be stored: everything known about an action from now on, or nothing once it is gone. */
export type CapturedRow = {
  id: string
  values: Record<string, CapturedValue>
  hidden: Buffer | null
  origin: string
  isRecreated: boolean
}

type Creating = {
  id: string
  hook: Pick<OutgoingHook, 'id'>
  actionId: number
  eventId: number
  isRecreated: boolean
}
type Subject = { hook: Pick<OutgoingHook, 'id' | 'requests' | 'capture'>; actionId: number }

/**
 * What hooks have captured about actions, in the order of `subjects`. Values of another receiver do not count: after a change
 * of the URL, nothing has been created there yet. Nor do values that a hook captures no more, and those that were hidden
 * when they were captured count only while it hides them.
 */
export async function loadCaptured(
  db: Database,
  box: SecretBox,
  subjects: readonly Subject[],
): Promise<Captured[]> {
  if (subjects.length === 0) return []
  const { rows } = await sql<{
    id: string
    hook_id: string
    action_id: number
    values: Record<string, CapturedValue>
    hidden: Buffer | null
    origin: string
    is_recreated: boolean
  }>`
    select c.* from unnest(${subjects.map(({ hook }) => hook.id)}::uuid[], ${subjects.map(({ actionId }) => actionId)}::bigint[])
      as wanted (hook_id, action_id)
    join captured_values c on c.action_id = wanted.action_id and c.hook_id = wanted.hook_id`.execute(db)
  const byKey = new Map(rows.map((row) => [`${row.hook_id}/${row.action_id}`, row]))
  return subjects.map(({ hook, actionId }) => {
    const row = byKey.get(`${hook.id}/${actionId}`)
    if (!row || row.origin !== originOf(hook)) return NOTHING_CAPTURED
    const hidden = row.hidden ? JSON.parse(box.open(row.hidden, capturedAad(row.id))) : {}
    const values = {
      ...only(row.values, hook.capture),
      ...only(
        hidden,
        hook.capture.filter((rule) => rule.hidden),
      ),
    }
    return { values, isRecreated: row.is_recreated }
  })
}

function only(values: Captured['values'], rules: OutgoingHook['capture']): Captured['values'] {
  const names = new Set(rules.map(({ name }) => name))
  return Object.fromEntries(Object.entries(values).filter(([name]) => names.has(name)))
}

/** Those of claimed deliveries, by the id of the delivery; nothing is read for hooks that do not capture. */
export async function loadCapturedOf(
  db: Database,
  box: SecretBox,
  deliveries: readonly ClaimedDelivery[],
  hooks: ReadonlyMap<string, OutgoingHook | Error>,
): Promise<ReadonlyMap<string, Captured>> {
  const capturing = deliveries.flatMap((delivery) => {
    const hook = hooks.get(delivery.hookId)
    if (!hook || hook instanceof Error || hook.capture.length === 0) return []
    return [{ id: delivery.id, hook, actionId: delivery.action.id, eventId: delivery.event.id }]
  })
  const loaded = await loadCaptured(db, box, capturing)
  const captured = new Map(capturing.map(({ id }, index) => [id, loaded[index]!]))
  const creating = capturing
    .map((one) => ({ ...one, isRecreated: captured.get(one.id)!.isRecreated }))
    .filter(({ id, hook }) => createsWithKey(hook, captured.get(id)!))
  for (const id of await findTriedBefore(db, creating))
    captured.set(id, { ...captured.get(id)!, mayExist: true })
  return captured
}

/** The next request creates something, with a key by which the receiver recognizes what exists already. */
function createsWithKey(hook: OutgoingHook, captured: Captured): boolean {
  if (!hook.requests || chooseRequest(hook.requests, hook, captured).kind !== 'create') return false
  return hook.requests.first.compiled.reads.has('request.idempotency_key')
}

/**
 * Those whose action and hook have another delivery that was tried with the same key. What was created once more
 * has another one than deliveries that succeeded before.
 */
async function findTriedBefore(db: Database, creating: readonly Creating[]): Promise<string[]> {
  if (creating.length === 0) return []
  const column = <Value>(read: (one: Creating) => Value) => creating.map(read)
  const { rows } = await sql<{ id: string }>`
    select wanted.id from unnest(${column(({ id }) => id)}::uuid[], ${column(({ hook }) => hook.id)}::uuid[],
      ${column(({ actionId }) => actionId)}::bigint[], ${column(({ eventId }) => eventId)}::bigint[],
      ${column(({ isRecreated }) => isRecreated)}::boolean[])
      as wanted (id, hook_id, action_id, event_id, is_recreated)
    where exists (
      select from deliveries other
      where other.action_id = wanted.action_id and other.event_id <> wanted.event_id
        and other.hook_id is not distinct from wanted.hook_id and other.attempts > 0
        and not (wanted.is_recreated and other.state = 'delivered'))`.execute(db)
  return rows.map(({ id }) => id)
}

/** Hidden values are sealed. */
export function sealCaptured(
  box: SecretBox,
  hook: Pick<OutgoingHook, 'requests' | 'capture'>,
  { values, isRecreated }: Captured,
): CapturedRow {
  const id = randomUUID()
  const names = new Set(hook.capture.filter(({ hidden }) => hidden).map(({ name }) => name))
  const entries = Object.entries(values)
  const hidden = entries.filter(([name]) => names.has(name))
  return {
    id,
    values: Object.fromEntries(entries.filter(([name]) => !names.has(name))),
    hidden:
      hidden.length === 0 ? null : box.seal(JSON.stringify(Object.fromEntries(hidden)), capturedAad(id)),
    origin: originOf(hook),
    isRecreated,
  }
}

/**
 * The part of storing attempts that stores what they captured, from the `owned` ones: what is known about an action is never
 * older than what was sent about it. `rows` is the parameter with `capturedRows`.
 */
export const STORE_CAPTURED = (rows: string) => `
  captured as (
    insert into captured_values (id, action_id, hook_id, values, hidden, origin, is_recreated)
    select c.id, owned.action_id, owned.hook_id, c.values, decode(c.hidden, 'base64'), c.origin, c.is_recreated
    from jsonb_to_recordset(${rows}::jsonb) as c (hook_id uuid, event_id bigint, id uuid, values jsonb, hidden text,
      origin text, is_recreated boolean)
    join owned on owned.hook_id = c.hook_id and owned.event_id = c.event_id
    on conflict (action_id, hook_id) do update set id = excluded.id, values = excluded.values, hidden = excluded.hidden,
      origin = excluded.origin, is_recreated = excluded.is_recreated, updated_at = now()
  )`

/** Null: none of them captured anything. */
export function capturedRows(
  attempts: readonly { delivery: ClaimedDelivery; captured?: CapturedRow }[],
): string | null {
  const rows = attempts.flatMap(({ delivery, captured }) =>
    captured
      ? [
          {
            hook_id: delivery.hookId,
            event_id: delivery.event.id,
            id: captured.id,
            values: captured.values,
            hidden: captured.hidden?.toString('base64') ?? null,
            origin: captured.origin,
            is_recreated: captured.isRecreated,
          },
        ]
      : [],
  )
  return rows.length === 0 ? null : JSON.stringify(rows)
}

/** The mask of the hook, which then also hides those of the values that it hides, and these texts. */
export function maskWith(
  { mask, capture }: Pick<OutgoingHook, 'mask' | 'capture'>,
  values: Captured['values'],
  texts: readonly string[] = [],
): Mask {
  const names = new Set(capture.filter(({ hidden }) => hidden).map(({ name }) => name))
  const known = Object.entries(values).filter(([name]) => names.has(name))
  const secrets = [...known.map(([, value]) => String(value)), ...texts]
  if (secrets.length === 0) return mask
  const more = createMask(secrets)
  return {
    text: (text) => more.text(mask.text(text)),
    bytes: (bytes) => more.bytes(mask.bytes(bytes)),
    headers: (headers) => more.headers(mask.headers(headers)),
  }
}

/** The record of what was sent and answered, without anything that the hook hides. */
export function recordAnswer(
  hook: Pick<OutgoingHook, 'mask' | 'capture' | 'answerOrigins'>,
  values: Captured['values'],
  request: ShownRequest,
  outcome: SendOutcome,
  judged?: Judgement,
): AttemptRecord {
  const hidden = outcome.kind === 'answered' ? hiddenTexts(hook.capture, outcome) : []
  const record = recordAttempt(request, outcome, maskWith(hook, values, hidden ?? []), judged)
  const isShown = hook.answerOrigins?.includes(new URL(request.url).origin) ?? true
  if (!isShown) return withoutAnswer(record)
  return hidden === null ? { ...record, responseBody: null } : record
}

function originOf({ requests }: Pick<OutgoingHook, 'requests'>): string {
  return requests?.first.compiled.url.origin ?? ''
}
