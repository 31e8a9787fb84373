import type { Database } from '#platform/database/connect.ts'
import { COUNT_LIMIT, type Extent, type Page } from '#platform/http/pagination.ts'
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
] as const

/** The requests of a hook, or those about an action; newest first. */
export async function listHookRequests(
  db: Database,
  of: { hookId: string } | { actionId: number },
  page: Page,
  options: { withAddresses: boolean },
): Promise<{ rows: HookRequestRecord[]; extent: Extent }> {
  const all = db
    .selectFrom('hook_requests')
    .where((eb) => ('hookId' in of ? eb('hook_id', '=', of.hookId) : eb('action_id', '=', of.actionId)))
  const [found, counted] = await Promise.all([
    all
      .select(columns)
      .orderBy('id', 'desc')
      .limit(page.limit + 1)
      .offset(page.offset)
      .execute(),
    db
      .selectFrom(
        all
          .select('id')
          .limit(COUNT_LIMIT + 1)
          .as('some'),
      )
      .select(({ fn }) => fn.countAll<number>().as('total'))
      .executeTakeFirstOrThrow(),
  ])
  return {
    rows: found.slice(0, page.limit).map((row) => (options.withAddresses ? row : withoutPath(row))),
    extent: { total: counted.total, hasMore: found.length > page.limit },
  }
}

/** Of a call the record holds no token; where a delivery went to can be a key. */
function withoutPath<Row extends { type: string; url: string }>(row: Row): Row {
  return row.type === 'outgoing' ? { ...row, url: maskPath(row.url) } : row
}

/** What nobody may read of a hook: its secrets, and the token of its address. */
export type SecretsOf = (hookId: string) => Promise<string[]>

/**
 * Bodies are for those who may edit the hook: they can hold what a sender would not show everyone. Even they
 * see no secret of the hook in them; some senders repeat the address that they call.
 */
export async function readHookRequest(
  db: Database,
  id: string,
  options: { withBodies: boolean; secretsOf: SecretsOf },
): Promise<HookRequestDetail | undefined> {
  const row = await db
    .selectFrom('hook_requests')
    .select([...columns, 'request_headers', 'request_body', 'response_headers', 'response_body'])
    .where('id', '=', id)
    .executeTakeFirst()
  if (!row) return undefined
  const { request_headers, request_body, response_headers, response_body, ...record } = row
  const { withBodies } = options
  const mask = createMask(withBodies ? await options.secretsOf(row.hook_id) : [])
  const shownBody = (bytes: Buffer | null) => presentBody(withBodies && bytes ? mask.bytes(bytes) : null)
  const shownHeaders = (headers: Record<string, string> | null) =>
    withBodies && headers ? mask.headers(headers) : null
  const request = shownBody(request_body)
  const response = shownBody(response_body)
  return {
    ...(withBodies ? record : withoutPath(record)),
    request_headers: shownHeaders(request_headers),
    request_body: request.text,
    request_body_encoding: request.encoding,
    response_headers: shownHeaders(response_headers),
    response_body: response.text,
    response_body_encoding: response.encoding,
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Text when it is text, else base64: what is shown is what came. */
function presentBody(bytes: Buffer | null): { text: string | null; encoding: 'utf-8' | 'base64' } {
  if (bytes === null) return { text: null, encoding: 'utf-8' }
  try {
    return { text: utf8.decode(bytes), encoding: 'utf-8' }
  } catch {
    return { text: bytes.toString('base64'), encoding: 'base64' }
  }
}
