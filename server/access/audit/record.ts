// The audit log: who changed what, stored permanently. Every change is recorded in its own
// transaction, so that there is no change without its entry and no entry without its change.
import type { Caller } from '#access/authorization/caller.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { REMOVED } from '#platform/http/problems.ts'

/** Who made the change and from where; without a user it was the service itself. */
export type Actor = { userId: number | null; ipAddress: string | null; requestId: string | null }

/** A change of one resource. `before` and `after` are shown as they are: leave secrets out, or write '********'. */
export type AuditedChange = {
  /** Null for what belongs to no organization, such as a sign-in: only instance administrators see it. */
  organizationId: number | null
  verb: string
  subject: { type: string; id: number | string; name: string }
  before: object | null
  after: object | null
}

export async function recordAudit(trx: Transaction, actor: Actor, change: AuditedChange): Promise<void> {
  await recordAudits(trx, actor, [change])
}

/** What happens to an account belongs to no organization. */
export function recordAccount(
  trx: Transaction,
  actor: Actor,
  verb: string,
  { id, email }: { id: number | string; email: string },
  change: Partial<Pick<AuditedChange, 'before' | 'after'>> = {},
) {
  const subject = { type: 'user', id, name: email }
  return recordAudit(trx, actor, {
    organizationId: null,
    verb,
    subject,
    before: null,
    after: null,
    ...change,
  })
}

/** For many resources at once, such as everything that is removed with an environment. */
export async function recordAudits(trx: Transaction, actor: Actor, changes: readonly AuditedChange[]) {
  for (let start = 0; start < changes.length; start += MAX_BATCH) {
    const rows = changes.slice(start, start + MAX_BATCH).map((change) => ({
      organization_id: change.organizationId,
      user_id: actor.userId,
      ip_address: actor.ipAddress,
      request_id: actor.requestId,
      verb: change.verb,
      subject_type: change.subject.type,
      subject_id: String(change.subject.id),
      subject_name: change.subject.name,
      before: change.before && JSON.stringify(change.before),
      after: change.after && JSON.stringify(change.after),
    }))
    await trx.insertInto('audit_entries').values(rows).execute()
  }
}

/** Far below the number of parameters that one statement may have. */
const MAX_BATCH = 1_000

/** Who makes a change: what they may do, and how the audit log names them. */
export type Requester = { caller: Caller; actor: Actor }

export type Creation<Body> = Requester & { parentId: number; body: Body }
/** `ifMatch`: the version that the caller last saw, if they sent it. `parentId`: of what is found only in something else. */
type OfOne<Id> = Requester & { parentId: number; id: Id; ifMatch?: string }
export type Change<Body, Id = number> = OfOne<Id> & { body: Body }
/** `cascade`: with what depends on it. */
export type Removal<Id = number> = OfOne<Id> & { cascade: boolean }

/**
 * Records changes of one type of resource. `shown` lists the fields to keep, or picks them itself where some are
 * secret.
 */
export function auditorOf<Row extends { id: number | string; name: string }>(
  type: string,
  shown: readonly (keyof Row)[] | ((row: Row) => object),
) {
  const pick =
    typeof shown === 'function'
      ? shown
      : (row: Row) => Object.fromEntries(shown.map((field) => [field, row[field]]))
  return {
    /** `after` was read in the transaction that stored it; `before` is null for a new row. */
    async saved<After extends Row>(
      trx: Transaction,
      { actor }: Pick<Requester, 'actor'>,
      organizationId: number,
      before: Row | null,
      after: After | undefined,
    ) {
      const { id, name } = after!
      await recordAudit(trx, actor, {
        organizationId,
        verb: before ? 'changed' : 'created',
        subject: { type, id, name },
        before: before && pick(before),
        after: pick(after!),
      })
      return { kind: 'done' as const, row: after! }
    },
    async removed(trx: Transaction, { actor }: Pick<Requester, 'actor'>, organizationId: number, row: Row) {
      const subject = { type, id: row.id, name: row.name }
      const before = pick(row)
      await recordAudit(trx, actor, { organizationId, verb: 'removed', subject, before, after: null })
      return REMOVED
    },
  }
}
