// Who may do what, and how people prove who they are.
import type { ColumnType, Generated } from 'kysely'
import type { Dated, Id, MaybeJson, MaybeTimestamp, Timestamp } from './columns.ts'

/** A role, and where: in an organization, or in a project or environment of it. */
type Granted = {
  built_in_role: 'owner' | 'admin' | 'developer' | 'viewer' | null
  role_id: number | null
  organization_id: number
  project_id: number | null
  environment_id: number | null
}

export type AccessTables = {
  users: Dated & {
    id: Id
    name: string
    email: string
    url_slug: string
    language: Generated<string>
    active: Generated<boolean>
    is_instance_admin: Generated<boolean>
    password_hash: string | null
  }
  tokens: {
    id: Id
    user_id: number
    kind: 'access' | 'refresh' | 'personal'
    family: string | null
    name: string | null
    hash: Buffer
    expires_at: MaybeTimestamp
    used_at: MaybeTimestamp
    revoked_at: MaybeTimestamp
    created_at: Timestamp
    /** The session of a browser, which lives on when it is used. */
    in_cookie: Generated<boolean>
    /** The limits of a personal token; null: none. */
    scopes: ('read' | 'run' | 'hooks' | 'manage' | 'approve')[] | null
    organization_ids: number[] | null
    project_ids: number[] | null
    used_ip: string | null
  }
  sessions: {
    id: Id
    user_id: number
    family: string
    kind: 'browser' | 'api'
    ip_address: string | null
    user_agent: string | null
    /** How many codes of devices were entered that do not exist. */
    wrong_codes: Generated<number>
    created_at: Timestamp
    last_used_at: Timestamp
  }
  login_failures: { subject: Buffer; failed_at: Timestamp }
  sign_in_networks: { user_id: number; network: string; signed_in_at: Timestamp }
  password_resets: { user_id: number; hash: Buffer; expires_at: Timestamp; created_at: Timestamp }
  roles: Dated & { id: Id; organization_id: number; name: string; permissions: string[] }
  grants: Granted & {
    id: Id
    user_id: number
    /** `oidc`: mapped from a group of the identity provider, and replaced at the next sign-in. */
    source: Generated<'manual' | 'oidc'>
    created_at: Timestamp
  }
  identities: {
    id: Id
    user_id: number
    issuer: string
    subject: string
    created_at: Timestamp
    last_used_at: MaybeTimestamp
  }
  oidc_attempts: {
    state_hash: Buffer
    browser_hash: Buffer
    network: string
    user_id: number | null
    token_id: number | null
    invitation_hash: Buffer | null
    expires_at: Timestamp
  }
  login_authorizations: {
    code_hash: Buffer
    code_challenge: Buffer
    redirect_uri: string
    name: string
    user_id: number
    token_id: number
    /** The token may approve runs. */
    may_approve: Generated<boolean>
    expires_at: Timestamp
  }
  device_codes: {
    device_hash: Buffer
    user_code_hash: Buffer
    name: string
    ip_address: string
    network: string
    state: Generated<'pending' | 'approved' | 'denied'>
    /** Who approved, in which browser session. */
    user_id: number | null
    token_id: number | null
    may_approve: Generated<boolean>
    polled_at: MaybeTimestamp
    expires_at: Timestamp
  }
  invitations: {
    id: Id
    organization_id: number
    email: string
    name: string | null
    invited_by: number
    hash: Buffer
    expires_at: Timestamp
    created_at: Timestamp
  }
  invitation_grants: Granted & { id: Id; invitation_id: number }
  audit_entries: {
    id: Id
    organization_id: number | null
    occurred_at: Timestamp
    user_id: number | null
    ip_address: string | null
    request_id: string | null
    verb: string
    subject_type: string
    subject_id: string
    subject_name: string
    before: MaybeJson<Record<string, unknown>>
    after: MaybeJson<Record<string, unknown>>
    /** In commit order, which ids are not. Null only until the entry is committed. */
    position: ColumnType<number | null, never, never>
  }
}
