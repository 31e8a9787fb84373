import { sql } from 'kysely'
import type { Actor, Change } from '#access/audit/record.ts'
import { can, type Scope } from '#access/authorization/permissions.ts'
import { asSentence, type ConnectOptions } from '#adapters/executors/connect.ts'
import type { Executor } from '#adapters/executors/executor.ts'
import { fingerprint, parseHostKey } from '#adapters/executors/host-key.ts'
import { baseFolder } from '#model/deploy/layout.ts'
import { findFinished, noteDetaching } from '#model/detached/finished-steps.ts'
import { checkLive } from '#model/live/check-live.ts'
import { readLiveWorkers } from '#model/workers/live-workers.ts'
import type { Database } from '#platform/database/connect.ts'
import { updateRow } from '#platform/database/rows.ts'
import type { HttpProblem } from '#platform/http/problems.ts'
import { auditServer } from './manage-servers.ts'
import { type ProbeResult, probeServer } from './probe-server.ts'
import { findServer, type ServerRow } from './read-servers.ts'
import type { ServerCheck, ServerCheckBody } from './schemas.ts'
import { type ReachDeps, TOO_SLOW, withServer } from './with-server.ts'

export type ServerCheckDeps = ReachDeps & { timeouts?: Timeouts }

export type Timeouts = { connectMs: number; probeMs: number; totalMs: number }

type Contact = {
  result: ProbeResult
  /** The key that the host presented, whether or not it is the right one. */
  shownKey: string | null
  /** The same, once the host has proved that it owns the key and has accepted our login. */
  provenKey: string | null
  /** Whether steps can be detached from the connection, or why not; null when unknown. */
  detaching: { reason: string | null } | null
}

/** The API promises a response within 15 seconds. */
const TIMEOUTS: Timeouts = { connectMs: 8_000, probeMs: 5_000, totalMs: 13_500 }

/** Connects to a server as a run does, and reports what it found. Pins the host key only on request. */
export async function runServerCheck(
  deps: ServerCheckDeps,
  { caller, actor, scope, id, body }: Change<ServerCheckBody> & { scope: Scope },
): Promise<{ kind: 'tried'; check: ServerCheck } | HttpProblem> {
  if (body.pin_host_key && !can(caller, 'server:edit', scope)) {
    return { kind: 'forbidden', reason: 'You need the permission server:edit to pin a host key.' }
  }
  const server = await findServer(deps.db, id)
  if (!server) return { kind: 'gone' }
  const contact = await contactServer(deps, server)
  const { provenKey } = contact
  const isPinnedNow =
    body.pin_host_key === true &&
    provenKey !== null &&
    (await pinHostKey(deps.db, actor, scope.organization_id, server, provenKey))
  const pinned = isPinnedNow || server.host_key !== null
  return { kind: 'tried', check: describe(server, contact, pinned, await databaseTime(deps.db)) }
}

async function contactServer(deps: ServerCheckDeps, server: ServerRow): Promise<Contact> {
  const { probeMs, ...limits } = deps.timeouts ?? TIMEOUTS
  const contact: Contact = { result: TOO_SLOW, shownKey: null, provenKey: null, detaching: null }
  const hostKeys: Pick<ConnectOptions, 'onShownHostKey' | 'onNewHostKey'> = {
    onShownHostKey: (hostKey) => {
      contact.shownKey = hostKey
    },
    onNewHostKey: async (hostKey) => {
      contact.provenKey = hostKey
    },
  }
  contact.result = await withServer(deps, server, { ...limits, ...hostKeys }, async (executor, signal) => {
    const within = { timeoutMs: probeMs, signal }
    const result = await probeServer(executor, server.root_directory, within)
    // What it finds is stored; the check itself does not fail because of it.
    if (result.kind !== 'probed') return result
    contact.detaching = await checkDetaching(deps.db, executor, server.id).catch(() => null)
    await checkApplications(deps, executor, server, within).catch(() => {})
    return result
  })
  return contact
}

