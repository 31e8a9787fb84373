import type { Caller } from '#access/authorization/caller.ts'
import { locate } from '#access/authorization/locate.ts'
import { can } from '#access/authorization/permissions.ts'
import { type Inspected, inspectRepository } from '#adapters/repositories/inspect.ts'
import { type CredentialRow, findCredential, openSecret } from '#manage/credentials/read-credentials.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import { shownTo } from '#platform/addresses/verdict.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { type HttpProblem, unknownAt } from '#platform/http/problems.ts'
import { detectBuild, NOTHING_DETECTED, WANTED_FILES } from './detect-build.ts'
import type { InspectionBody, RepositoryInspection } from './schemas.ts'
import {
  checkSourceAccess,
  resolveSource,
  type SourceInput,
  validateApplication,
} from './validate-application.ts'

export type InspectDeps = {
  db: Database
  box: SecretBox
  guard: AddressGuard
  /** For what lasts as long as one inspection. */
  inspectionsFolder: string
}

const WITHIN_MS = 20_000

/**
 * What an application with this source could be like. The rules are those for creating one; nothing is stored, and no
 * connection to the database is held while git runs.
 */
export async function inspectSource(
  deps: InspectDeps,
  caller: Caller,
  input: InspectionBody,
  signal: AbortSignal,
): Promise<{ kind: 'inspected'; inspection: RepositoryInspection } | HttpProblem> {
  const found = await findSource(deps.db, caller, input)
  if (found.kind !== 'source') return found
  const { repository, provider } = found.source
  const access = accessWith(deps.box, found.credential)
  if (access === 'unreadable') return inspected(UNREADABLE)
  return inspected(
    await inspectRepository({
      ...access,
      repository,
      provider,
      // A repository without a host is on this machine; checkSourceAccess has decided about it.
      allowRemote: async ({ host }) =>
        host === null ? { kind: 'allowed' } : shownTo(caller, await deps.guard.check(host)),
      wanted: WANTED_FILES,
      folder: deps.inspectionsFolder,
      withinMs: WITHIN_MS,
      signal,
    }),
  )
}

async function findSource(
  db: Database,
  caller: Caller,
  { environment_id: environmentId, repository, credential_id = null }: InspectionBody,
): Promise<{ kind: 'source'; source: SourceInput; credential: CredentialRow | undefined } | HttpProblem> {
  const scope = await locate(db, 'environment', environmentId)
  if (!scope || !can(caller, 'environment:view', scope))
    return unknownAt('environment_id', 'does not exist, or is not visible to you')
  if (!can(caller, 'application:add', scope))
    return { kind: 'forbidden', reason: 'You need the permission application:add in this environment.' }
  return db.transaction().execute(async (trx) => {
    const source = { repository, credential_id }
    const resolved = await resolveSource(trx, caller, scope, source)
    if ('kind' in resolved) return resolved
    const problem =
      checkSourceAccess(caller, resolved.source) ?? validateApplication(source, resolved.source).problem
    if (problem) return problem
    const credential = credential_id === null ? undefined : await findCredential(trx, credential_id)
    return { kind: 'source', source: resolved.source!, credential }
  })
}

function accessWith(box: SecretBox, credential: CredentialRow | undefined) {
  const secret = credential ? openSecret(box, credential) : null
  if (secret === undefined) return 'unreadable'
  const isKey = credential?.provider_code === 'ssh'
  const token = secret === null || isKey ? null : { username: credential!.username, secret }
  return { token, sshKey: isKey ? secret : null }
}

const UNREADABLE: Inspected = {
  kind: 'closed',
  problem: 'authentication',
  message: 'The secret of the credential was encrypted with another master key. Enter it again.',
}

const NO_BRANCHES = { names: [], hasMore: false, default: undefined }

/** Pure. */
function inspected(found: Inspected): { kind: 'inspected'; inspection: RepositoryInspection } {
  const isClosed = found.kind === 'closed'
  const { names, hasMore, default: first } = isClosed ? NO_BRANCHES : found.branches
  const problem = isClosed ? found : found.problem
  const detected = !isClosed && found.snapshot ? detectBuild(found.snapshot) : NOTHING_DETECTED
  const inspection = {
    reachable: !isClosed,
    problem: problem?.problem ?? null,
    message: problem?.message ?? describe(names.length, hasMore, detected.language),
    branches: names,
    more_branches: hasMore,
    default_branch: first?.name ?? null,
    ...detected,
  }
  return { kind: 'inspected', inspection }
}

function describe(count: number, hasMore: boolean, language: string | null): string {
  if (count === 0) return 'The repository can be read; it has no branches yet.'
  const branches = count === 1 ? '1 branch' : `${count}${hasMore ? ' or more' : ''} branches`
  const files = language === null ? 'No known language was detected.' : `It looks like ${language}.`
  return `The repository can be read: ${branches}. ${files}`
}
