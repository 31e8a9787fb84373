import { isDeepStrictEqual } from 'node:util'
import type { Caller } from '#access/authorization/caller.ts'
import { can } from '#access/authorization/permissions.ts'
import { type Provider, type Remote, readAddress } from '#adapters/repositories/address.ts'
import { credentialFits } from '#adapters/repositories/credential-fits.ts'
import { readSource } from '#adapters/repositories/source.ts'
import { authorizeUse } from '#manage/credentials/credential-use.ts'
import { readSharedPaths } from '#model/deploy/shared-paths.ts'
import { loadTokenHooks } from '#model/hooks/token-hooks.ts'
import { normalizeHealthCheck } from '#model/pipelines/health-check.ts'
import type { LockedEnvironment } from '#model/pipelines/lock-environment.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { findRow } from '#platform/database/rows.ts'
import { FieldErrors, type HttpProblem, listNames } from '#platform/http/problems.ts'
import type { ApplicationRow } from './read-applications.ts'
import type { ApplicationChange } from './schemas.ts'

// The rules for an application that a schema cannot express.

const MAX_COMMAND_BYTES = 65_536

/**
 * The new source, or undefined when the input does not change it. Giving an application a credential, or using
 * its credential for another repository, requires permission to use that credential. `isMoved`: it is another repository.
 */
export async function resolveSource(
  trx: Transaction,
  caller: Caller,
  { organization_id }: Pick<LockedEnvironment, 'organization_id'>,
  input: ApplicationChange,
  stored?: ApplicationRow,
): Promise<{ source: SourceInput | undefined; isMoved: boolean } | HttpProblem> {
  const { repository, credential_id } = { repository: '', credential_id: null, ...stored, ...input }
  if (repository === stored?.repository && credential_id === stored.credential_id)
    return { source: undefined, isMoved: false }
  const before = stored && (await loadSource(trx, stored))
  const isMovedTo = (source: SourceInput) => before !== undefined && !isSameRepository(before, source)
  if (credential_id === null) {
    const source = { repository, provider: null }
    return { source, isMoved: isMovedTo(source) }
  }
  if (credential_id === stored?.credential_id) {
    const source = { ...before!, repository }
    const isMoved = isMovedTo(source)
    if (isMoved && !can(caller, 'credential:run', { organization_id })) return NEEDS_RUN
    return { source, isMoved }
  }
  const use = await authorizeUse(trx, caller, organization_id, credential_id)
  if (use.kind !== 'usable') return use
  const { provider_code, base_url } = use.credential
  const source = { repository, provider: { code: provider_code, baseUrl: base_url } }
  return { source, isMoved: isMovedTo(source) }
}

const NEEDS_RUN: HttpProblem = {
  kind: 'forbidden',
  reason:
    "The application's credential would be used for another repository: you need the permission credential:run.",
}

async function loadSource(
  trx: Transaction,
  { repository, credential_id }: Pick<ApplicationRow, 'repository' | 'credential_id'>,
): Promise<SourceInput> {
  if (credential_id === null) return { repository, provider: null }
  const found = await findRow(trx, 'credentials', { id: credential_id }, ['provider_code', 'base_url'])
  return { repository, provider: { code: found!.provider_code, baseUrl: found!.base_url } }
}

/** Every error at once. `source` is given when the input changes it. Pure. */
export function validateApplication(input: ApplicationChange, source: SourceInput | undefined): FieldErrors {
  const errors = new FieldErrors()
  if (source) checkSource(source, input.credential_id === undefined ? 'repository' : 'credential_id', errors)
  if (input.default_branch !== undefined) {
    const read = readSource({ type: 'branch', ref: input.default_branch })
    if (read.kind === 'impossible') errors.add('default_branch', read.message)
  }
  const rootError = input.root_directory == null ? undefined : checkRoot(input.root_directory)
  if (rootError) errors.add('root_directory', rootError)
  for (const field of ['install_dependencies_command', 'build_command'] as const) {
    if (Buffer.byteLength(input[field] ?? '') > MAX_COMMAND_BYTES)
      errors.add(field, 'must not be longer than 64 KiB')
  }
  const check = normalizeHealthCheck(input.health_check ?? null)
  if (check.kind === 'invalid')
    for (const [field, messages] of Object.entries(check.errors)) errors.add(field, messages[0]!)
  const paths = readSharedPaths(input.shared_paths ?? [])
  if (paths.kind === 'invalid')
    for (const { index, message } of paths.problems) errors.add(`shared_paths.${index}`, message)
  return errors
}

