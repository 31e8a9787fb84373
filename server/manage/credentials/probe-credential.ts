import { sql } from 'kysely'
import type { Caller } from '#access/authorization/caller.ts'
import { locate } from '#access/authorization/locate.ts'
import { can } from '#access/authorization/permissions.ts'
import { asSentence, type Connect } from '#adapters/executors/connect.ts'
import { fingerprint, parseHostKey } from '#adapters/executors/host-key.ts'
import type { HttpClient } from '#adapters/http-client/client.ts'
import { probeRepository } from '#adapters/repositories/probe.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import { shownTo } from '#platform/addresses/verdict.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { findRow } from '#platform/database/rows.ts'
import { type HttpProblem, invalidAt, unknownAt } from '#platform/http/problems.ts'
import { type ProbeResult, probeToken } from './probe-token.ts'
import { type CredentialRow, findCredential, openSecret } from './read-credentials.ts'
import type { CredentialCheck, CredentialCheckBody } from './schemas.ts'

export type ProbeDeps = {
  db: Database
  box: SecretBox
  guard: AddressGuard
  connect: Connect
  http: HttpClient
  /** The address of this installation, for services that ask who calls. */
  baseUrl: () => string
}

const WITHIN_MS = 12_000

/** Uses a credential as a run would, and reports the result. Nothing is stored. */
export async function probeCredential(
  deps: ProbeDeps,
  caller: Caller,
  id: number,
  input: CredentialCheckBody,
): Promise<{ kind: 'checked'; check: CredentialCheck } | HttpProblem> {
  const { db, box } = deps
  const row = await findCredential(db, id)
  if (!row) return { kind: 'gone' }
  const errors = checkInput(row, input)
  if (Object.keys(errors).length > 0) return { kind: 'invalid', errors }
  const host = await findHost(db, caller, row, input)
  if (host && 'kind' in host) return host
  const secret = openSecret(box, row)
  const guard = { check: async (name: string) => shownTo(caller, await deps.guard.check(name)) }
  const result = secret === undefined ? UNREADABLE : await probe({ ...deps, guard }, row, secret, input, host)
  if ('kind' in result) return result
  const { rows } = await sql<{ at: string }>`select clock_timestamp()::timestamptz(3) as at`.execute(db)
  return { kind: 'checked', check: { ...result, checked_at: rows[0]!.at } }
}

async function probe(
  deps: ProbeDeps,
  { provider_code: provider, base_url: baseUrl, username }: CredentialRow,
  secret: string | null,
  { repository }: CredentialCheckBody,
  host: SshLogin | undefined,
): Promise<ProbeResult | HttpProblem> {
  if (repository !== undefined) {
    const probed = await probeRepository({
      repository,
      provider: { code: provider, baseUrl },
      token: provider === 'ssh' || secret === null ? null : { username, secret },
      sshKey: provider === 'ssh' ? secret : null,
      allowRemote: async (remote) => deps.guard.check(remote.host!),
      withinMs: WITHIN_MS,
    })
    if (probed.kind === 'unfit') return invalidAt('repository', probed.message)
    if (probed.kind === 'closed') return failed(probed.message)
    const { references } = probed
    const found = references === 1 ? '1 branch or tag' : `${references} branches and tags`
    return { ok: true, message: `The repository can be read: ${found}.`, details: { references } }
  }
  if (provider === 'ssh') return probeKey(host!, secret!, deps)
  if (secret === null) return NO_TOKEN
  // checkInput requires a repository in this case.
  if (provider === 'git') throw new Error('a plain git token cannot be checked without a repository')
  return probeToken({ provider, baseUrl, username, token: secret }, deps.http, deps.baseUrl())
}

