// Helpers for tests of rate budgets: trees whose hooks send a token, and a service that allows a number of requests.
import { sql } from 'kysely'
import { startActions } from '#model/actions/start-actions.ts'
import { recordEvents } from '#model/events/fan-out.ts'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import type { Status } from '#platform/database/tables.ts'
import { type Arrival, manualStart, openReceiver } from './deliveries.ts'
import type { TestApp } from './harness.ts'
import { createTestTree, type TestTree } from './world.ts'

export const SENDS_TOKEN = {
  settings: {
    request_headers: [{ name: 'Private-Token', value: '{{ application.source_provider.access_token }}' }],
    request_body: { action: '{{ action.id }}', status: '{{ action.status }}' },
  },
  trigger_when: { events: ['action.created', 'action.status_changed'] },
}

/** Its application has a credential with this token. */
export async function openTokenTree({ db, box }: TestApp, token: string): Promise<TestTree> {
  const tree = await createTestTree(db)
  const secret = box.seal(token, credentialAad(tree.credentialId))
  await db.updateTable('credentials').set({ secret }).where('id', '=', tree.credentialId).execute()
  return tree
}

/** Many actions at once; each is reported as created. */
export function startMany({ db }: TestApp, tree: TestTree, count: number): Promise<number[]> {
  const action = manualStart(tree)
  return db.transaction().execute((trx) =>
    startActions(
      trx,
      Array.from({ length: count }, () => action),
      [],
    ),
  )
}

/** Reports that all of them have this status now. */
export function reportAll(
  { db }: TestApp,
  tree: TestTree,
  ids: readonly number[],
  status: 'in-progress' | 'completed',
): Promise<void> {
  const previous_status: Status = status === 'completed' ? 'in-progress' : 'queued'
  const events = ids.map((action_id) => ({
    action_id,
    pipeline_id: tree.pipelineId,
    previous_status,
    status,
    status_reason_code: status === 'completed' ? ('COMPLETED' as const) : ('IN_PROGRESS' as const),
    is_final: status === 'completed',
  }))
  return db.transaction().execute((trx) => recordEvents(trx, new Date().toISOString(), events))
}

/** Moves the clock of all pauses, and of what waits for them. */
export async function passPauses({ db }: TestApp, seconds: number): Promise<void> {
  const span = sql`${seconds}::float8 * interval '1 second'`
  await sql`
    with waiting as (
      update deliveries set due_at = due_at - ${span} where state = 'pending' and leased_until is null)
    update rate_budgets set paused_until = paused_until - ${span}`.execute(db)
}

/** A service that accepts `limit` requests in a window for a token, and refuses the rest as GitHub does. */
export async function openLimited(t: Parameters<typeof openReceiver>[0], limits: Record<string, number>) {
  const receiver = await openReceiver(t)
  const used = new Map<string, number>()
  const accepted: Arrival[] = []
  const refused: Arrival[] = []
  receiver.behave((_, response, arrival) => {
    const token = arrival.headers['private-token']!
    const count = (used.get(token) ?? 0) + 1
    used.set(token, count)
    const limit = limits[token] ?? Number.POSITIVE_INFINITY
    const headers = {
      'x-ratelimit-remaining': String(Math.max(0, Math.min(limit, 9_999) - count)),
      'x-ratelimit-reset': String(Math.ceil(Date.now() / 1_000) + 60),
    }
    if (count > limit) refused.push(arrival)
    else accepted.push(arrival)
    response.writeHead(count > limit ? 403 : 201, headers).end('{}')
  })
  const statusesOf = (action: number) =>
    accepted.filter(({ json }) => json.action === String(action)).map(({ json }) => json.status as string)
  /** The window ends. */
  return { ...receiver, accepted, refused, statusesOf, renew: () => used.clear() }
}
