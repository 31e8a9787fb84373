import type { Database } from '#platform/database/connect.ts'
import { conflict, type HttpProblem } from '#platform/http/problems.ts'
import type { Headers } from './sender-headers.ts'

export type RecordedCall = { kind: 'found'; hookId: string; url: string; headers: Headers; body: Buffer }

/** A call that was received, as it can be evaluated again; of one hook only, if that is given. */
export async function readRecordedCall(
  db: Database,
  requestId: string,
  hookId?: string,
): Promise<RecordedCall | HttpProblem> {
  const row = await db
    .selectFrom('hook_requests')
    .select(['hook_id', 'outcome', 'url', 'request_body', 'request_headers', 'content_type'])
    .where('id', '=', requestId)
    .where('type', '=', 'incoming')
    .$if(hookId !== undefined, (calls) => calls.where('hook_id', '=', hookId!))
    .executeTakeFirst()
  if (!row) return { kind: 'gone' }
  if (row.outcome === 'rejected_signature' || row.outcome === 'rate_limited')
    return conflict('A call that was rejected for its signature or its rate cannot be replayed.')
  if (row.request_body === null)
    return conflict(
      row.request_headers === null
        ? 'The body of this call is no longer stored.'
        : 'The body of this call could not be inflated.',
    )
  // The body is stored decoded, whatever the headers say.
  const headers = { ...row.request_headers, 'content-type': row.content_type ?? undefined }
  return { kind: 'found', hookId: row.hook_id, url: row.url, headers, body: row.request_body }
}
