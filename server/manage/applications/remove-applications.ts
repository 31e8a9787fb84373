import { sql, type Transaction } from 'kysely'
import { type Actor, recordAudits } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import {
  hooksOf,
  lockAgainstRuns,
  type Removed,
  refuseCascade,
  refuseUnfinished,
  refuseWith,
  removePipelines,
} from '#manage/pipelines/remove-pipelines.ts'
import { lockAround } from '#model/pipelines/lock-environment.ts'
import { anyOf } from '#platform/database/any-of.ts'
import type { Tables } from '#platform/database/tables.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import { type HttpProblem, listNames } from '#platform/http/problems.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import { findApplication } from './find-applications.ts'
import type { ChangeDeps } from './touch-application.ts'

/** `cascade`: with its pipelines and their hooks, and its links to servers. */
export async function removeApplication(
  trx: Transaction<Tables>,
  { actor }: ChangeDeps,
  caller: Caller,
  id: number,
  { cascade, ifMatch }: { cascade: boolean; ifMatch?: string },
): Promise<Removed> {
  const place = await lockAround(trx, 'applications', id)
  const stored = place && (await findApplication(trx, id, { lock: true }))
  if (!place || !stored) return { kind: 'gone' }
  if (isOutdated(ifMatch, stored.row_version)) return { kind: 'changed-meanwhile' }
  const pipelines = await pipelinesOf(trx, [id])
  const pipelineIds = pipelines.map((pipeline) => pipeline.id)
  await lockAgainstRuns(trx, pipelineIds)
  const hooks = await hooksOf(trx, pipelineIds)
  const refusal =
    (cascade &&
      refuseCascade(caller, place, [
        [pipelines.length, 'pipeline:remove'],
        [hooks.length, 'hook:remove'],
      ])) ||
    (await refuseUnfinished(trx, pipelineIds)) ||
    (!cascade && (await refuseDependants(trx, id, pipelines)))
  if (refusal) return refusal
  await removeApplications(trx, actor, place.organization_id, [id])
  return { kind: 'removed' }
}

/**
 * The rows stay, because runs name them; variables, which hold secrets, go, and so do links and pipelines. The
 * caller has locked and checked.
 */
export async function removeApplications(
  trx: Transaction<Tables>,
  actor: Actor,
  organizationId: number,
  ids: readonly number[],
): Promise<void> {
  const pipelines = await pipelinesOf(trx, ids)
  await removePipelines(
    trx,
    actor,
    organizationId,
    pipelines.map((pipeline) => pipeline.id),
  )
  await trx.deleteFrom('application_servers').where(anyOf('application_id', ids)).execute()
  await trx.deleteFrom('application_variables').where(anyOf('application_id', ids)).execute()
  const removed = await trx
    .updateTable('applications')
    .set({ deleted_at: sql<string>`now()`, updated_at: sql<string>`now()` })
    .where(anyOf('id', ids))
    .where('deleted_at', 'is', null)
    .returning(['id', 'name', 'repository'])
    .execute()
  await recordAudits(
    trx,
    actor,
    removed.map(({ id, name, repository }) => ({
      organizationId,
      verb: 'removed',
      subject: { type: 'application', id, name },
      before: { name, repository },
      after: null,
    })),
  )
}

function pipelinesOf(
  trx: Transaction<Tables>,
  applicationIds: readonly number[],
): Promise<{ id: number; name: string }[]> {
  return trx
    .selectFrom('pipelines')
    .select(['id', 'name'])
    .where(anyOf('application_id', applicationIds))
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .execute()
}

async function refuseDependants(
  trx: Transaction<Tables>,
  id: number,
  pipelines: readonly { name: string }[],
): Promise<HttpProblem | undefined> {
  const servers = await trx
    .selectFrom('application_servers')
    .innerJoin('servers', 'servers.id', 'application_servers.server_id')
    .select('servers.name')
    .where('application_id', '=', id)
    .orderBy('servers.id')
    .execute()
  const errors: ErrorsByField = {}
  const names = (things: readonly { name: string }[]) => things.map(({ name }) => name)
  if (pipelines.length > 0) errors.pipelines = [listNames('pipeline', names(pipelines))]
  if (servers.length > 0) errors.linked_resources = [listNames('server', names(servers))]
  return Object.keys(errors).length === 0 ? undefined : refuseWith('The application', errors)
}
