import { sql } from 'kysely'
import { type Actor, recordAudit } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { can, type Scope } from '#access/authorization/permissions.ts'
import { fingerprint, parseHostKey } from '#adapters/executors/host-key.ts'
import { openLocalExecutor } from '#adapters/executors/local.ts'
import { makeFolderOf } from '#adapters/executors/local-account.ts'
import { connectSsh } from '#adapters/executors/ssh-connect.ts'
import { asSentence } from '#manage/credentials/try-key.ts'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { HttpProblem } from '#platform/http/problems.ts'
import { findServer, type ServerRow } from './find-servers.ts'
import { type Looked, lookAround } from './look-around.ts'
import { audited, subjectOf } from './manage-servers.ts'
import type { ServerCheck, ServerCheckBody } from './schemas.ts'

export type TryServerDeps = {
  db: Database
  box: SecretBox
  /** The account of the embedded database, which commands on this machine do not get. */
  databaseUid?: number | null
  patience?: Patience
}

export type Patience = { connectMs: number; lookMs: number; totalMs: number }

/** What a contact has shown. */
type Contact = {
  looked: Looked
  /** The key that the host showed, whether or not it is the right one. */
  shownKey: string | null
  /** The same, once the host has proved that it is its own and has let us in. */
  provedKey: string | null
}

/** An answer is promised within 15 seconds. */
const PATIENCE: Patience = { connectMs: 8_000, lookMs: 5_000, totalMs: 13_500 }

/** Reaches a server as a run would, and tells what it found. Pins the host key only when asked to. */
export async function tryServer(
  deps: TryServerDeps,
  caller: Caller,
  actor: Actor,
  place: Scope,
  id: number,
  wish: ServerCheckBody,
): Promise<{ kind: 'tried'; check: ServerCheck } | HttpProblem> {
  if (wish.pin_host_key && !can(caller, 'server:edit', place)) {
    return { kind: 'forbidden', reason: 'You need the permission server:edit to pin a host key.' }
  }
  const server = await findServer(deps.db, id)
  if (!server) return { kind: 'gone' }
  const contact =
    server.provider_code === 'local' ? await reachLocal(deps, server) : await reachSsh(deps, server)
  const { provedKey } = contact
  const isPinnedNow =
    wish.pin_host_key === true &&
    provedKey !== null &&
    (await pinHostKey(deps.db, actor, place.organization_id, server, provedKey))
  const pinned = isPinnedNow || server.host_key !== null
  return { kind: 'tried', check: describe(server, contact, pinned, await databaseTime(deps.db)) }
}

/** On the machine of this very process. */
async function reachLocal(
  { databaseUid = null, patience = PATIENCE }: TryServerDeps,
  server: ServerRow,
): Promise<Contact> {
  const local = await openLocalExecutor({ excludedUid: databaseUid })
  try {
    // As a run does.
    if (!('kind' in local.account))
      await makeFolderOf(local.account, server.root_directory).catch(() => false)
    const looking = { timeoutMs: patience.lookMs, signal: AbortSignal.timeout(patience.totalMs) }
    const looked = await lookAround(local, server.root_directory, looking)
    return { looked, shownKey: null, provedKey: null }
  } finally {
    await local.close()
  }
}

async function reachSsh(deps: TryServerDeps, server: ServerRow): Promise<Contact> {
  const contact: Contact = { looked: TOO_SLOW, shownKey: null, provedKey: null }
  const key = await loadKey(deps, server)
  if ('message' in key) return { ...contact, looked: { kind: 'failed', message: key.message } }
  // Some hosts take connections and then do nothing, in ways that only a clock ends.
  const over = Promise.withResolvers<Looked>()
  const { patience = PATIENCE } = deps
  const timer = setTimeout(over.resolve, patience.totalMs, TOO_SLOW)
  const reached = logInAndLook(server, key.privateKey, contact, patience)
  contact.looked = await Promise.race([reached, over.promise]).finally(() => clearTimeout(timer))
  return contact
}

