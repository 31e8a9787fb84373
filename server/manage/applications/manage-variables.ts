import { sql, type Transaction } from 'kysely'
import { recordAudit } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { isReservedName } from '#model/deploy/variables.ts'
import { variableAad } from '#model/inventory/sealed-aad.ts'
import { refuseLocal } from '#model/pipelines/local-servers.ts'
import { type EnvironmentHeld, lockAround } from '#model/pipelines/lock-environment.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Tables } from '#platform/database/tables.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import { conflict, FieldErrors, type HttpProblem } from '#platform/http/problems.ts'
import { MASK } from '#platform/masking/masked.ts'
import { findVariable, type VariableRow } from './find-variables.ts'
import type { VariableBody, VariableChange } from './schemas.ts'
import type { ChangeDeps } from './touch-application.ts'

export type VariableDeps = ChangeDeps & { box: SecretBox }

export type VariableOutcome = { kind: 'done'; row: VariableRow } | HttpProblem

const MOST_VARIABLES = 500
const MOST_VALUE_BYTES = 65_536

export async function createVariable(
  trx: Transaction<Tables>,
  { actor, box }: VariableDeps,
  caller: Caller,
  applicationId: number,
  body: VariableBody,
): Promise<VariableOutcome> {
  const place = await lockAround(trx, 'applications', applicationId)
  if (!place) return { kind: 'gone' }
  const names = await loadNames(trx, applicationId)
  const refusal = (await refuseEditing(trx, caller, applicationId)) ?? checkVariable(body, names)
  if (refusal) return refusal
  if (names.length >= MOST_VARIABLES)
    return conflict(`An application can have ${MOST_VARIABLES} variables; remove one first.`)

  const id = await nextId(trx)
  const value = box.seal(body.value, variableAad(id))
  await sql`
    insert into application_variables (id, application_id, name, value, hidden) overriding system value
    values (${id}, ${applicationId}, ${body.name}, ${value}, ${body.hidden ?? false})`.execute(trx)
  const row = (await findVariable(trx, applicationId, id))!
  await audit(trx, actor, place, 'created', null, row)
  return { kind: 'done', row }
}

/** `ifMatch` is the row version that the caller last saw, when they said so. */
export async function changeVariable(
  trx: Transaction<Tables>,
  { actor, box }: VariableDeps,
  caller: Caller,
  applicationId: number,
  id: number,
  body: VariableChange,
  ifMatch?: string,
): Promise<VariableOutcome> {
  const place = await lockAround(trx, 'applications', applicationId)
  const stored = place && (await findVariable(trx, applicationId, id))
  if (!place || !stored) return { kind: 'gone' }
  if (isOutdated(ifMatch, stored.row_version)) return { kind: 'changed-meanwhile' }
  const names = (await loadNames(trx, applicationId)).filter((name) => name !== stored.name)
  const refusal = (await refuseEditing(trx, caller, applicationId)) ?? checkVariable(body, names, stored)
  if (refusal) return refusal

  const { name, hidden, value } = body
  await trx
    .updateTable('application_variables')
    .set({
      ...(name !== undefined && { name }),
      ...(hidden !== undefined && { hidden }),
      ...(value !== undefined && { value: box.seal(value, variableAad(id)) }),
      updated_at: sql<string>`now()`,
    })
    .where('id', '=', id)
    .execute()
  const row = (await findVariable(trx, applicationId, id))!
  await audit(trx, actor, place, 'changed', stored, row, value !== undefined)
  return { kind: 'done', row }
}

export async function removeVariable(
  trx: Transaction<Tables>,
  { actor }: ChangeDeps,
  caller: Caller,
  applicationId: number,
  id: number,
  ifMatch?: string,
): Promise<{ kind: 'removed' } | HttpProblem> {
  const place = await lockAround(trx, 'applications', applicationId)
  const stored = place && (await findVariable(trx, applicationId, id))
  if (!place || !stored) return { kind: 'gone' }
  if (isOutdated(ifMatch, stored.row_version)) return { kind: 'changed-meanwhile' }
  const refusal = await refuseEditing(trx, caller, applicationId)
  if (refusal) return refusal
  await trx.deleteFrom('application_variables').where('id', '=', id).execute()
  await audit(trx, actor, place, 'removed', stored, null)
  return { kind: 'removed' }
}

/** What is in the environment decides what commands do as much as their text. */
function refuseEditing(trx: Transaction<Tables>, caller: Caller, applicationId: number) {
  return refuseLocal(trx, caller, { type: 'application', id: applicationId })
}

/** `names`: those of the other variables. */
function checkVariable(
  { name, value, hidden }: VariableChange,
  names: readonly string[],
  stored?: VariableRow,
): HttpProblem | undefined {
  const faults = new FieldErrors()
  if (name !== undefined) {
    if (isReservedName(name) || isReservedName(name.toUpperCase()))
      faults.add('name', 'is kept for Gantry or the shell; applications cannot set it')
    if (names.some((other) => other.toLowerCase() === name.toLowerCase()))
      faults.add('name', 'is used by another variable (upper and lower case count as the same)')
  }
  if (Buffer.byteLength(value ?? '') > MOST_VALUE_BYTES) faults.add('value', 'must not be longer than 64 KiB')
  if (stored?.hidden && hidden === false && value === undefined)
    faults.add('value', 'is required: a hidden value is not shown again, so a visible one needs to be given')
  return faults.any ? { kind: 'invalid', errors: faults.found } : undefined
}

async function loadNames(trx: Transaction<Tables>, applicationId: number): Promise<string[]> {
  const rows = await trx
    .selectFrom('application_variables')
    .select('name')
    .where('application_id', '=', applicationId)
    .execute()
  return rows.map(({ name }) => name)
}

/** A value is sealed for its row, so the row's id is needed before the row is there. */
async function nextId(trx: Transaction<Tables>): Promise<number> {
  const { rows } = await sql<{
    id: number
  }>`select nextval(pg_get_serial_sequence('application_variables', 'id')) as id`.execute(trx)
  return rows[0]!.id
}

function audit(
  trx: Transaction<Tables>,
  actor: ChangeDeps['actor'],
  place: EnvironmentHeld,
  verb: string,
  before: VariableRow | null,
  after: VariableRow | null,
  isNewValue = false,
): Promise<void> {
  const { id, name, application_id } = (after ?? before)!
  const audited = (row: VariableRow, value: unknown) => ({
    application_id,
    name: row.name,
    hidden: row.hidden,
    value,
  })
  return recordAudit(trx, actor, {
    organizationId: place.organization_id,
    verb,
    subject: { type: 'variable', id, name },
    before: before && audited(before, MASK),
    after: after && audited(after, isNewValue ? { changed: true } : MASK),
  })
}
