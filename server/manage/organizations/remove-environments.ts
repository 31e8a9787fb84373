import { sql } from 'kysely'
import { type Actor, type AuditedChange, recordAudits } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { can, type Permission } from '#access/authorization/permissions.ts'
import { UNFINISHED } from '#model/actions/status.ts'
import { REMOVED_HOOK } from '#model/hooks/present-hook.ts'
import { removeGrants } from '#model/inventory/remove-grants.ts'
import { anyOf } from '#platform/database/any-of.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { NOW } from '#platform/database/rows.ts'
import { conflict, type HttpProblem } from '#platform/http/problems.ts'

export type LockedEnvironment = { id: number; name: string; project_id: number; organization_id: number }

/** One, or those of a project, in the order of their ids: nothing is added to them meanwhile. */
export function lockEnvironments(trx: Transaction, column: 'id' | 'project_id', id: number) {
  return trx
    .selectFrom('environments')
    .innerJoin('projects', 'projects.id', 'environments.project_id')
    .select(['environments.id', 'environments.name', 'environments.project_id', 'projects.organization_id'])
    .where(`environments.${column}`, '=', id)
    .where('environments.deleted_at', 'is', null)
    .orderBy('environments.id')
    .forNoKeyUpdate('environments')
    .execute()
}

/**
 * A cascade removes only what the caller could remove one by one, and nothing while a run is unfinished. `besides`: what
 * is removed besides the contents of the environments.
 */
export async function checkRemoval(
  trx: Transaction,
  caller: Pick<Caller, 'grants'>,
  environments: readonly LockedEnvironment[],
  besides: readonly 'environment'[] = [],
): Promise<HttpProblem | undefined> {
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
  const missing = environments.flatMap((environment) => {
    const kinds = rows.filter((row) => row.environment_id === environment.id).map((row) => row.kind)
    return [...besides, ...kinds]
      .map((kind): Permission => `${kind}:remove`)
      .filter((permission) => !can(caller, permission, { ...environment, environment_id: environment.id }))
  })
  if (missing.length === 0) return checkUnfinished(trx, environments)
  const permissions = [...new Set(missing)].sort().join(' and ')
  return { kind: 'forbidden', reason: `You need the permission ${permissions} for what is removed with it.` }
}

/** A run that starts at the same moment is not counted, and completes: what it needs is still there. */
export async function checkUnfinished(trx: Transaction, environments: readonly { id: number }[]) {
  const { unfinished } = await trx
    .selectFrom('pipelines')
    .innerJoin('actions', 'actions.pipeline_id', 'pipelines.id')
    .select(({ fn }) => fn.countAll<number>().as('unfinished'))
    .where(anyOf('pipelines.environment_id', idsOf(environments)))
    .where('actions.status', 'in', UNFINISHED)
    .executeTakeFirstOrThrow()
  if (unfinished === 0) return undefined
  return conflict(
    `${unfinished === 1 ? '1 run is' : `${unfinished} runs are`} not finished: wait, or cancel first.`,
  )
}

/**
 * Removes environments with everything in them. Rows that runs refer to are kept, marked as deleted; what could still
 * be used is deleted: links, variables, and the secrets of hooks.
 */
export async function removeEnvironments(
  trx: Transaction,
  actor: Actor,
  environments: readonly LockedEnvironment[],
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
  note(
    'hook',
    await trx
      .updateTable('hooks')
      .set(REMOVED_HOOK)
      .where(anyOf('environment_id', ids))
      .where('deleted_at', 'is', null)
      .returning(['id', 'name', 'environment_id'])
      .execute(),
  )
  await trx.deleteFrom('pipeline_run_after').where(anyOf('environment_id', ids)).execute()
  await trx.deleteFrom('application_servers').where(anyOf('environment_id', ids)).execute()
  await trx
    .deleteFrom('application_variables')
    .where('application_id', 'in', (eb) =>
      eb.selectFrom('applications').select('id').where(anyOf('environment_id', ids)),
    )
    .execute()
  for (const table of ['applications', 'servers', 'pipelines'] as const) {
    const rows = await trx
      .updateTable(table)
      .set({ deleted_at: NOW, updated_at: NOW })
      .where(anyOf('environment_id', ids))
      .where('deleted_at', 'is', null)
      .returning(['id', 'name', 'environment_id'])
      .execute()
    note(table.replace(/s$/, ''), rows)
  }
  await removeGrants(trx, 'environment_id', ids)
  await trx
    .updateTable('environments')
    .set({ deleted_at: NOW, updated_at: NOW })
    .where(anyOf('id', ids))
    .execute()
  note(
    'environment',
    environments.map((one) => ({ id: one.id, name: one.name, environment_id: one.id })),
  )
  await recordAudits(trx, actor, changes)
}

function idsOf(environments: readonly { id: number }[]): number[] {
  return environments.map(({ id }) => id)
}
