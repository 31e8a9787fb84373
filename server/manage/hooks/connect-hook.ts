// Connecting a hook to its repository: who may, and which hooks can be. The webhook itself is a worker's (engine/connecting).

import type { Change, Removal, Requester } from '#access/audit/record.ts'
import { recordAudit } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { can } from '#access/authorization/permissions.ts'
import { type HookSignature, signatureMisfit } from '#model/connections/fit.ts'
import { HOSTS, isHostProvider } from '#model/connections/hosts.ts'
import { type HostedRepository, locateRepository } from '#model/connections/locate-repository.ts'
import type { ConnectBody } from '#model/connections/schema.ts'
import { removeConnection, requestCheck, storeConnection } from '#model/connections/stored-connections.ts'
import type { HookRow } from '#model/hooks/present-hook.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { findRow } from '#platform/database/rows.ts'
import { conflict, GONE, type HttpProblem, invalidAt, REMOVED } from '#platform/http/problems.ts'
import { findHook } from './read-hooks.ts'

type Prepared = {
  kind: 'connectable'
  repository: HostedRepository
  credentialId: number
  organizationId: number
  events: readonly string[]
}

/** The repository that the hook can be connected to, or why it cannot be. */
export async function prepareConnection(
  trx: Transaction,
  caller: Caller,
  pipelineId: number,
  hook: HookSignature,
  events: readonly string[] | undefined,
): Promise<Prepared | { kind: 'unfit'; problem: string } | HttpProblem> {
  const row = await trx
    .selectFrom('pipelines')
    .innerJoin('environments', 'environments.id', 'pipelines.environment_id')
    .innerJoin('projects', 'projects.id', 'environments.project_id')
    .leftJoin('applications', 'applications.id', 'pipelines.application_id')
    .leftJoin('credentials', (join) =>
      join
        .onRef('credentials.id', '=', 'applications.credential_id')
        .on('credentials.deleted_at', 'is', null)
        .on('credentials.active', '=', true),
    )
    .select([
      'projects.organization_id',
      'applications.repository',
      'pipelines.wait_for_checks',
      'credentials.id',
      'credentials.provider_code',
      'credentials.base_url',
      'credentials.auth_type',
    ])
    .where('pipelines.id', '=', pipelineId)
    .executeTakeFirstOrThrow()
  const { id, provider_code, base_url: baseUrl, auth_type, organization_id: organizationId } = row
  const credential =
    provider_code === null ? null : { provider: provider_code, baseUrl, hasToken: auth_type === 'token' }
  const repository = locateRepository(row.repository, credential)
  if ('problem' in repository) return { kind: 'unfit', problem: repository.problem }
  const misfit = signatureMisfit(repository.provider, hook)
  if (misfit !== undefined) return { kind: 'unfit', problem: misfit }
  if (!can(caller, 'credential:run', { organization_id: organizationId }))
    return {
      kind: 'forbidden',
      reason:
        "Connecting uses the token of the application's credential, which requires the permission credential:run.",
    }
  const { name, isEvent, defaultEvents, checksEvents } = HOSTS[repository.provider]
  const unknown = events?.find((event) => !isEvent(event))
  if (unknown !== undefined)
    return invalidAt('events', `${name} has no event ${unknown}; name it as the API of ${name} does`)
  return {
    kind: 'connectable',
    repository,
    credentialId: id!,
    organizationId,
    events: [...new Set([...(events ?? defaultEvents), ...(row.wait_for_checks ? checksEvents : [])])],
  }
}

/** Stores the connection and its audit entry. */
export async function connect(
  trx: Transaction,
  { caller, actor }: Requester,
  hook: { id: string; name: string },
  { repository, credentialId, events, organizationId }: Prepared,
): Promise<void> {
  await storeConnection(trx, { hookId: hook.id, userId: caller.id, credentialId, repository, events })
  await recordAudit(trx, actor, {
    organizationId,
    verb: 'connected',
    subject: { type: 'incoming_hook', ...hook },
    before: null,
    after: { provider: repository.provider, repository: repository.path, events },
  })
}

export async function disconnect(
  trx: Transaction,
  { caller, actor }: Requester,
  hook: Pick<HookRow, 'id' | 'name' | 'project_id'>,
): Promise<boolean> {
  const { id, name, project_id } = hook
  const connection = await findConnection(trx, id)
  if (!connection) return false
  const { organization_id } = (await findRow(trx, 'projects', { id: project_id }, ['organization_id']))!
  // Otherwise the host is asked on behalf of the person who connected it.
  const actsForCaller = can(caller, 'credential:run', { organization_id })
  await removeConnection(trx, id, actsForCaller ? caller.id : null)
  await recordAudit(trx, actor, {
    organizationId: organization_id,
    verb: 'disconnected',
    subject: { type: 'incoming_hook', id, name },
    before: connection,
    after: null,
  })
  return true
}

/** `POST …/connection`: connects, or repairs. */
export async function connectHook(
  trx: Transaction,
  { id, body = {}, ...by }: Change<ConnectBody | undefined, string>,
) {
  const row = await findHook(trx, 'incoming', id, { lock: true })
  if (!row) return GONE
  if ('poll' in row.settings)
    return invalidAt(
      'settings.poll',
      'cannot be combined with a connection. Remove it before you connect the hook',
    )
  const stored = await findConnection(trx, id)
  const events = body?.events ?? stored?.events
  const prepared = await prepareConnection(trx, by.caller, row.pipeline_id, signatureOf(row), events)
  if (prepared.kind === 'unfit') return conflict(prepared.problem)
  if (prepared.kind !== 'connectable') return prepared
  await connect(trx, by, { id, name: row.name }, prepared)
  return { kind: 'done' as const, row }
}

const NOT_CONNECTED = conflict('The hook is not connected to its repository.')

export async function checkConnection(trx: Transaction, { id }: Change<unknown, string>) {
  const row = await findHook(trx, 'incoming', id)
  if (!row) return GONE
  return (await requestCheck(trx, id)) ? { kind: 'done' as const, row } : NOT_CONNECTED
}

export async function disconnectHook(trx: Transaction, { id, ...by }: Removal<string>) {
  const row = await findHook(trx, 'incoming', id, { lock: true })
  if (!row) return GONE
  return (await disconnect(trx, by, row)) ? REMOVED : NOT_CONNECTED
}

/** Why a connected hook cannot be changed to expect these signatures; undefined when it can. */
export async function checkConnected(
  trx: Transaction,
  hookId: string,
  signature: HookSignature,
): Promise<HttpProblem | undefined> {
  const connection = await findConnection(trx, hookId)
  if (!connection || !isHostProvider(connection.provider)) return undefined
  const misfit = signatureMisfit(connection.provider, signature)
  const field = signature.requires_secret ? 'secret_header_name' : 'requires_secret'
  return misfit === undefined
    ? undefined
    : invalidAt(field, `does not fit the connected repository. ${misfit} Disconnect it first.`)
}

export function findConnection(trx: Transaction, hookId: string) {
  return findRow(trx, 'hook_connections', { hook_id: hookId }, ['provider', 'repository', 'events'])
}

export function signatureOf(
  row: Pick<HookRow, 'requires_secret' | 'secret_algorithm' | 'secret_header_name'> & { settings: unknown },
): HookSignature {
  const { requires_secret, secret_algorithm, secret_header_name } = row
  const { signature } = row.settings as { signature?: { scheme?: string } }
  return { requires_secret, secret_algorithm, secret_header_name, scheme: signature?.scheme ?? 'body' }
}
