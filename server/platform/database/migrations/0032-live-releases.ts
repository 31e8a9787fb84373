import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['applications', 'servers', 'actions', 'releases_on_disk']

// What is live, per server. `applications.live_action_id` stays for processes of an older release: this code writes both,
// and a trigger adds what only older code wrote.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

/** The name of the release that a target switched to: `a` is its action, `t` the target. */
const RELEASE_NAME = `coalesce(t.release_name, case when a.deployment ->> 'type' = 'rollback' then (
  select made.release_name from actions earlier join targets made on made.action_id = earlier.id
  where earlier.release_name = a.release_name and earlier.id < a.id and made.server_id = t.server_id
    and made.release_name is not null
  order by earlier.id desc limit 1) end, a.release_name)`

/** Of the target `t`; null unless it switched to its release. */
const ACTIVATED_AT = `(jsonb_path_query_first(t.steps,
  '$[*] ? (@.name == "activate-new-release" && @.status == "completed")') ->> 'completed_at')::timestamptz`

const statements: string[] = [
  `create table live_releases (
    application_id bigint not null references applications,
    server_id bigint not null references servers,
    action_id bigint not null references actions on delete cascade,
    release_name text not null,
    commit_sha text,
    since timestamptz(3) not null default clock_timestamp(),
    primary key (application_id, server_id)
  )`,
  'create index live_releases_action on live_releases (action_id)',
  'create index live_releases_server on live_releases (server_id)',

  // Of each pipeline the newest run that switched on the server, and of those the last: found from the newest run on.
  `insert into live_releases (application_id, server_id, action_id, release_name, commit_sha, since)
    select pair.application_id, pair.server_id, last.action_id, last.release_name, last.commit_sha, last.at
    from (
      select distinct d.application_id, d.server_id from releases_on_disk d
      join applications app on app.id = d.application_id and app.deleted_at is null
      join servers s on s.id = d.server_id and s.deleted_at is null
    ) as pair
    cross join lateral (
      select newest.* from pipelines p
      cross join lateral (
        select a.id as action_id, ${RELEASE_NAME} as release_name, a.commit ->> 'hash' as commit_sha, ${ACTIVATED_AT} as at
        from unnest(array['completed', 'failed', 'in-progress', 'queued', 'waiting']) as ended (status)
        cross join lateral (
          select a.id from actions a join targets t on t.action_id = a.id
          where a.pipeline_id = p.id and a.status = ended.status and t.server_id = pair.server_id
            and ${ACTIVATED_AT} is not null and ${RELEASE_NAME} is not null
          order by a.id desc limit 1
        ) as found
        join actions a on a.id = found.id
        join targets t on t.action_id = a.id and t.server_id = pair.server_id
      ) as newest
      where p.application_id = pair.application_id and p.operation = 'deploy'
      order by newest.at desc, newest.action_id desc limit 1
    ) as last`,

  // What a deploy leaves behind, as the last list of the server showed it.
  `alter table releases_on_disk add column on_disk boolean not null default false,
    add column was_live boolean not null default false,
    add column reverted boolean not null default false,
    add column size_bytes bigint`,
  // Until the next list: as many as a deploy leaves, of those that were live.
  `with live as (
      select d.application_id, d.release_name, d.server_id, app.deployments_keep, row_number() over (
        partition by d.application_id, d.server_id
        order by (now.release_name is not null) desc, d.release_name desc) as place
      from releases_on_disk d join applications app on app.id = d.application_id
      left join live_releases now using (application_id, server_id, release_name)
      where now.release_name is not null or exists (select from targets t where t.release_name = d.release_name
        and t.server_id = d.server_id and ${ACTIVATED_AT} is not null)
    )
    update releases_on_disk d set was_live = true, on_disk = place <= deployments_keep from live
    where (live.application_id, live.release_name, live.server_id) = (d.application_id, d.release_name, d.server_id)`,

  // Older code stores that an action is live, right after the target's step: the servers are those of its targets. A
  // switch that is already known, or was followed by another, changes nothing.
  `create function note_live_action() returns trigger language plpgsql as $$
  begin
    insert into live_releases (application_id, server_id, action_id, release_name, commit_sha, since)
    select new.id, t.server_id, a.id, ${RELEASE_NAME}, a.commit ->> 'hash', ${ACTIVATED_AT}
    from actions a join targets t on t.action_id = a.id
    join servers s on s.id = t.server_id and s.deleted_at is null
    where a.id = new.live_action_id and ${ACTIVATED_AT} is not null and ${RELEASE_NAME} is not null
    on conflict (application_id, server_id) do update
    set action_id = excluded.action_id, release_name = excluded.release_name, commit_sha = excluded.commit_sha,
      since = excluded.since
    where live_releases.since < excluded.since;
    return null;
  end $$`,
  `create trigger note_live_action after update of live_action_id on applications for each row
    when (new.live_action_id is not null) execute function note_live_action()`,

  // The rows of removed servers and applications stay, because runs refer to them; nothing is live there.
  `create function forget_live_releases() returns trigger language plpgsql as $$
  begin
    if tg_table_name = 'servers' then
      delete from live_releases where server_id = new.id;
    else
      delete from live_releases where application_id = new.id;
    end if;
    return null;
  end $$`,
  ...['servers', 'applications'].map(
    (table) => `create trigger forget_live_releases after update of deleted_at on ${table} for each row
      when (new.deleted_at is not null) execute function forget_live_releases()`,
  ),
]
