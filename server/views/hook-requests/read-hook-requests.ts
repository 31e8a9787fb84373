import { sql } from 'kysely'
import { later } from '#model/hooks/health.ts'
import { countsAgainst, isBudgetPaused } from '#model/hooks/rate-budgets.ts'
import type { SignatureProblem } from '#model/hooks/signature-schemes.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Extent, Page } from '#platform/http/pagination.ts'
import { readLargePage } from '#platform/http/read-large-page.ts'
import { createMask } from '#platform/masking/mask.ts'
import { maskPath } from '#platform/masking/masked.ts'
import type { HookRequestDetail, HookRequestRecord } from './schemas.ts'

const columns = [
  'id',
  'hook_id',
  'action_id',
  'retry_of',
  'ip_address',
  'url',
  'response_status_code',
  'created_at',
  'updated_at',
  'type',
  'method',
  'outcome',
  'duration_ms',
  'next_attempt_at',
  'attempt',
  'error',
  'capture_error',
  'event_kind as event',
] as const

export type RequestsOf = { hook_id: string } | { action_id: number }

/** The requests of a hook, or those about an action; newest first. */
export async function listHookRequests(
  db: Database,
  of: RequestsOf,
  page: Page,
  options: { withUrls: boolean },
): Promise<{ items: HookRequestRecord[]; extent: Extent }> {
  const query = db
    .selectFrom('hook_requests')
    .select(columns)
    .where((eb) => eb.and(of))
  const { rows, extent } = await readLargePage(db, query, page)
  const shown = await withDeploymentTypes(db, await withNextAttempts(db, rows))
  return { items: options.withUrls ? shown : shown.map(withoutPath), extent }
}

/** The URL of a call is stored without its token; the URL of a delivery can contain a key. */
function withoutPath<Row extends { type: string; url: string }>(row: Row): Row {
  return row.type === 'outgoing' ? { ...row, url: maskPath(row.url) } : row
}

/** What nobody may read of a hook: its secrets, and the token in its URL. */
export type SecretsOf = (hookId: string) => Promise<string[]>

/**
 * Bodies are shown only to callers who may edit the hook: they can contain confidential data of the sender. Secrets
 * of the hook are masked even for them; some senders repeat the URL that they call.
 */
export async function readHookRequest(
  db: Database,
  id: string,
  options: { withBodies: boolean; secretsOf: SecretsOf },
): Promise<HookRequestDetail | undefined> {
  const stored = await db
    .selectFrom('hook_requests')
    .select([...columns, 'request_headers', 'request_body', 'response_headers', 'response_body'])
    .select(['signature_problem', bodyBytes])
    .where('id', '=', id)
    .executeTakeFirst()
  if (!stored) return undefined
  const [row] = await withDeploymentTypes(db, await withNextAttempts(db, [stored]))
  if (!row) return undefined
  const { request_headers, request_body, response_headers, response_body, ...rest } = row
  const { signature_problem, body_bytes, ...record } = rest
  const { withBodies } = options
  const mask = createMask(withBodies ? await options.secretsOf(row.hook_id) : [])
  const shownBody = (bytes: Buffer | null) => presentBody(withBodies && bytes ? mask.bytes(bytes) : null)
  const shownHeaders = (headers: Record<string, string> | null) =>
    withBodies && headers ? mask.headers(headers) : null
  const request = shownBody(request_body)
  const response = shownBody(response_body)
  return {
    ...(withBodies ? record : withoutPath(record)),
    signature_problem: withBodies ? (signature_problem as SignatureProblem | null) : null,
    body_bytes: withBodies ? body_bytes : null,
    request_headers: shownHeaders(request_headers),
    request_body: request.text,
    request_body_encoding: request.encoding,
    response_headers: shownHeaders(response_headers),
    response_body: response.text,
    response_body_encoding: response.encoding,
  }
}

/** Calls received before sizes were recorded have the size of their body, as long as that is stored. */
const bodyBytes = sql<
  number | null
>`coalesce(body_bytes, case type when 'incoming' then octet_length(request_body) end)`.as('body_bytes')

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** UTF-8 when it is valid, otherwise base64: the exact bytes either way. */
function presentBody(bytes: Buffer | null): { text: string | null; encoding: 'utf-8' | 'base64' } {
  if (bytes === null) return { text: null, encoding: 'utf-8' }
  try {
    return { text: utf8.decode(bytes), encoding: 'utf-8' }
  } catch {
    return { text: bytes.toString('base64'), encoding: 'base64' }
  }
}

async function withDeploymentTypes<Row extends { action_id: number | null }>(
  db: Database,
  requests: readonly Row[],
): Promise<(Row & { deployment_type: string | null })[]> {
  const ids = [...new Set(requests.flatMap(({ action_id }) => action_id ?? []))]
  if (ids.length === 0) return requests.map((row) => ({ ...row, deployment_type: null }))
  const { rows } = await sql<{ id: number; type: string | null }>`
    select id, deployment ->> 'type' as type from actions where id = any(${ids}::bigint[])`.execute(db)
  const types = new Map(rows.map(({ id, type }) => [id, type]))
  return requests.map((row) => ({ ...row, deployment_type: types.get(row.action_id ?? 0) ?? null }))
}

type Attempt = { id: string; type: string; next_attempt_at: string | null }

type WaitingRow = {
  id: string
  is_waiting: boolean
  due_at: string
  open_until: string | null
  limited_until: string | null
}

/**
 * Attempts with the time at which their delivery is really tried again: after a pause of the hook or of its
 * rate budget, and only by the last attempt of a delivery that still waits. Records store the time that was planned when they were written.
 */
async function withNextAttempts<Row extends Attempt>(db: Database, attempts: readonly Row[]): Promise<Row[]> {
  const ids = attempts.filter((row) => row.next_attempt_at !== null).map((row) => row.id)
  if (ids.length === 0) return [...attempts]
  const { rows } = await sql<WaitingRow>`
    select r.id, d.due_at, s.open_until, (
        select max(b.paused_until) from rate_budgets b
        where ${sql.raw(isBudgetPaused('b'))} and ${sql.raw(countsAgainst('h', 'b'))}) as limited_until,
      d.state = 'pending' and d.last_request_id = r.id and h.active and h.deleted_at is null as is_waiting
    from hook_requests r join deliveries d on d.hook_id = r.hook_id and d.event_id = r.event_id
    join hooks h on h.id = r.hook_id left join hook_health s on s.hook_id = r.hook_id
    where r.id = any(${ids}::uuid[])`.execute(db)
  const waiting = new Map(rows.map((row) => [row.id, row]))
  return attempts.map((row) => ({ ...row, next_attempt_at: nextAttemptOf(row, waiting.get(row.id)) }))
}

/** Records whose delivery was pruned keep what they say. */
function nextAttemptOf({ next_attempt_at }: Attempt, delivery: WaitingRow | undefined): string | null {
  if (next_attempt_at === null || !delivery) return next_attempt_at
  const { due_at, open_until, limited_until } = delivery
  return delivery.is_waiting ? later(later(due_at, open_until), limited_until) : null
}
