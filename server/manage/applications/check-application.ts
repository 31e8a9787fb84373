import { type Provider, type ReadAddress, readAddress } from '#adapters/repositories/address.ts'
import { credentialFits } from '#adapters/repositories/credential-fits.ts'
import { readSource } from '#adapters/repositories/source.ts'
import { readSharedPaths } from '#model/deploy/shared-paths.ts'
import { FieldErrors } from '#platform/http/problems.ts'
import type { ApplicationChange } from './schemas.ts'

// What a schema cannot say about an application. Pure: a wish → its faults, all at once.

const MOST_COMMAND_BYTES = 65_536

/** Where the source is, as it will be once the wish is stored. */
export type SourceInput = { repository: string; provider: Provider | null }

/** `source` is given when the wish changes anything about it. */
export function checkApplication(wish: ApplicationChange, source: SourceInput | undefined): FieldErrors {
  const faults = new FieldErrors()
  if (source) checkSource(source, wish.credential_id === undefined ? 'repository' : 'credential_id', faults)
  if (wish.default_branch !== undefined) checkBranch(wish.default_branch, faults)
  if (wish.root_directory != null) checkRoot(wish.root_directory, faults)
  for (const field of ['install_dependencies_command', 'build_command'] as const) {
    if (Buffer.byteLength(wish[field] ?? '') > MOST_COMMAND_BYTES)
      faults.add(field, 'must not be longer than 64 KiB')
  }
  const paths = readSharedPaths(wish.shared_paths ?? [])
  if (paths.kind === 'faults')
    for (const { index, message } of paths.faults) faults.add(`shared_paths.${index}`, message)
  return faults
}

export function addressOf({ repository, provider }: SourceInput): ReadAddress {
  return readAddress(repository, provider)
}

/** A repository that lies on the machine of Gantry itself. */
export function isOnThisMachine(source: SourceInput): boolean {
  const read = addressOf(source)
  return read.kind === 'remote' && read.remote.protocol === 'file'
}

/**
 * Some hosts take a token in the place of the account. The address is shown to everybody who sees the application,
 * and in the audit; and Gantry would not use it.
 */
const TOKEN = /^(gh[a-z]_|github_pat_|glpat-|ATBB|ATCTT)|^[0-9a-f]{40}$|.{40}/i

/** `blamed`: the field that is at fault when the address is fine, and the credential is not for it. */
function checkSource(source: SourceInput, blamed: string, faults: FieldErrors): void {
  const read = addressOf(source)
  if (read.kind === 'refused') {
    faults.add('repository', read.message)
    return
  }
  if (read.remote.protocol !== 'ssh' && TOKEN.test(read.remote.username ?? ''))
    faults.add('repository', 'holds a token: put it into a credential and leave it out here')
  if (!source.provider) return
  const { code, baseUrl } = source.provider
  const fit = credentialFits(code, baseUrl ?? null, source.repository)
  if (fit.kind === 'unfit') faults.add(blamed, fit.message)
}

function checkBranch(branch: string, faults: FieldErrors): void {
  const read = readSource({ type: 'branch', ref: branch })
  if (read.kind === 'impossible') faults.add('default_branch', read.message)
}

function checkRoot(path: string, faults: FieldErrors): void {
  const parts = path.replace(/\/$/, '').split('/')
  if (path.startsWith('/')) faults.add('root_directory', 'must be relative to the repository')
  else if (parts.includes('..')) faults.add('root_directory', 'must not leave the repository')
  else if (parts.some((part) => part === '' || part === '.'))
    faults.add('root_directory', 'must not have empty parts or "."')
  else if (/[\0-\x1f\x7f]/.test(path)) faults.add('root_directory', 'must not contain control characters')
}
