import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import { auditorOf, type Change, type Creation, type Removal } from '#access/audit/record.ts'
import { lockScheduling } from '#model/actions/lock-scheduling.ts'
import { type FreezeTimes, isEmptyWeek, isTimeZone, windowAt } from '#model/gates/freeze-windows.ts'
import { lockEnvironmentScope, lockOrganization } from '#model/inventory/lock-scope.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { insertRow, rowVersion, updateRow } from '#platform/database/rows.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import type { Page } from '#platform/http/pagination.ts'
import { CHANGED_MEANWHILE, FieldErrors, GONE, type HttpProblem } from '#platform/http/problems.ts'
import { readPage } from '#platform/http/read-page.ts'
import { pickFields } from '#platform/http/schemas.ts'
import { type FreezeBody, type FreezeChange, type FreezeRecord, freezeSchema } from './schemas.ts'

const audit = auditorOf<FreezeRow>('freeze', [
  ...(['name', 'reason', 'environment_id', 'starts_at', 'ends_at', 'weekly', 'time_zone'] as const),
  'when_over',
])

type Scope = { organization_id: number; environment_id: number | null }

export function createEnvironmentFreeze(trx: Transaction, request: Creation<FreezeBody>) {
  return createFreeze(trx, request, () => lockEnvironmentScope(trx, request.parentId))
}

export function createOrganizationFreeze(trx: Transaction, request: Creation<FreezeBody>) {
  return createFreeze(trx, request, async () => {
    const scope = await lockOrganization(trx, request.parentId)
    return scope && { ...scope, environment_id: null }
  })
}

async function createFreeze(
  trx: Transaction,
  request: Creation<FreezeBody>,
  lockScope: () => Promise<Scope | undefined>,
) {
  const { body, actor } = request
  const times = timesOf(body, NO_TIMES)
  const problem = checkTimes(times)
  if (problem) return problem
  const scope = await lockScope()
  if (!scope) return GONE
  const { organization_id, environment_id } = scope
  await lockCovered(trx, { organization_id, environment_id })
  const { name, reason, when_over } = body
  const columns = { organization_id, environment_id, name, reason, when_over, created_by: actor.userId! }
  const id = await insertRow(trx, 'freezes', { ...columns, ...columnsOf(times) })
  return audit.saved(trx, request, organization_id, null, await findFreeze(trx, id))
}

export async function changeFreeze(trx: Transaction, request: Change<FreezeChange>) {
  const { id, ifMatch, body } = request
  const before = await lockFreeze(trx, id)
  if (!before) return GONE
  if (isOutdated(ifMatch, before.row_version)) return CHANGED_MEANWHILE
  const { name = before.name, reason = before.reason, when_over = before.when_over } = body
  const columns = { name, reason, when_over, ...timesOf(body, before) }
  const problem = checkTimes(columns)
  if (problem) return problem
  if (isDeepStrictEqual({ ...before, ...columns }, before)) return { kind: 'done' as const, row: before }
  await updateRow(trx, 'freezes', id, { name, reason, when_over, ...columnsOf(columns) })
  return audit.saved(trx, request, before.organization_id, before, await findFreeze(trx, id))
}

export async function removeFreeze(trx: Transaction, request: Removal) {
  const { id, ifMatch } = request
  const row = await lockFreeze(trx, id)
  if (!row) return GONE
  if (isOutdated(ifMatch, row.row_version)) return CHANGED_MEANWHILE
  await trx.deleteFrom('freezes').where('id', '=', id).execute()
  return audit.removed(trx, request, row.organization_id, row)
}

/** Those of the environment, and those of its organization. */
export function listOfEnvironment(db: Database, scope: Scope, name: string | undefined, page: Page) {
  const covering = selectFreezes(db)
    .where('organization_id', '=', scope.organization_id)
    .where((eb) => eb.or([eb('environment_id', '=', scope.environment_id), eb('environment_id', 'is', null)]))
  return readPage(covering, 'freezes', page, name)
}

/** Those of the organization as a whole. */
export function listOfOrganization(db: Database, id: number, name: string | undefined, page: Page) {
  const query = selectFreezes(db).where('organization_id', '=', id).where('environment_id', 'is', null)
  return readPage(query, 'freezes', page, name)
}

export type FreezeRow = Awaited<ReturnType<ReturnType<typeof selectFreezes>['execute']>>[number]