/** Whether steps of the login account survive their connection; removes what earlier ones have left. */
async function checkDetaching(
  db: Database,
  executor: Executor,
  serverId: number,
): Promise<{ reason: string | null } | null> {
  const { installation } = await db.selectFrom('key_check').select('installation').executeTakeFirstOrThrow()
  const opened = await executor.openDetached?.({ runAsUser: null, owner: `${installation}-${serverId}` })
  if (opened?.kind !== 'detached' && opened?.kind !== 'unavailable') return null
  const reason = opened.kind === 'unavailable' ? asSentence(opened.reason) : null
  await noteDetaching(db, serverId, reason)
  if (opened.kind === 'detached') await opened.sweep((tokens) => findFinished(db, tokens))
  return { reason }
}

/** Of every application that is linked to the server, in the time that is left. */
async function checkApplications(
  { db, workerName }: ServerCheckDeps,
  executor: Executor,
  server: ServerRow,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<void> {
  if (!(await isThisMachine(db, server, workerName))) return
  const { id: serverId, root_directory } = server
  const { rows } = await sql<{ applicationId: number; folder: string }>`
    select app.id as "applicationId", app.folder from application_servers link
    join applications app on app.id = link.application_id and app.deleted_at is null
    where link.server_id = ${serverId} order by app.id`.execute(db)
  for (const { applicationId, folder } of rows) {
    if (signal.aborted) return
    const base = baseFolder(root_directory, folder)
    await checkLive(db, executor, { applicationId, serverId, base }, signal, timeoutMs)
  }
}

/**
 * Of a local server: what is on this disk is what it serves only if its workers are here. Without a worker of its own it is
 * the machine of all that are online.
 */
async function isThisMachine(
  db: Database,
  { provider_code, worker_name }: ServerRow,
  workerName: string | undefined,
): Promise<boolean> {
  if (provider_code !== 'local' || workerName === undefined) return true
  if (worker_name !== null) return worker_name === workerName
  const workers = await readLiveWorkers(db)
  return workers.length > 0 && workers.every(({ name }) => name === null || name === workerName)
}

/** Only if no key is pinned yet, and the server still has the address that presented this one. */
function pinHostKey(db: Database, actor: Actor, organizationId: number, seen: ServerRow, hostKey: string) {
  return db.transaction().execute(async (trx) => {
    const server = await findServer(trx, seen.id, { lock: true })
    if (!server || server.host !== seen.host || server.port !== seen.port) return false
    if (server.host_key !== null) return server.host_key === hostKey
    await updateRow(trx, 'servers', seen.id, { host_key: hostKey })
    await auditServer.saved(trx, { actor }, organizationId, server, { ...server, host_key: hostKey })
    return true
  })
}

/** Pure. */
function describe(server: ServerRow, contact: Contact, pinned: boolean, checkedAt: string): ServerCheck {
  const { result, shownKey } = contact
  const found = result.kind === 'probed' ? result : undefined
  const key = shownKey === null ? null : parseHostKey(shownKey)
  return {
    ok: found?.rootDirectoryWritable ?? false,
    message: summarize(server, result, pinned),
    host_key_fingerprint: key && fingerprint(key.blob),
    pinned,
    user: found?.user ?? null,
    free_disk_bytes: found?.freeDiskBytes ?? null,
    root_directory_writable: found?.rootDirectoryWritable ?? null,
    steps_survive: contact.detaching && contact.detaching.reason === null,
    attached_because: contact.detaching?.reason ?? null,
    checked_at: checkedAt,
  }
}

function summarize(server: ServerRow, result: ProbeResult, pinned: boolean): string {
  if (result.kind === 'failed') return asSentence(result.message)
  const { user, rootDirectoryWritable } = result
  const account = user === null ? 'The account' : `The account ${user}`
  if (!rootDirectoryWritable) {
    return `${account} cannot write to ${server.root_directory}: give it write access there, or set another root_directory.`
  }
  const key = server.provider_code === 'local' || pinned ? '' : ' Its host key is not pinned yet.'
  return `Connected to ${server.name}. ${account} can write to ${server.root_directory}.${key}`
}

async function databaseTime(db: Database): Promise<string> {
  const { rows } = await sql<{ at: string }>`select clock_timestamp()::timestamptz(3) as at`.execute(db)
  return rows[0]!.at
}
