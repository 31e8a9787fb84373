import type { Caller } from '#access/authorization/caller.ts'
import type { Database } from '#platform/database/connect.ts'
import { type AuditSelection, selectEntries } from './filters.ts'
import { presentEntries } from './list-entries.ts'

/** Positions, which are in commit order; see the migration 0008. */
export type ExportRange = { after: number; upTo: number }

/**
 * From the entry with the id `after`, or from the first one, up to what is committed now. An export after
 * the last id gets every other entry, and none twice. Undefined when `after` is not an entry of this organization.
 */
export async function findRange(db: Database, { organizationId }: AuditSelection, after: number | undefined) {
  const entries = selectEntries(db, { organizationId, filters: {} }).clearSelect()
  const last = await entries.select(({ fn }) => fn.max('position').as('position')).executeTakeFirst()
  const upTo = last?.position ?? 0
  if (after === undefined) return { after: 0, upTo }
  const entry = await entries.select('position').where('id', '=', after).executeTakeFirst()
  return entry && { after: entry.position!, upTo }
}

/** Read at a time. Each page is a statement of its own: no transaction stays open for as long as a download takes. */
const PAGE = 200

/**
 * One line of JSON for each entry, read from the database at the speed of the client. Before each further page
 * `findAgain` says what the caller may do by now; an export that has lost its access fails, because one that just ended
 * would look complete.
 */
export async function* exportEntries(
  db: Database,
  selection: AuditSelection,
  { after, upTo }: ExportRange,
  firstCaller: Caller,
  findAgain: () => Promise<Caller | undefined>,
): AsyncGenerator<string> {
  for (let position = after; position < upTo; ) {
    const caller = position === after ? firstCaller : await findAgain()
    if (!caller) throw new Error('the access of the caller has ended')
    const rows = await selectEntries(db, selection)
      .where('position', '>', position)
      .where('position', '<=', upTo)
      .orderBy('position')
      .limit(PAGE)
      .execute()
    const entries = await presentEntries(db, caller, rows)
    if (entries.length > 0) yield entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')
    position = rows.length < PAGE ? upTo : rows.at(-1)!.position!
  }
}