export function findFreeze(db: Database, id: number): Promise<FreezeRow | undefined> {
  return selectFreezes(db).where('id', '=', id).executeTakeFirst()
}

function selectFreezes(db: Database) {
  return db
    .selectFrom('freezes')
    .selectAll()
    .select([rowVersion('freezes'), sql<string>`clock_timestamp()::timestamptz(3)`.as('now')])
}

export function presentFreeze(row: FreezeRow): FreezeRecord {
  const window = windowAt(row as FreezeTimes, Date.parse(row.now))
  const until = window?.until ?? null
  return pickFields(freezeSchema, {
    ...row,
    in_force: window !== null,
    in_force_until: until === null ? null : new Date(until).toISOString(),
  })
}

/** Until the transaction ends, nothing that it covers starts, or is released. */
async function lockCovered(trx: Transaction, { organization_id, environment_id }: Scope): Promise<void> {
  const environments = trx
    .selectFrom('environments')
    .innerJoin('projects', 'projects.id', 'environments.project_id')
    .select('environments.id')
    .where('projects.organization_id', '=', organization_id)
    .where('environments.deleted_at', 'is', null)
  const ids = environment_id === null ? (await environments.execute()).map(({ id }) => id) : [environment_id]
  await lockScheduling(trx, ids)
}

/** Covers what it did before, and what it will. */
async function lockFreeze(trx: Transaction, id: number): Promise<FreezeRow | undefined> {
  const locked = await trx
    .selectFrom('freezes')
    .selectAll()
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
  if (!locked) return undefined
  await lockCovered(trx, locked)
  return findFreeze(trx, id)
}

type Times = Pick<FreezeRow, 'starts_at' | 'ends_at' | 'weekly' | 'time_zone'>

const NO_TIMES: Times = { starts_at: null, ends_at: null, weekly: null, time_zone: null }

/** One that becomes weekly forgets its dates, and the other way around. */
function timesOf(body: FreezeChange, before: Times): Times {
  const given = Object.fromEntries(
    Object.keys(NO_TIMES).flatMap((field) => {
      const value = body[field as keyof Times]
      return value === undefined ? [] : [[field, value]]
    }),
  ) as Partial<Times>
  const becomesWeekly = given.weekly != null && before.weekly === null
  const becomesOnce = given.starts_at != null && before.weekly !== null
  const base = becomesWeekly || becomesOnce ? NO_TIMES : before
  return { ...pickTimes(base), ...given }
}

function pickTimes({ starts_at, ends_at, weekly, time_zone }: Times): Times {
  return { starts_at, ends_at, weekly, time_zone }
}

const YEAR_10000 = Date.UTC(10_000, 0)

function checkTimes({ starts_at, ends_at, weekly, time_zone }: Times): HttpProblem | undefined {
  const errors = new FieldErrors()
  if (weekly === null) {
    if (starts_at === null) errors.add('starts_at', 'is required without weekly')
    if (time_zone !== null) errors.add('time_zone', 'needs weekly')
  } else {
    if (starts_at !== null) errors.add('starts_at', 'cannot be combined with weekly')
    if (ends_at !== null) errors.add('ends_at', 'cannot be combined with weekly')
    if (time_zone === null) errors.add('time_zone', 'is required with weekly')
    else if (!isTimeZone(time_zone))
      errors.add('time_zone', 'is not a known time zone; give a name such as Europe/Berlin')
    if (isEmptyWeek(weekly)) errors.add('weekly.to', 'must differ from weekly.from')
  }
  for (const [field, time] of Object.entries({ starts_at, ends_at }))
    if (time !== null && !(Date.parse(time) >= 0 && Date.parse(time) < YEAR_10000))
      errors.add(field, 'must be a time between the years 1970 and 9999')
  if (!errors.any && starts_at !== null && ends_at !== null && Date.parse(ends_at) <= Date.parse(starts_at))
    errors.add('ends_at', 'must be later than starts_at')
  return errors.problem
}

function columnsOf({ starts_at, ends_at, weekly, time_zone }: Times) {
  const time = (text: string | null) => text && new Date(text)
  return {
    starts_at: time(starts_at),
    ends_at: time(ends_at),
    weekly: weekly && JSON.stringify(weekly),
    time_zone,
  }
}
