import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.2.0'

// Invitations hold an address, and what it will be granted, instead of naming an account that nobody has used yet.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements: string[] = [
  // An account that is in use, or was deactivated, is not pending: it keeps what it has, and its link ends.
  `delete from invitations i using users u
    where u.id = i.user_id and (u.password_hash is not null or not u.active)`,
  'delete from invitations older using invitations newer where older.user_id = newer.user_id and older.id < newer.id',

  'alter table invitations add column email text check (length(email) between 1 and 255)',
  'alter table invitations add column name text check (length(name) between 1 and 255)',
  'update invitations i set email = u.email, name = u.name from users u where u.id = i.user_id',
  'alter table invitations alter column email set not null',
  'alter table invitations add unique (id, organization_id)',
  `create table invitation_grants (
    id bigint generated always as identity primary key,
    invitation_id bigint not null,
    built_in_role text check (built_in_role in ('owner', 'admin', 'developer', 'viewer')),
    role_id bigint,
    organization_id bigint not null,
    project_id bigint,
    environment_id bigint,
    check (num_nonnulls(built_in_role, role_id) = 1),
    check (environment_id is null or project_id is not null),
    foreign key (invitation_id, organization_id) references invitations (id, organization_id) on delete cascade,
    foreign key (role_id, organization_id) references roles (id, organization_id),
    foreign key (project_id, organization_id) references projects (id, organization_id),
    foreign key (environment_id, project_id) references environments (id, project_id),
    unique nulls not distinct (invitation_id, built_in_role, role_id, project_id, environment_id)
  )`,
  'create index invitation_grants_role on invitation_grants (role_id) where role_id is not null',

  // What pending accounts were granted is granted when the invitation is accepted.
  `insert into invitation_grants
      (invitation_id, built_in_role, role_id, organization_id, project_id, environment_id)
    select i.id, g.built_in_role, g.role_id, g.organization_id, g.project_id, g.environment_id
    from invitations i join grants g on g.user_id = i.user_id and g.organization_id = i.organization_id
    order by g.id`,
  'delete from grants g using invitations i where g.user_id = i.user_id',
  'delete from invitations i where not exists (select from invitation_grants g where g.invitation_id = i.id)',

  'create temporary table pending_accounts on commit drop as select user_id as id from invitations',
  'alter table invitations drop column user_id',
  // Nobody has ever signed in to them. One that something still names stays, without a role.
  `do $$
    declare account bigint;
    begin
      for account in select id from pending_accounts loop
        begin
          delete from users where id = account;
        exception when foreign_key_violation then null;
        end;
      end loop;
    end $$`,
  'drop table pending_accounts',
  'create unique index invitations_address on invitations (organization_id, lower(email))',
]
