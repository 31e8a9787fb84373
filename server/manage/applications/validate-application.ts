import type { Caller } from '#access/authorization/caller.ts'
import { can } from '#access/authorization/permissions.ts'
import { type Provider, readAddress } from '#adapters/repositories/address.ts'
import { credentialFits } from '#adapters/repositories/credential-fits.ts'
import { readSource } from '#adapters/repositories/source.ts'
import { authorizeUse } from '#manage/credentials/credential-use.ts'
import { readSharedPaths } from '#model/deploy/shared-paths.ts'
import { normalizeHealthCheck } from '#model/pipelines/health-check.ts'
import type { LockedEnvironment } from '#model/pipelines/lock-environment.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { FieldErrors, type HttpProblem } from '#platform/http/problems.ts'
import type { ApplicationRow } from './read-applications.ts'
import type { ApplicationChange } from './schemas.ts'

// The rules for an application that a schema cannot express.

const MAX_COMMAND_BYTES = 65_536

/** Where the source is once the input is stored. */
export type SourceInput = { repository: string; provider: Provider | null }

/**
 * The new source, or undefined when the input does not change it. Giving an application a credential, or using
 * its credential for another repository, requires permission to use that credential.
 */
export async function resolveSource(
  trx: Transaction,
  caller: Caller,
  { organization_id }: Pick<LockedEnvironment, 'organization_id'>,
  input: ApplicationChange,
  stored?: ApplicationRow,
): Promise<{ source: SourceInput | undefined } | HttpProblem> {
  const { repository, credential_id } = { repository: '', credential_id: null, ...stored, ...input }
  if (repository === stored?.repository && credential_id === stored.credential_id)
    return { source: undefined }
  if (credential_id === null) return { source: { repository, provider: null } }
  const isStored = credential_id === stored?.credential_id
  if (isStored && !can(caller, 'credential:run', { organization_id })) {
    const reason =
      "The application's credential would be used for another repository: you need the permission credential:run."
    return { kind: 'forbidden', reason }
  }
  const use = isStored
    ? { kind: 'usable' as const, credential: await loadCredential(trx, credential_id) }
    : await authorizeUse(trx, caller, organization_id, credential_id)
  if (use.kind !== 'usable') return use
  const { provider_code, base_url } = use.credential
  return { source: { repository, provider: { code: provider_code, baseUrl: base_url } } }
}

function loadCredential(trx: Transaction, id: number) {
  return trx
    .selectFrom('credentials')
    .select(['provider_code', 'base_url'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
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
