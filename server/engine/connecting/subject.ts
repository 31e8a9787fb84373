// Whose token a request may use: a connection acts for the person who connected it, with the credential of the application.
import { sql } from 'kysely'
import { loadGrants } from '#access/authorization/caller.ts'
import { can } from '#access/authorization/permissions.ts'
import { HOSTS } from '#model/connections/hosts.ts'
import { locateRepository } from '#model/connections/locate-repository.ts'
import { forbidden, type HostFailure } from '#model/connections/read-answer.ts'
import { hookSecretAad, urlTokenAad } from '#model/hooks/present-hook.ts'
import { tokenOrigins } from '#model/hooks/token-use.ts'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Claim, ClaimedConnection, ClaimedRemoval } from './claim.ts'

export type SubjectDeps = { db: Database; box: SecretBox; baseUrl: () => string }

/** What a request about the webhook of a hook needs. */
export type Subject = {
  kind: 'subject'
  token: string
  credentialId: number
  organizationId: number
  hookName: string
}
export type ConnectedSubject = Subject & {
  url: string
  secret: string
  tokenHash: Buffer
  sealedSecret: Buffer
  applicationId: number
  /** Of the repository. */
  address: string
  baseUrl: string | null
  username: string | null
}

type Row = {
  name: string
  secret: Buffer | null
  url_token: Buffer | null
  url_token_hash: Buffer | null
  application_id: number | null
  repository: string | null
  organization_id: number
  credential: {
    id: number
    provider: string
    base_url: string | null
    auth_type: string
    username: string | null
    secret: string | null
    is_usable: boolean
  } | null
}

const load = (db: Database, claim: Claim, credentialId: ReturnType<typeof sql>) =>
  sql<Row>`
    select h.name, h.secret, h.url_token, h.url_token_hash, a.id as application_id, a.repository, o.organization_id,
      case when c.id is not null then json_build_object('id', c.id, 'provider', c.provider_code, 'base_url', c.base_url,
        'auth_type', c.auth_type, 'username', c.username, 'secret', encode(c.secret, 'base64'),
        'is_usable', c.active and c.deleted_at is null) end as credential
    from hooks h join pipelines p on p.id = h.pipeline_id
    join environments e on e.id = p.environment_id join projects o on o.id = e.project_id
    left join applications a on a.id = p.application_id
    left join credentials c on c.id = ${credentialId}
    where h.id = ${claim.hookId}`.execute(db)

/** For a connection, or why the host cannot be asked. */
export async function loadConnected(
  deps: SubjectDeps,
  claim: ClaimedConnection,
): Promise<ConnectedSubject | HostFailure> {
  const { rows } = await load(deps.db, claim, sql`a.credential_id`)
  const [row] = rows
  if (!row?.secret || !row.url_token || !row.url_token_hash) return forbidden('The hook has no secret.')
  const { credential } = row
  const located = locateRepository(
    row.repository,
    credential && {
      provider: credential.provider,
      baseUrl: credential.base_url,
      hasToken: credential.auth_type === 'token',
    },
  )
  if ('problem' in located) return forbidden(located.problem)
  if (located.apiUrl !== claim.apiUrl || located.path !== claim.repository)
    return {
      kind: 'failed',
      state: 'changed',
      problem: `The application's repository is now ${located.path}, and the webhook belongs to ${claim.repository}. Repair the connection to move it.`,
      isTemporary: false,
    }
  const subject = await authorize(deps, claim, row)
  if (subject.kind === 'failed') return subject
  const name = deps.box.open(row.url_token, urlTokenAad(claim.hookId))
  return {
    ...subject,
    url: `${deps.baseUrl()}/hooks/${name}/trigger`,
    secret: deps.box.open(row.secret, hookSecretAad(claim.hookId)),
    tokenHash: row.url_token_hash,
    sealedSecret: row.secret,
    applicationId: row.application_id!,
    address: row.repository!,
    baseUrl: credential!.base_url,
    username: credential!.username,
  }
}

/** For the removal of a webhook: with the credential that it was created with. */
export async function loadRemoved(deps: SubjectDeps, claim: ClaimedRemoval): Promise<Subject | HostFailure> {
  const { rows } = await load(deps.db, claim, sql`${claim.credentialId}`)
  return rows[0]
    ? authorize(deps, claim, rows[0], claim.isAuthorized)
    : forbidden('The hook no longer exists.')
}

async function authorize(
  { db, box }: SubjectDeps,
  { userId, apiUrl, provider }: Claim,
  { name, credential, organization_id }: Row,
  isAuthorized = false,
): Promise<Subject | HostFailure> {
  if (!credential || !(credential.is_usable || isAuthorized) || credential.secret === null)
    return forbidden('The credential is inactive, was removed, or has no token.')
  const owner = { provider: credential.provider, baseUrl: credential.base_url }
  if (credential.provider !== provider || !tokenOrigins(owner).includes(new URL(apiUrl).origin))
    return forbidden(
      `The credential is no longer one for ${HOSTS[provider].name} at ${new URL(apiUrl).host}.`,
    )
  const user = isAuthorized ? null : (await loadGrants(db, [userId])).get(userId)
  if (user !== null && (!user || !can(user, 'credential:run', { organization_id })))
    return forbidden(
      'The user who connected the repository may no longer use the credential (credential:run). A user with that permission can repair the connection.',
    )
  const token = openToken(box, credential.id, credential.secret)
  if (token === undefined)
    return forbidden('The token was encrypted with another master key. Enter it again.')
  return {
    kind: 'subject',
    token,
    credentialId: credential.id,
    organizationId: organization_id,
    hookName: name,
  }
}

function openToken(box: SecretBox, id: number, secret: string): string | undefined {
  try {
    return box.open(Buffer.from(secret, 'base64'), credentialAad(id))
  } catch {
    return undefined
  }
}