async function logInAndLook(
  server: ServerRow,
  privateKey: string,
  contact: Contact,
  patience: Patience,
): Promise<Looked> {
  const signal = AbortSignal.timeout(patience.totalMs)
  const connection = await connectSsh({
    host: server.host!,
    port: server.port!,
    username: server.login_name!,
    privateKey,
    hostKey: server.host_key,
    onShownHostKey: (hostKey) => {
      contact.shownKey = hostKey
    },
    onNewHostKey: async (hostKey) => {
      contact.provedKey = hostKey
    },
    connectTimeoutMs: patience.connectMs,
    signal,
  })
  if (connection.kind === 'cancelled') return TOO_SLOW
  if (connection.kind === 'unreachable') return { kind: 'failed', message: connection.message }
  try {
    const looking = { timeoutMs: patience.lookMs, signal }
    return await lookAround(connection.executor, server.root_directory, looking)
  } finally {
    // Saying goodbye may take as long as the host likes; nobody needs to wait for it.
    connection.executor.close().catch(() => {})
  }
}

const TOO_SLOW: Looked = { kind: 'failed', message: 'the server did not answer in time' }

async function loadKey(
  { db, box }: TryServerDeps,
  { name, credential_id }: ServerRow,
): Promise<{ privateKey: string } | { message: string }> {
  const credential =
    credential_id === null
      ? undefined
      : await db
          .selectFrom('credentials')
          .select(['id', 'secret', 'active'])
          .where('id', '=', credential_id)
          .executeTakeFirst()
  if (!credential?.secret) return { message: `${name} has no key to log in with: give it an SSH credential` }
  if (!credential.active) return { message: `the SSH credential of ${name} is switched off` }
  try {
    return { privateKey: box.open(credential.secret, credentialAad(credential.id)) }
  } catch {
    return { message: 'the SSH key was sealed with another master key: give it again' }
  }
}

/** Only if no key is pinned yet, and the server is still at the place where this one was shown. */
function pinHostKey(
  db: Database,
  actor: Actor,
  organizationId: number,
  seen: ServerRow,
  hostKey: string,
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const server = await findServer(trx, seen.id, { lock: true })
    if (!server || server.host !== seen.host || server.port !== seen.port) return false
    if (server.host_key !== null) return server.host_key === hostKey
    await trx
      .updateTable('servers')
      .set({ host_key: hostKey, updated_at: sql<string>`now()` })
      .where('id', '=', seen.id)
      .execute()
    await recordAudit(trx, actor, {
      organizationId,
      verb: 'changed',
      subject: subjectOf(server),
      before: audited(server),
      after: { ...audited(server), host_key: hostKey },
    })
    return true
  })
}

/** Pure. */
function describe(server: ServerRow, contact: Contact, pinned: boolean, checkedAt: string): ServerCheck {
  const { looked, shownKey } = contact
  const found = looked.kind === 'looked' ? looked.surroundings : undefined
  const key = shownKey === null ? null : parseHostKey(shownKey)
  return {
    ok: found?.rootDirectoryWritable ?? false,
    message: sayWhat(server, looked, pinned),
    host_key_fingerprint: key && fingerprint(key.blob),
    pinned,
    user: found?.user ?? null,
    free_disk_bytes: found?.freeDiskBytes ?? null,
    root_directory_writable: found?.rootDirectoryWritable ?? null,
    checked_at: checkedAt,
  }
}

function sayWhat(server: ServerRow, looked: Looked, pinned: boolean): string {
  if (looked.kind === 'failed') return asSentence(looked.message)
  const { user, rootDirectoryWritable } = looked.surroundings
  const account = user === null ? 'The account' : `The account ${user}`
  if (!rootDirectoryWritable) {
    return `${account} cannot write to ${server.root_directory}: give it write access there, or set another root_directory.`
  }
  const key = server.provider_code === 'local' || pinned ? '' : ' Its host key is not pinned yet.'
  return `${server.name} can be reached. ${account} can write to ${server.root_directory}.${key}`
}

async function databaseTime(db: Database): Promise<string> {
  const { rows } = await sql<{ at: string }>`select clock_timestamp()::timestamptz(3) as at`.execute(db)
  return rows[0]!.at
}
