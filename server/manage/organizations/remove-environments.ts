import { sql, type Transaction } from 'kysely'
import { type Actor, type AuditedChange, recordAudits } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { can, type Permission } from '#access/authorization/permissions.ts'
import { UNFINISHED } from '#model/actions/status.ts'
import { REMOVED_HOOK } from '#model/hooks/removed-hook.ts'
import { anyOf } from '#platform/database/any-of.ts'
import type { Tables } from '#platform/database/tables.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import { describeDependents } from './dependents.ts'

export type HeldEnvironment = { id: number; name: string; project_id: number; organization_id: number }

/** The environments that are there, locked in the order of their ids: nothing is put into them meanwhile. */
export function holdEnvironments(
  trx: Transaction<Tables>,
  ids: readonly number[],
): Promise<HeldEnvironment[]> {
  return trx
    .selectFrom('environments')
    .innerJoin('projects', 'projects.id', 'environments.project_id')
    .select(['environments.id', 'environments.name', 'environments.project_id', 'projects.organization_id'])
    .where(anyOf('environments.id', ids))
    .where('environments.deleted_at', 'is', null)
    .orderBy('environments.id')
    .forNoKeyUpdate('environments')
    .execute()
}

export async function holdEnvironmentsOf(
  trx: Transaction<Tables>,
  projectId: number,
): Promise<HeldEnvironment[]> {
  const rows = await trx
    .selectFrom('environments')
    .select('id')
    .where('project_id', '=', projectId)
    .where('deleted_at', 'is', null)
    .execute()
  return holdEnvironments(
    trx,
    rows.map((row) => row.id),
  )
}

/** A run that begins at this very moment is not seen, and runs to its end: what it needs is still there. */
export async function unfinishedRuns(
  trx: Transaction<Tables>,
  environments: readonly { id: number }[],
): Promise<number> {
  const { unfinished } = await trx
    .selectFrom('pipelines')
    .innerJoin('actions', 'actions.pipeline_id', 'pipelines.id')
    .select(({ fn }) => fn.countAll<number>().as('unfinished'))
    .where(anyOf('pipelines.environment_id', idsOf(environments)))
    .where('actions.status', 'in', UNFINISHED)
    .executeTakeFirstOrThrow()
  return unfinished
}

const CONTENTS = ['applications', 'servers', 'pipelines'] as const

export async function describeContents(
  trx: Transaction<Tables>,
  environments: readonly HeldEnvironment[],
): Promise<ErrorsByField | undefined> {
  const names = (table: (typeof CONTENTS)[number]) =>
    trx
      .selectFrom(table)
      .select('name')
      .where(anyOf('environment_id', idsOf(environments)))
      .where('deleted_at', 'is', null)
      .orderBy('name')
      .execute()
  return describeDependents({ applications: await names('applications'), servers: await names('servers') })
}

/** What the caller would have to be allowed to remove as well, and is not. */
export async function lackingToRemove(
  trx: Transaction<Tables>,
  caller: Pick<Caller, 'grants'>,
  environments: readonly HeldEnvironment[],
  what: 'with-them' | 'what-is-in-them',
): Promise<Permission[]> {
  const { rows } = await sql<{
    kind: 'application' | 'server' | 'pipeline' | 'hook'
    environment_id: number
  }>`
    select distinct kind, environment_id from (
      select 'application' as kind, environment_id from applications where deleted_at is null
      union all select 'server', environment_id from servers where deleted_at is null
      union all select 'pipeline', environment_id from pipelines where deleted_at is null
      union all select 'hook', environment_id from hooks where deleted_at is null
    ) as content where environment_id = any(${idsOf(environments)}::bigint[])`.execute(trx)
  const lacking = environments.flatMap((environment) => {
    const kinds = rows.filter((row) => row.environment_id === environment.id).map((row) => row.kind)
    const needs = [...(what === 'with-them' ? ['environment' as const] : []), ...kinds]
    return needs
      .map((kind): Permission => `${kind}:remove`)
      .filter((permission) => !can(caller, permission, { ...environment, environment_id: environment.id }))
  })
  return [...new Set(lacking)].sort()
}

/**
 * Removes environments with everything in them. Rows that runs name stay, marked; what could still be used by
 * somebody goes: links, variables, and the secrets of hooks.
 */
export async function removeEnvironments(
  trx: Transaction<Tables>,
  actor: Actor,
  environments: readonly HeldEnvironment[],
): Promise<void> {
  if (environments.length === 0) return
  const ids = idsOf(environments)
  const changes: AuditedChange[] = []
  const note = (type: string, rows: { id: number | string; name: string; environment_id: number }[]) => {
    for (const { id, name, environment_id } of rows) {
      const { organization_id } = environments.find((one) => one.id === environment_id)!
      const subject = { type, id, name }
      const before = { name, environment_id }
      changes.push({ organizationId: organization_id, verb: 'removed', subject, before, after: null })
    }
  }
  note('hook', await removeHooks(trx, ids))
  await trx.deleteFrom('pipeline_run_after').where(anyOf('environment_id', ids)).execute()
  await trx.deleteFrom('application_servers').where(anyOf('environment_id', ids)).execute()
  await removeVariables(trx, ids)
  for (const table of CONTENTS) {
    const rows = await trx
      .updateTable(table)
      .set({ deleted_at: sql<string>`now()`, updated_at: sql<string>`now()` })
      .where(anyOf('environment_id', ids))
      .where('deleted_at', 'is', null)
      .returning(['id', 'name', 'environment_id'])
      .execute()
    note(table.replace(/s$/, ''), rows)
  }
  await trx.deleteFrom('grants').where(anyOf('environment_id', ids)).execute()
  await trx
    .updateTable('environments')
    .set({ deleted_at: sql<string>`now()`, updated_at: sql<string>`now()` })
    .where(anyOf('id', ids))
    .execute()
  note(
    'environment',
    environments.map((one) => ({ id: one.id, name: one.name, environment_id: one.id })),
  )
  await recordAudits(trx, actor, changes)
}

function removeHooks(trx: Transaction<Tables>, environmentIds: readonly number[]) {
  return trx
    .updateTable('hooks')
    .set(REMOVED_HOOK)
    .where(anyOf('environment_id', environmentIds))
    .where('deleted_at', 'is', null)
    .returning(['id', 'name', 'environment_id'])
    .execute()
}

async function removeVariables(trx: Transaction<Tables>, environmentIds: readonly number[]): Promise<void> {
  await trx
    .deleteFrom('application_variables')
    .where('application_id', 'in', (eb) =>
      eb.selectFrom('applications').select('id').where(anyOf('environment_id', environmentIds)),
    )
    .execute()
}

function idsOf(environments: readonly { id: number }[]): number[] {
  return environments.map(({ id }) => id)
}