export function checkSourceAccess(caller: Caller, source: SourceInput | undefined): HttpProblem | undefined {
  if (!source || caller.is_instance_admin || !isOnThisMachine(source)) return undefined
  return { kind: 'forbidden', reason: FILES_ARE_LOCAL }
}

const FILES_ARE_LOCAL =
  "A file: repository is on Gantry's own machine: only instance administrators may use one."

function isOnThisMachine({ repository, provider }: SourceInput): boolean {
  const read = readAddress(repository, provider)
  return read.kind === 'remote' && read.remote.protocol === 'file'
}

/**
 * Some hosts accept a token as the username. The address is shown to everyone who sees the application, and in
 * the audit log; and Gantry would not use the token.
 */
const TOKEN = /^(gh[a-z]_|github_pat_|glpat-|ATBB|ATCTT)|^[0-9a-f]{40}$|.{40}/i

/** `field` gets the error when the address is valid but the credential is not for it. */
function checkSource({ repository, provider }: SourceInput, field: string, errors: FieldErrors): void {
  const read = readAddress(repository, provider)
  if (read.kind === 'refused') {
    errors.add('repository', read.message)
    return
  }
  if (read.remote.protocol !== 'ssh' && TOKEN.test(read.remote.username ?? ''))
    errors.add('repository', 'contains a token: move it to a credential')
  const fit = provider && credentialFits(provider.code, provider.baseUrl ?? null, repository)
  if (fit?.kind === 'unfit') errors.add(field, fit.message)
}

function checkRoot(path: string): string | undefined {
  const parts = path.replace(/\/$/, '').split('/')
  if (path.startsWith('/')) return 'must be relative to the repository'
  if (parts.includes('..')) return 'must not leave the repository'
  if (parts.some((part) => part === '' || part === '.')) return 'must not have empty parts or "."'
  return /[\0-\x1f\x7f]/.test(path) ? 'must not contain control characters' : undefined
}

/** Where the source is once an input is stored. */
export type SourceInput = { repository: string; provider: Provider | null }

/**
 * Hooks of an application send tokens about its repository, for example to set the status of a commit there. To make it
 * another repository is to use their credentials for that one.
 */
export async function checkHookTokens(
  trx: Transaction,
  caller: Caller,
  scope: LockedEnvironment,
  applicationId: number,
): Promise<HttpProblem | undefined> {
  if (can(caller, 'credential:run', { organization_id: scope.organization_id })) return undefined
  const hooks = await loadTokenHooks(trx, { applicationId })
  if (hooks.length === 0) return undefined
  const names = can(caller, 'hook:view', scope) ? hooks.map(({ name }) => name) : []
  const which = names.length > 0 ? listNames('hook', names) : `${hooks.length} of its hooks`
  return {
    kind: 'forbidden',
    reason: `Outgoing hooks send tokens of credentials about this application's repository (${which}). To change the repository you need the permission credential:run.`,
  }
}

/**
 * Whether two addresses name one repository: the case of the host, its default port, `.git` and a slash at the end make no
 * difference. Everything else does, such as the case of a path: some hosts tell it apart. Pure.
 */
export function isSameRepository(one: SourceInput, other: SourceInput): boolean {
  if (isDeepStrictEqual(one, other)) return true
  const [first, second] = [one, other].map(({ repository, provider }) => readAddress(repository, provider))
  if (first?.kind !== 'remote' || second?.kind !== 'remote') return false
  return identityOf(first.remote) === identityOf(second.remote)
}

function identityOf({ protocol, host, port, username, path }: Remote): string {
  const plainPath = path.replace(/\/+$/, '').replace(/\.git$/, '')
  return JSON.stringify([protocol, host?.replace(/\.$/, ''), port, username, plainPath])
}