/** Pure: which fields this kind of credential needs or does not take. */
function checkInput({ provider_code }: CredentialRow, input: CredentialCheckBody): Record<string, string[]> {
  const { repository, server_id, host, user } = input
  const given = (['server_id', 'host', 'port', 'user'] as const).filter((field) => input[field] !== undefined)
  const extra = (fields: readonly string[], message: string) =>
    Object.fromEntries(fields.map((field) => [field, [message]]))
  if (provider_code === 'slack' || provider_code === 'discord') {
    const unused = repository === undefined ? given : [...given, 'repository']
    return extra(unused, `is not used with ${provider_code}`)
  }
  if (provider_code !== 'ssh') {
    const isMissing = provider_code === 'git' && repository === undefined
    return { ...extra(given, 'is for SSH keys'), ...(isMissing && { repository: ['is required for git'] }) }
  }
  if (repository !== undefined) return extra(given, 'cannot be combined with repository')
  if (server_id !== undefined) {
    const others = given.filter((field) => field !== 'server_id')
    return extra(others, 'cannot be combined with server_id')
  }
  const missing = [...(host === undefined ? ['host'] : []), ...(user === undefined ? ['user'] : [])]
  return extra(missing, 'is required, unless server_id or repository is given')
}

/** Where an SSH key is to log in; undefined when the check needs no host. */
async function findHost(
  db: Database,
  caller: Caller,
  { organization_id }: CredentialRow,
  { server_id: serverId, host, port = 22, user }: CredentialCheckBody,
): Promise<SshLogin | HttpProblem | undefined> {
  const allowLoopback = caller.is_instance_admin
  if (host !== undefined) return { host, port, user: user!, hostKey: null, isGuarded: true, allowLoopback }
  if (serverId === undefined) return undefined
  const scope = await locate(db, 'server', serverId)
  if (!scope || scope.organization_id !== organization_id || !can(caller, 'server:view', scope)) {
    return unknownAt('server_id', 'does not exist in this organization, or is not visible to you')
  }
  if (!can(caller, 'server:run', scope)) {
    return { kind: 'forbidden', reason: 'You need the permission server:run for that server.' }
  }
  const columns = ['host', 'port', 'login_name', 'host_key', 'allow_loopback'] as const
  const server = (await findRow(db, 'servers', { id: serverId }, columns))!
  const { login_name, host_key: hostKey, allow_loopback } = server
  if (server.host === null) return invalidAt('server_id', 'is a local server, which has no SSH login')
  const login = { host: server.host, port: server.port!, user: login_name!, hostKey }
  return { ...login, isGuarded: false, allowLoopback: allow_loopback }
}

const failed = (message: string): ProbeResult => ({ ok: false, message, details: {} })

const UNREADABLE = failed('The secret was encrypted with another master key. Enter it again.')
const NO_TOKEN = failed('The credential has no token. Name a public repository to check it with.')

type SshLogin = {
  host: string
  port: number
  user: string
  hostKey: string | null
  /** The caller named the host, so it must be one that Gantry may connect to for anybody. */
  isGuarded: boolean
  /** Whether the host may be the machine that Gantry runs on. */
  allowLoopback: boolean
}

const TIMEOUT_MS = 10_000

/** Logs in with a key, runs nothing, and logs out. */
async function probeKey(
  { host, port, user, hostKey, isGuarded, allowLoopback }: SshLogin,
  privateKey: string,
  { connect, guard }: { connect: Connect; guard: AddressGuard },
): Promise<ProbeResult> {
  let shownKey = ''
  const server = { name: host, kind: 'ssh' as const, host, port, loginName: user, hostKey, privateKey }
  const connection = await connect(
    { ...server, allowLoopback, rootDirectory: '/' },
    {
      onShownHostKey: (key) => {
        shownKey = key
      },
      connectTimeoutMs: TIMEOUT_MS,
      ...(isGuarded && { guard }),
    },
  )
  const key = parseHostKey(shownKey)
  const details = { host_key_fingerprint: key && fingerprint(key.blob) }
  switch (connection.kind) {
    case 'connected':
      await connection.executor.close()
      return { ok: true, message: `${host} accepts this key for ${user}.`, details }
    case 'unreachable':
      return { ok: false, message: asSentence(connection.message), details }
    case 'cancelled':
      throw new Error('cancelled without a signal')
  }
}
