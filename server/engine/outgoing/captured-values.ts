// What hooks have captured about actions: loaded before a request is chosen, stored with the attempt that captured it.
import { randomUUID } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import type { CapturedValues } from '#model/hooks/captured.ts'
import { capturedAad } from '#model/inventory/sealed-aad.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Tables } from '#platform/database/tables.ts'
import { type Captured, chooseRequest, NOTHING_CAPTURED } from './choose-request.ts'
import type { ClaimedDelivery } from './claim-deliveries.ts'
import type { OutgoingHook } from './outgoing-hooks.ts'

type CapturingHook = Pick<OutgoingHook, 'id' | 'requests' | 'capture'>

/**
 * What hooks have captured about actions, in the order of `subjects`. Values of another receiver do not count: after a change
 * of the URL, nothing has been created there yet. Nor do values that a hook no longer captures, and those that were hidden
 * when they were captured count only while it hides them.
 */
export async function loadCaptured(
  db: Database,
  box: SecretBox,
  subjects: readonly { hook: CapturingHook; actionId: number }[],
): Promise<Captured[]> {
  if (subjects.length === 0) return []
  const [hookIds, actionIds] = [subjects.map(({ hook }) => hook.id), subjects.map(({ actionId }) => actionId)]
  const { rows } = await sql<Selectable<Tables['captured_values']>>`
    select c.* from unnest(${hookIds}::uuid[], ${actionIds}::bigint[]) as wanted (hook_id, action_id)
    join captured_values c on c.action_id = wanted.action_id and c.hook_id = wanted.hook_id`.execute(db)
  const byKey = new Map(rows.map((row) => [`${row.hook_id}/${row.action_id}`, row]))
  return subjects.map(({ hook, actionId }) => {
    const row = byKey.get(`${hook.id}/${actionId}`)
    if (!row || row.origin !== originOf(hook)) return NOTHING_CAPTURED
    const hidden = row.hidden ? JSON.parse(box.open(row.hidden, capturedAad(row.id))) : {}
    const values = [...entriesOf(row.values, hook.capture), ...entriesOf(hidden, hiddenOf(hook))]
    return { values: Object.fromEntries(values), isRecreated: row.is_recreated }
  })
}

const hiddenOf = ({ capture }: Pick<OutgoingHook, 'capture'>) => capture.filter(({ hidden }) => hidden)

/** Those of the values that the rules name. */
function entriesOf(values: CapturedValues, rules: OutgoingHook['capture']) {
  const names = new Set(rules.map(({ name }) => name))
  return Object.entries(values).filter(([name]) => names.has(name))
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
    return [{ delivery, hook, actionId: delivery.action.id }]
  })
  const loaded = await loadCaptured(db, box, capturing)
  const captured = new Map(capturing.map(({ delivery }, index) => [delivery.id, loaded[index]!]))
  const creating = capturing.flatMap(({ delivery, hook }) =>
    createsWithKey(hook, captured.get(delivery.id)!) ? delivery : [],
  )
  for (const id of await findTriedBefore(db, creating, captured))
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
async function findTriedBefore(
  db: Database,
  creating: readonly ClaimedDelivery[],
  captured: ReadonlyMap<string, Captured>,
): Promise<string[]> {
  if (creating.length === 0) return []
  const column = <Value>(read: (delivery: ClaimedDelivery) => Value) => creating.map(read)
  const { rows } = await sql<{ id: string }>`
    select wanted.id from unnest(${column(({ id }) => id)}::uuid[], ${column(({ hookId }) => hookId)}::uuid[],
      ${column(({ action }) => action.id)}::bigint[], ${column(({ event }) => event.id)}::bigint[],
      ${column(({ id }) => captured.get(id)!.isRecreated)}::boolean[])
      as wanted (id, hook_id, action_id, event_id, is_recreated)
    where exists (
      select from deliveries other
      where other.action_id = wanted.action_id and other.event_id <> wanted.event_id
        and other.hook_id is not distinct from wanted.hook_id and other.attempts > 0
        and not (wanted.is_recreated and other.state = 'delivered'))`.execute(db)
  return rows.map(({ id }) => id)
}

/** A row as it is stored: everything known about an action from now on, or nothing once what was created was removed. */
export type CapturedRow = ReturnType<typeof sealCaptured>

/** Hidden values are sealed. */
export function sealCaptured(
  box: SecretBox,
  hook: Pick<OutgoingHook, 'requests' | 'capture'>,
  { values, isRecreated }: Captured,
) {
  const id = randomUUID()
  const hidden = Object.fromEntries(entriesOf(values, hiddenOf(hook)))
  const shown = Object.entries(values).filter(([name]) => !Object.hasOwn(hidden, name))
  const isSealed = Object.keys(hidden).length > 0
  return {
    id,
    values: Object.fromEntries(shown),
    hidden: isSealed ? box.seal(JSON.stringify(hidden), capturedAad(id)).toString('base64') : null,
    origin: originOf(hook),
    is_recreated: isRecreated,
  }
}

/**
 * Part of the statement that stores attempts: stores what the `owned` ones captured, so that what is known about an action is
 * never older than what was sent about it. `rows` is the parameter: captured rows with their hook and event.
 */
export const storeCaptured = (rows: string) => `
  captured as (
    insert into captured_values (id, action_id, hook_id, values, hidden, origin, is_recreated)
    select c.id, owned.action_id, owned.hook_id, c.values, decode(c.hidden, 'base64'), c.origin, c.is_recreated
    from jsonb_to_recordset(${rows}::jsonb) as c (hook_id uuid, event_id bigint, id uuid, values jsonb, hidden text,
      origin text, is_recreated boolean)
    join owned on owned.hook_id = c.hook_id and owned.event_id = c.event_id
    on conflict (action_id, hook_id) do update set id = excluded.id, values = excluded.values, hidden = excluded.hidden,
      origin = excluded.origin, is_recreated = excluded.is_recreated, updated_at = now()
  )`

function originOf({ requests }: Pick<OutgoingHook, 'requests'>): string {
  return requests?.first.compiled.url.origin ?? ''
}
