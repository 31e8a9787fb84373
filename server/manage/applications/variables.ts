import { auditorOf, type Change, type Creation, type Removal } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { isReservedName } from '#model/deploy/variables.ts'
import { checkLocalAccess } from '#model/inventory/local-servers.ts'
import { variableAad } from '#model/inventory/sealed-aad.ts'
import { lockEnvironmentOf, lockForChange } from '#model/pipelines/lock-environment.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { insertRow, rowVersion, updateRow } from '#platform/database/rows.ts'
import type { Page } from '#platform/http/pagination.ts'
import { conflict, FieldErrors, GONE, type HttpProblem } from '#platform/http/problems.ts'
import { readPage } from '#platform/http/read-page.ts'
import { MASK } from '#platform/masking/masked.ts'
import type { ApplicationVariable, VariableBody, VariableChange } from './schemas.ts'

// The variables of an application: its commands get them as environment variables.

export type VariableRow = NonNullable<Awaited<ReturnType<typeof findVariable>>>
type Sealing = { box: SecretBox }

const MAX_VARIABLES = 500
const MAX_VALUE_BYTES = 65_536
/** Shorter values occur in logs by chance: masking them would reveal them, and hide everything else. */
const MIN_HIDDEN_LENGTH = 6

function selectVariables(db: Database, applicationId: number) {
  return db
    .selectFrom('application_variables')
    .selectAll()
    .select(rowVersion('application_variables'))
    .where('application_id', '=', applicationId)
}

export function findVariable(db: Database, applicationId: number, id: number) {
  return selectVariables(db, applicationId).where('id', '=', id).executeTakeFirst()
}

/** The variables of an application, newest first. */
export function listVariables(db: Database, applicationId: number, name: string | undefined, page: Page) {
  return readPage(selectVariables(db, applicationId), 'application_variables', page, name)
}

/** Values that are not hidden are often secret all the same: only callers who may edit them can read them. */
export function presentVariable(
  { id, name, value, hidden, created_at, updated_at }: VariableRow,
  { box, mayEdit }: { box: SecretBox; mayEdit: boolean },
): ApplicationVariable {
  const shown = mayEdit && !hidden ? box.open(value, variableAad(id)) : MASK
  return { id, name, value: shown, hidden, created_at, updated_at }
}

export async function createVariable(trx: Transaction, request: Creation<VariableBody> & Sealing) {
  const { parentId: applicationId, body: input, caller, box } = request
  const scope = await lockEnvironmentOf(trx, 'applications', applicationId)
  if (!scope) return GONE
  const names = await loadNames(trx, applicationId)
  const problem = (await checkAccess(trx, caller, applicationId)) ?? checkVariable(box, input, names)
  if (problem) return problem
  if (names.length >= MAX_VARIABLES)
    return conflict(`An application can have ${MAX_VARIABLES} variables; remove one first.`)

  const { name, hidden = false } = input
  const columns = { application_id: applicationId, name, hidden, value: NOT_SEALED_YET }
  const id = await insertRow(trx, 'application_variables', columns)
  await updateRow(trx, 'application_variables', id, { value: box.seal(input.value, variableAad(id)) })
  return auditVariable.saved(
    trx,
    request,
    scope.organization_id,
    null,
    await findVariable(trx, applicationId, id),
  )
}

export async function changeVariable(trx: Transaction, request: Change<VariableChange> & Sealing) {
  const { parentId: applicationId, id, body: input, caller, box } = request
  const held = await lockVariable(trx, request)
  if (held.kind !== 'locked') return held
  const { scope, row: before } = held
  const names = (await loadNames(trx, applicationId)).filter((name) => name !== before.name)
  const problem = (await checkAccess(trx, caller, applicationId)) ?? checkVariable(box, input, names, before)
  if (problem) return problem

  const { name, hidden, value } = input
  const sealed = value === undefined ? undefined : box.seal(value, variableAad(id))
  await updateRow(trx, 'application_variables', id, { name, hidden, value: sealed })
  const row = { ...(await findVariable(trx, applicationId, id))!, isNewValue: value !== undefined }
  return auditVariable.saved(trx, request, scope.organization_id, before, row)
}

export async function removeVariable(trx: Transaction, request: Removal) {
  const { parentId: applicationId, id, caller } = request
  const held = await lockVariable(trx, request)
  if (held.kind !== 'locked') return held
  const problem = await checkAccess(trx, caller, applicationId)
  if (problem) return problem
  await trx.deleteFrom('application_variables').where('id', '=', id).execute()
  return auditVariable.removed(trx, request, held.scope.organization_id, held.row)
}

const auditVariable = auditorOf<VariableRow & { isNewValue?: boolean }>('variable', (row) => {
  const { application_id, name, hidden, isNewValue } = row
  return { application_id, name, hidden, value: isNewValue ? { changed: true } : MASK }
})

function lockVariable(
  trx: Transaction,
  { parentId, id, ifMatch }: Pick<Removal, 'parentId' | 'id' | 'ifMatch'>,
) {
  return lockForChange(trx, 'applications', parentId, () => findVariable(trx, parentId, id), ifMatch)
}

/** The environment decides what commands do as much as their text does. */
function checkAccess(trx: Transaction, caller: Caller, applicationId: number) {
  return checkLocalAccess(trx, caller, { type: 'application', id: applicationId })
}

/** `names`: those of the other variables. */
function checkVariable(
  box: SecretBox,
  input: VariableChange,
  names: readonly string[],
  stored?: VariableRow,
): HttpProblem | undefined {
  const { name, value, hidden } = input
  const errors = new FieldErrors()
  if (name !== undefined) {
    if (isReservedName(name) || isReservedName(name.toUpperCase()))
      errors.add('name', 'is reserved for Gantry or the shell')
    if (names.some((other) => other.toLowerCase() === name.toLowerCase()))
      errors.add('name', 'is taken by another variable (names are case-insensitive)')
  }
  if (Buffer.byteLength(value ?? '') > MAX_VALUE_BYTES) errors.add('value', 'must not be longer than 64 KiB')
  if (stored?.hidden && hidden === false && value === undefined)
    errors.add('value', 'is required: the hidden value stays secret, so a visible variable needs a new one')
  if (isTooShort(hiddenBy(box, input, stored)))
    errors.add(
      value === undefined ? 'hidden' : 'value',
      `a hidden value must have at least ${MIN_HIDDEN_LENGTH} characters between white space: shorter ones cannot be masked in logs`,
    )
  return errors.problem
}

/** The value that a change hides; undefined for none, and for a value that is hidden already and stays. */
function hiddenBy(box: SecretBox, { value, hidden }: VariableChange, stored?: VariableRow) {
  if (!(hidden ?? stored?.hidden)) return undefined
  return value ?? (stored && !stored.hidden ? box.open(stored.value, variableAad(stored.id)) : undefined)
}

function isTooShort(value: string | undefined): boolean {
  return value !== undefined && [...value.trim()].length < MIN_HIDDEN_LENGTH
}

async function loadNames(trx: Transaction, applicationId: number): Promise<string[]> {
  const rows = await selectVariables(trx, applicationId).clearSelect().select('name').execute()
  return rows.map(({ name }) => name)
}

/** A value is sealed for its row, so the row comes first. */
const NOT_SEALED_YET = Buffer.alloc(0)
