import { sql, type Transaction } from 'kysely'
import { recordAudit } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import {
  hooksOf,
  lockAgainstRuns,
  refuseCascade,
  refuseWith,
  removePipelines,
} from '#manage/pipelines/remove-pipelines.ts'
import { lockAround } from '#model/pipelines/lock-environment.ts'
import type { Tables } from '#platform/database/tables.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import { conflict, type HttpProblem, listNames } from '#platform/http/problems.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import { findServer } from './find-servers.ts'
import { audited, type ServerDeps, subjectOf } from './manage-servers.ts'

type Named = { id: number; name: string }

/** The row stays, because runs name it. `cascade`: with its own pipelines, and what is deployed there is not any more. */
export async function removeServer(
  trx: Transaction<Tables>,
  { actor }: ServerDeps,
  caller: Caller,
  id: number,
  { cascade, ifMatch }: { cascade: boolean; ifMatch?: string },
): Promise<{ kind: 'removed' } | HttpProblem> {
  const held = await lockAround(trx, 'servers', id)
  const before = held && (await findServer(trx, id, { lock: true }))
  if (!held || !before) return { kind: 'gone' }
  if (isOutdated(ifMatch, before.row_version)) return { kind: 'changed-meanwhile' }
  const applications = await applicationsOn(trx, id)
  const pipelines = await pipelinesOf(trx, id)
  const pipelineIds = pipelines.map((pipeline) => pipeline.id)
  const hooks = await hooksOf(trx, pipelineIds)
  const refusal = cascade
    ? refuseCascade(caller, held, [
        [pipelines.length, 'pipeline:remove'],
        [hooks.length, 'hook:remove'],
      ])
    : refuseDependants(applications, pipelines)
  if (refusal) return refusal
  await lockAgainstRuns(trx, [...pipelineIds, ...(await pipelinesThatDeployTo(trx, id))])
  const unfinished = await refuseUnfinished(trx, held.environment_id, id)
  if (unfinished) return unfinished
  await removePipelines(trx, actor, held.organization_id, pipelineIds)
  await trx.deleteFrom('application_servers').where('server_id', '=', id).execute()
  await trx
    .updateTable('servers')
    .set({ deleted_at: sql<string>`now()`, updated_at: sql<string>`now()` })
    .where('id', '=', id)
    .execute()
  await recordAudit(trx, actor, {
    organizationId: held.organization_id,
    verb: 'removed',
    subject: subjectOf(before),
    before: audited(before),
    after: null,
  })
  return { kind: 'removed' }
}

function applicationsOn(trx: Transaction<Tables>, serverId: number): Promise<Named[]> {
  return trx
    .selectFrom('application_servers')
    .innerJoin('applications', 'applications.id', 'application_servers.application_id')
    .select(['applications.id', 'applications.name'])
    .where('application_servers.server_id', '=', serverId)
    .orderBy('applications.name')
    .execute()
}

function pipelinesOf(trx: Transaction<Tables>, serverId: number): Promise<Named[]> {
  return trx
    .selectFrom('pipelines')
    .select(['id', 'name'])
    .where('server_id', '=', serverId)
    .where('deleted_at', 'is', null)
    .orderBy('name')
    .execute()
}

async function pipelinesThatDeployTo(trx: Transaction<Tables>, serverId: number): Promise<number[]> {
  const rows = await trx
    .selectFrom('pipelines')
    .innerJoin('application_servers', 'application_servers.application_id', 'pipelines.application_id')
    .select('pipelines.id')
    .where('application_servers.server_id', '=', serverId)
    .execute()
  return rows.map((row) => row.id)
}

function refuseDependants(
  applications: readonly Named[],
  pipelines: readonly Named[],
): HttpProblem | undefined {
  const names = (things: readonly Named[]) => things.map(({ name }) => name)
  const errors: ErrorsByField = {}
  if (applications.length > 0) errors.applications = [listNames('application', names(applications))]
  if (pipelines.length > 0) errors.pipelines = [listNames('pipeline', names(pipelines))]
  return Object.keys(errors).length === 0 ? undefined : refuseWith('The server', errors)
}

/** By way of the actions: only those that have not ended are few, and found by an index. */
async function refuseUnfinished(
  trx: Transaction<Tables>,
  environmentId: number,
  serverId: number,
): Promise<HttpProblem | undefined> {
  const { rows } = await sql<{ unfinished: number }>`
    select count(*) as unfinished
    from pipelines p
    join actions a on a.pipeline_id = p.id and a.status in ('pending', 'waiting', 'queued', 'in-progress')
    join targets t on t.action_id = a.id and t.server_id = ${serverId}
    where p.environment_id = ${environmentId}`.execute(trx)
  const { unfinished } = rows[0]!
  if (unfinished === 0) return undefined
  const runs = unfinished === 1 ? '1 run is' : `${unfinished} runs are`
  return conflict(`${runs} not finished on this server: wait, or cancel first.`, {
    actions: [`${runs} not finished`],
  })
}
