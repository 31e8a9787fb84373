import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'

// What managing everything through the API needs: removed things that history still names, who changed what,
// and invitations.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

/** Removed things keep their row, because runs name them; their names are free again. */
const KEPT_WHEN_REMOVED = [
  'organizations',
  'projects',
  'environments',
  'credentials',
  'servers',
  'applications',
  'pipelines',
]

const UNIQUE_WHILE_THERE: [table: string, constraint: string, columns: string][] = [
  ['organizations', 'organizations_url_slug_key', 'url_slug'],
  ['projects', 'projects_organization_id_name_key', 'organization_id, name'],
  ['environments', 'environments_project_id_name_key', 'project_id, name'],
  ['credentials', 'credentials_organization_id_name_key', 'organization_id, name'],
  ['servers', 'servers_environment_id_name_key', 'environment_id, name'],
  ['applications', 'applications_environment_id_name_key', 'environment_id, name'],
  ['applications', 'applications_environment_id_folder_key', 'environment_id, folder'],
]

const statements: string[] = [
  ...KEPT_WHEN_REMOVED.map((table) => `alter table ${table} add column deleted_at timestamptz(3)`),
  ...UNIQUE_WHILE_THERE.flatMap(([table, constraint, columns]) => [
    `alter table ${table} drop constraint ${constraint}`,
    `create unique index ${constraint} on ${table} (${columns}) where deleted_at is null`,
  ]),
  // A removed credential has lost its secret, whatever its kind.
  'alter table credentials drop constraint credentials_check',
  `alter table credentials add constraint credentials_secret
    check (case when deleted_at is null then (auth_type = 'none') = (secret is null) else secret is null end)`,

  // Who changed what. Values are JSON as it was written: nobody searches in them.
  `create table audit_entries (
    id bigint generated always as identity primary key,
    organization_id bigint not null references organizations,
    occurred_at timestamptz(3) not null default now(),
    user_id bigint references users,
    ip_address text,
    request_id text,
    verb text not null,
    subject_type text not null,
    subject_id text not null,
    subject_name text not null,
    before json,
    after json
  )`,
  'create index audit_entries_organization on audit_entries (organization_id, id)',
  `create function refuse_to_change_history() returns trigger language plpgsql as $$
    begin
      raise exception 'entries of % are never changed or removed', tg_table_name;
    end $$`,
  `create trigger append_only before update or delete or truncate on audit_entries
    for each statement execute function refuse_to_change_history()`,

  // One-time links for people whose account somebody else has made; only the SHA-256 of the token is kept.
  `create table invitations (
    id bigint generated always as identity primary key,
    user_id bigint not null references users on delete cascade,
    organization_id bigint not null references organizations,
    invited_by bigint not null references users,
    hash bytea not null unique check (octet_length(hash) = 32),
    expires_at timestamptz(3) not null,
    created_at timestamptz(3) not null default now()
  )`,
  'create index invitations_user on invitations (user_id)',
  'create index grants_user on grants (user_id)',
  'create index grants_organization on grants (organization_id)',
  'create index grants_role on grants (role_id) where role_id is not null',

  // Each edit gives a step a new row; people know it by the id of its first one.
  'alter table pipeline_steps add column original_id bigint references pipeline_steps',
  // Commands see variables of applications under their names; two that differ in case only are a mistake.
  'alter table application_variables drop constraint application_variables_application_id_name_key',
  'create unique index application_variables_name on application_variables (application_id, lower(name))',
]
