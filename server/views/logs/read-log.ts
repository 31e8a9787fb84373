import { sql } from 'kysely'
import { presentTarget, type TargetRow } from '#model/actions/present.ts'
import type { TreeSnapshot } from '#model/inventory/tree.ts'
import type { Database } from '#platform/database/connect.ts'

type StepOfTarget = { actionId: number; targetId: number; order: number }

/** A step, its target, and the current end of its log. */
export type FoundLog = NonNullable<Awaited<ReturnType<typeof findLog>>>

type Row = TargetRow & { end_offset: number | null; printed_at: string | null }

/**
 * Undefined when there is no such step. One statement: a step that has ended is never shown with an incomplete log,
 * so a client that polls may stop there.
 */
export async function findLog(db: Database, tree: TreeSnapshot, { actionId, targetId, order }: StepOfTarget) {
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

/** A part of a log that was printed and is not stored: only the first and the last megabytes are. */
export type Gap = { offset: number; omitted_bytes: number }

type Chunk = { start_offset: number; bytes: number; text: string }

/**
 * The log from byte `after` up to byte `endOffset`, page by page: neither a transaction nor a connection is held while a slow
 * client reads. Stored text never changes; what is omitted meanwhile, because the step prints on, is a gap. An `after`
 * inside a character means the start of it. Gaps are added to `gaps` as they are found.
 */
export async function* readPages(
  db: Database,
  { targetId, order }: StepOfTarget,
  after: number,
  endOffset: number,
  gaps: Gap[],
): AsyncGenerator<string> {
  if (after >= endOffset) return
  const chunks = sql`step_log_chunks where target_id = ${targetId} and step_order = ${order}::bigint`
  const { rows: before } = await sql<Pick<Chunk, 'start_offset'>>`
    select start_offset from ${chunks} and start_offset <= ${after}
    order by start_offset desc limit 1`.execute(db)
  let from = before[0]?.start_offset ?? 0
  let at = after
  while (from < endOffset) {
    const { rows } = await sql<Chunk>`
      select start_offset, bytes, text from (
        select *, sum(bytes) over (order by start_offset) - bytes as before from (
          select start_offset, bytes, text from ${chunks} and start_offset >= ${from} and start_offset < ${endOffset}
          order by start_offset limit 500) as next) as measured
      where before < ${PAGE_BYTES} order by start_offset`.execute(db)
    if (rows.length === 0) return
    let page = ''
    for (const { start_offset, bytes, text } of rows) {
      from = start_offset + bytes
      if (from <= after) continue
      if (start_offset > at) gaps.push({ offset: at, omitted_bytes: start_offset - at })
      page += textFrom(text, after - start_offset)
      at = from
    }
    yield page
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
