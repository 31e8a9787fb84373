import { isDeepStrictEqual } from 'node:util'
import { auditorOf, type Change, type Creation } from '#access/audit/record.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { findById, rowVersion, updateRow } from '#platform/database/rows.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import { CHANGED_MEANWHILE, conflict, GONE, type HttpProblem, listNames } from '#platform/http/problems.ts'
import { insertWithSlug } from '#platform/slug.ts'
import type { OrganizationBody, OrganizationChange } from './schemas.ts'

export const auditOrganization = auditorOf<OrganizationRow>('organization', ['name'])

/** The caller becomes its owner. */
export async function createOrganization(trx: Transaction, request: Creation<OrganizationBody>) {
  const { body, caller } = request
  const { name } = body
  const { id } = await insertWithSlug(name, (url_slug) =>
    trx
      .insertInto('organizations')
      .values({ name, url_slug, owner_id: caller.id })
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst(),
  )
  await trx
    .insertInto('grants')
    .values({ user_id: caller.id, built_in_role: 'owner', organization_id: id })
    .execute()
  return auditOrganization.saved(trx, request, id, null, await findOrganization(trx, id))
}

/** The slug stays when the name changes: URLs with it are in use. */
export async function changeOrganization(trx: Transaction, request: Change<OrganizationChange>) {
  const { id, body: input, ifMatch } = request
  const before = await findOrganization(trx, id, { lock: true })
  if (!before) return GONE
  if (isOutdated(ifMatch, before.row_version)) return CHANGED_MEANWHILE
  if (!changes(before, input)) return { kind: 'done' as const, row: before }
  await updateRow(trx, 'organizations', id, input)
  return auditOrganization.saved(trx, request, id, before, await findOrganization(trx, id))
}

type OrganizationRow = NonNullable<Awaited<ReturnType<typeof findOrganization>>>

export function findOrganization(db: Database, id: number, options?: { lock: boolean }) {
  const query = db
    .selectFrom('organizations')
    .select(['id', 'name', 'owner_id', rowVersion('organizations')])
    .where('deleted_at', 'is', null)
  return findById(query, 'organizations', id, options)
}

// Shared by the three levels of the tree.

/** Pure: whether the input says anything that is not stored already. */
export function changes(stored: object, input: object): boolean {
  return !isDeepStrictEqual({ ...stored, ...input }, stored)
}

export function nameTaken(noun: string): HttpProblem {
  return { kind: 'invalid', errors: { name: [`is already taken by another ${noun}`] } }
}

/** Pure: what is still in something, each kind with a few names: `{ projects: ['2 projects: Shop, Blog'] }`. */
export function notEmpty(
  noun: string,
  contents: Record<string, readonly { name: string }[]>,
): HttpProblem | undefined {
  const errors = Object.fromEntries(
    Object.entries(contents)
      .filter(([, rows]) => rows.length > 0)
      .map(([kind, rows]) => [
        kind,
        [
          listNames(
            kind.replace(/s$/, ''),
            rows.map(({ name }) => name),
          ),
        ],
      ]),
  )
  const reasons = Object.values(errors).flat()
  return reasons.length === 0
    ? undefined
    : conflict(`The ${noun} is not empty: ${reasons.join('; ')}.`, errors)
}

export function loadNames(
  trx: Transaction,
  table: 'applications' | 'servers',
  environmentId: number,
): Promise<{ name: string }[]> {
  return trx
    .selectFrom(table)
    .select('name')
    .where('environment_id', '=', environmentId)
    .where('deleted_at', 'is', null)
    .orderBy('name')
    .execute()
}
