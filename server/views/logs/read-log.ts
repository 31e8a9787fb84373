import { sql } from 'kysely'
import { presentTarget, type TargetRow } from '#model/actions/present.ts'
import type { Target } from '#model/actions/summary-schemas.ts'
import type { TreeSnapshot } from '#model/inventory/tree.ts'
import type { Database } from '#platform/database/connect.ts'
import type { StoredStep } from '#platform/database/tables.ts'

type StepOfTarget = { actionId: number; targetId: number; order: number }

/** A step, its target, and the current end of its log. */
export type FoundLog = { step: StoredStep; target: Target; updatedAt: string; endOffset: number }

type Row = TargetRow & { end_offset: number | null; printed_at: string | null }

/**
 * Undefined when there is no such step. One statement: a step that has ended is never shown with an incomplete log,
 * so a client that polls may stop there.
 */
export async function findLog(
  db: Database,
  tree: TreeSnapshot,
  { actionId, targetId, order }: StepOfTarget,
): Promise<FoundLog | undefined> {
  const { rows } = await sql<Row>`
    select t.*, last.start_offset + last.bytes as end_offset, last.created_at as printed_at
    from targets t left join lateral (
      select start_offset, bytes, created_at from step_log_chunks
      where target_id = t.id and step_order = ${order}::bigint
      order by start_offset desc limit 1
    ) last on true
    where t.id = ${targetId} and t.action_id = ${actionId}`.execute(db)
  const row = rows[0]
  const step = row?.steps.find((one) => one.order === order)
  if (!row || !step) return undefined
  const { end_offset, printed_at, ...target } = row
  const server = (await tree.servers([row.server_id])).get(row.server_id)!
  const movedAt = step.updated_at ?? row.created_at
  return {
    step,
    target: presentTarget(target, server),
    updatedAt: printed_at !== null && printed_at > movedAt ? printed_at : movedAt,
    endOffset: end_offset ?? 0,
  }
}

const PAGE_BYTES = 256 * 1024

/**
 * The log from byte `after` up to byte `endOffset`, page by page: stored text never changes, so neither a transaction
 * nor a connection is held while a slow client reads. An `after` inside a character means the start of it.
 */
export async function* readPages(
  db: Database,
  { targetId, order }: StepOfTarget,
  after: number,
  endOffset: number,
): AsyncGenerator<string> {
  if (after >= endOffset) return
  const chunks = db
    .selectFrom('step_log_chunks')
    .where('target_id', '=', targetId)
    .where('step_order', '=', order)
  const first = await chunks
    .select('start_offset')
    .where('start_offset', '<=', after)
    .orderBy('start_offset', 'desc')
    .limit(1)
    .executeTakeFirst()
  let from = first?.start_offset ?? 0
  while (from < endOffset) {
    const page = await chunks
      .select(sql<string | null>`string_agg(text, '' order by start_offset)`.as('text'))
      .where('start_offset', '>=', from)
      .where('start_offset', '<', Math.min(from + PAGE_BYTES, endOffset))
      .executeTakeFirstOrThrow()
    const text = page.text ?? ''
    yield textFrom(text, after - from)
    from += Buffer.byteLength(text) || PAGE_BYTES
  }
}

/** The text from a byte on, or from the start of the character that contains it. Pure. */
export function textFrom(text: string, byte: number): string {
  if (byte <= 0) return text
  const bytes = Buffer.from(text)
  let from = byte
  while (from < bytes.length && (bytes[from]! & 0xc0) === 0x80) from--
  return bytes.toString('utf8', from)
}
