import { sql } from 'kysely'
import type { Caller } from '#access/authorization/caller.ts'
import { locate } from '#access/authorization/locate.ts'
import { can } from '#access/authorization/permissions.ts'
import type { Connect } from '#adapters/executors/connect.ts'
import type { HttpClient } from '#adapters/http-client/client.ts'
import { probeRepository } from '#adapters/repositories/probe.ts'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { HttpProblem } from '#platform/http/problems.ts'
import { type CredentialRow, findCredential } from './find-credentials.ts'
import { probeKey, type SshLogin } from './probe-key.ts'
import { type ProbeResult, probeToken } from './probe-token.ts'
import type { CredentialCheck, CredentialCheckBody } from './schemas.ts'

export type TryDeps = {
  db: Database
  box: SecretBox
  guard: AddressGuard
  connect: Connect
  http: HttpClient
}

export type TryOutcome = { kind: 'tried'; check: CredentialCheck } | HttpProblem

const WITHIN_MS = 12_000

/** Uses a credential as a run would, and tells how that went. Nothing is stored. */
export async function tryCredential(
  deps: TryDeps,
  caller: Caller,
  id: number,
  wish: CredentialCheckBody,
): Promise<TryOutcome> {
  const row = await findCredential(deps.db, id)
  if (!row) return { kind: 'gone' }
  const refusal = refuseWish(row, wish)
  if (refusal) return refusal
  const place = await findPlace(deps.db, caller, row, wish)
  if (place && 'kind' in place) return place
  const secret = readSecret(deps.box, row)
  if (secret === undefined) return tried(deps.db, UNREADABLE)
  const outcome = await tryOne(deps, row, secret, wish, place)
  return 'kind' in outcome ? outcome : tried(deps.db, outcome)
}

async function tryOne(
  deps: TryDeps,
  row: CredentialRow,
  secret: string | null,
  wish: CredentialCheckBody,
  place: SshLogin | undefined,
): Promise<ProbeResult | HttpProblem> {
  const { provider_code: provider, base_url: baseUrl, username } = row
  if (wish.repository !== undefined) {
    const probed = await probeRepository({
      repository: wish.repository,
      provider: { code: provider, baseUrl },
      token: provider === 'ssh' || secret === null ? null : { username, secret },
      sshKey: provider === 'ssh' ? secret : null,
      allowRemote: async ({ host }) => deps.guard.check(host!),
      withinMs: WITHIN_MS,
    })
    if (probed.kind === 'unfit') return { kind: 'invalid', errors: { repository: [probed.message] } }
    if (probed.kind === 'closed') return { ok: false, message: probed.message, details: {} }
    const { references } = probed
    return {
      ok: true,
      message: `The repository can be read: ${counted(references)}.`,
      details: { references },
    }
  }
  if (provider === 'ssh') return probeKey(place!, secret!, deps)
  if (secret === null) return NOTHING_TO_TRY
  // refuseWish has asked for a repository otherwise.
  if (provider === 'git') throw new Error('a token of plain git was to be tried without a repository')
  return probeToken({ provider, baseUrl, username, token: secret }, deps.http)
}

/** Pure: what the wish lacks for this kind of credential, and what it has too much. */
function refuseWish(row: CredentialRow, wish: CredentialCheckBody): HttpProblem | undefined {
  const errors: Record<string, string[]> = {}
  const { provider_code: code } = row
  const placeFields = (['server_id', 'host', 'port', 'user'] as const).filter(
    (field) => wish[field] !== undefined,
  )
  if (code !== 'ssh') {
    for (const field of placeFields) errors[field] = ['is for SSH keys']
    if (code === 'git' && wish.repository === undefined) errors.repository = ['is required for git']
  } else if (wish.repository !== undefined || wish.server_id !== undefined) {
    const alone = wish.repository !== undefined ? 'repository' : 'server_id'
    for (const field of placeFields.filter((one) => one !== alone))
      errors[field] = [`does not go with ${alone}`]
  } else {
    const missing = 'is required, unless server_id or repository is given'
    if (wish.host === undefined) errors.host = [missing]
    if (wish.user === undefined) errors.user = [missing]
  }
  return Object.keys(errors).length > 0 ? { kind: 'invalid', errors } : undefined
}

/** Where a key is to be tried; undefined when it is not about a place. */
async function findPlace(
  db: Database,
  caller: Caller,
  { organization_id }: CredentialRow,
  wish: CredentialCheckBody,
): Promise<SshLogin | HttpProblem | undefined> {
  const { server_id: serverId, host, port = 22, user } = wish
  if (host !== undefined) return { host, port, user: user!, hostKey: null, isGuarded: true }
  if (serverId === undefined) return undefined
  const where = await locate(db, 'server', serverId)
  if (!where || where.organization_id !== organization_id || !can(caller, 'server:view', where)) {
    return { kind: 'unknown', errors: { server_id: ['names no server that you may see here'] } }
  }
  if (!can(caller, 'server:run', where)) {
    return { kind: 'forbidden', reason: 'You need the permission server:run for that server.' }
  }
  const server = await db
    .selectFrom('servers')
    .select(['host', 'port', 'login_name', 'host_key'])
    .where('id', '=', serverId)
    .executeTakeFirstOrThrow()
  if (server.host === null) {
    return { kind: 'invalid', errors: { server_id: ['is a local server: nobody logs in there'] } }
  }
  return {
    host: server.host,
    port: server.port!,
    user: server.login_name!,
    hostKey: server.host_key,
    isGuarded: false,
  }
}

/** Undefined when it was sealed with another master key. */
function readSecret(box: SecretBox, { id, secret }: CredentialRow): string | null | undefined {
  if (secret === null) return null
  try {
    return box.open(secret, credentialAad(id))
  } catch {
    return undefined
  }
}

const UNREADABLE: ProbeResult = {
  ok: false,
  message: 'The secret was sealed with another master key: give it again.',
  details: {},
}
const NOTHING_TO_TRY: ProbeResult = {
  ok: false,
  message: 'The credential has no token: name a public repository to try it with.',
  details: {},
}

async function tried(db: Database, outcome: ProbeResult): Promise<TryOutcome> {
  const { rows } = await sql<{ at: string }>`select clock_timestamp()::timestamptz(3) as at`.execute(db)
  return { kind: 'tried', check: { ...outcome, checked_at: rows[0]!.at } }
}

function counted(references: number): string {
  return references === 1 ? '1 branch or tag' : `${references} branches and tags`
}
