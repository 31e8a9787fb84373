import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { countClosedBlocks } from '#engine/counts/action-blocks.ts'
import { DEPLOY_STEPS } from '#model/pipelines/built-in-steps.ts'
import type { Database, OpenDatabase } from '#platform/database/connect.ts'
import { addEnvironment, createTestTree, type Person } from '#test/support/world.ts'
import { runStatement } from './workbench.ts'

/** An organization with a year of actions. */
export type StoredActions = {
  owner: Person
  /** The project and the deploy pipeline with the most actions. */
  projectId: number
  pipelineId: number
}

const PROJECTS = 10
const ENVIRONMENTS_EACH = 3
const BATCH = 100_000

/**
 * `count` actions spread over 30 environments with two pipelines each, the first of which are the busiest
 * (about an eighth of all in the first); most completed, some failed, some skipped, the newest few in
 * progress; seven of ten started by a hook. Each has one target, a deploy with its six steps.
 */
export async function storeActions(database: OpenDatabase, count: number): Promise<StoredActions> {
  const { db, settings } = database
  const tree = await createTree(db)
  const indexes = await secondaryIndexes(db)
  const batches = Array.from({ length: Math.ceil(count / BATCH) }, (_, index) => ({
    from: index * BATCH + 1,
    to: Math.min(count, (index + 1) * BATCH),
  }))
  await runStatement(settings, ...indexes.map(({ name }) => `drop index ${name}`))
  await together(batches, (some) =>
    runStatement(
      settings,
      // References are right by construction; checking a million of each takes longer than storing them.
      'set session_replication_role = replica',
      'set synchronous_commit = off',
      'set timezone = UTC',
      `select setseed(${1 / (some[0]!.from + 1)})`,
      rankedPipelinesTable(),
      stepsTable(),
      ...some.flatMap(({ from, to }) => [
        actionRows(from, to, count, tree.owner.id),
        targetRows(from, to),
        hookRequestRows(from, to),
      ]),
    ),
  )
  await together(indexes, (some) =>
    runStatement(settings, "set maintenance_work_mem = '256MB'", ...some.map(({ definition }) => definition)),
  )
  await runStatement(
    settings,
    'set session_replication_role = replica',
    `select setval(pg_get_serial_sequence('actions', 'id'), ${count})`,
    `insert into live_releases (application_id, server_id, action_id, release_name)
      select p.application_id, min(s.server_id), max(a.id), '20260101000000-aaaaaaa'
      from actions a join pipelines p on p.id = a.pipeline_id
      join application_servers s on s.application_id = p.application_id
      where p.operation = 'deploy' and a.status = 'completed' group by 1`,
    `insert into used_credits (environment_id, month, target_runs)
      select environment_id, date_trunc('month', now())::date, count(*) from actions
      where created_at >= date_trunc('month', now()) group by 1`,
    'update tree_version set version = version + 1',
    'vacuum analyze',
    'checkpoint',
  )
  await countClosedBlocks(db)
  await runStatement(settings, 'vacuum analyze action_blocks')
  return tree
}

/** Does half of it on one connection, and half on another. */
async function together<Part>(parts: readonly Part[], work: (some: Part[]) => Promise<void>): Promise<void> {
  const halves = [0, 1].map((half) => parts.filter((_, index) => index % 2 === half))
  await Promise.all(halves.filter((some) => some.length > 0).map(work))
}

/** Those of the large tables, which are created when the tables are full: denser than if they had grown with them. */
async function secondaryIndexes(db: Database): Promise<{ name: string; definition: string }[]> {
  const { rows } = await sql<{ name: string; definition: string }>`
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
    where indrelid in ('actions'::regclass, 'targets'::regclass, 'hook_requests'::regclass) and not indisunique`.execute(
    db,
  )
  return rows
}

async function createTree(db: Database): Promise<StoredActions> {
  const { owner, organizationId, projectId, credentialId, pipelineId } = await createTestTree(db)
  const projectIds = [projectId]
  for (let number = 2; number <= PROJECTS; number++) {
    const { id } = await db
      .insertInto('projects')
      .values({ organization_id: organizationId, name: `More ${number}`, created_by: owner.id })
      .returning('id')
      .executeTakeFirstOrThrow()
    projectIds.push(id)
  }
  for (const [index, id] of projectIds.entries()) {
    const there = index === 0 ? 1 : 0
    for (let number = there; number < ENVIRONMENTS_EACH; number++)
      await addEnvironment(db, owner.id, id, credentialId)
  }
  const pipelines = await db
    .selectFrom('pipelines')
    .select(['id', 'environment_id', 'operation'])
    .where('operation', '=', 'deploy')
    .execute()
  const unsigned = { type: 'incoming', requires_secret: false, settings: '{}', trigger_when: '{}' } as const
  await db
    .insertInto('hooks')
    .values(
      pipelines.map((pipeline) => ({
        ...unsigned,
        id: randomUUID(),
        pipeline_id: pipeline.id,
        environment_id: pipeline.environment_id,
        action_type: pipeline.operation,
        name: 'Push',
        url_token: Buffer.from('sealed'),
        url_token_hash: Buffer.from(randomUUID()),
        created_by: owner.id,
        edited_by: owner.id,
      })),
    )
    .execute()
  return { owner, projectId, pipelineId }
}

/** The pipelines by rank, busiest first. */
function rankedPipelinesTable(): string {
  return `create temporary table ranked_pipelines as
    select row_number() over (order by p.id) - 1 as rank, p.id as pipeline_id, p.environment_id, p.operation,
      app.credential_id, h.id as hook_id,
      coalesce(p.server_id, (select min(server_id) from application_servers s where s.application_id = app.id)) as server_id
    from pipelines p left join applications app on app.id = p.application_id
      left join hooks h on h.pipeline_id = p.id`
}

function actionRows(from: number, to: number, count: number, ownerId: number): string {
  const commit = `jsonb_build_object('repository', 'acme/shop', 'author_name', 'Ada', 'author_email', 'ada@example.com',
    'committed_at', to_json(made), 'hash', md5(n::text) || '01234567', 'message', 'Change number ' || n,
    'url', 'https://github.com/acme/shop/commit/' || md5(n::text) || '01234567',
    'clone_url', 'https://github.com/acme/shop.git', 'download_url', null)`
  const deployment = `jsonb_build_object('type', 'branch', 'source_type', 'branch', 'source_ref', 'main',
    'repository', 'acme/shop', 'provider_name', 'github')`
  const variables = `jsonb_build_object('branch', 'main', 'commit', md5(n::text) || '01234567', 'author', 'Ada',
    'message', 'Change number ' || n, 'repository', 'acme/shop')`
  const isDeploy = `operation = 'deploy'`
  const isHook = `trigger_type = 'hook'`
  return `insert into actions (id, environment_id, pipeline_id, type, status, status_reason_code, trigger_type, origin,
      trigger_name, trigger_email, ip_address, triggered_by, hook_id, hook_request_id, hook_parsed_variables,
      release_name, commit, deployment, credential_id, started_at, completed_at, created_at, updated_at)
    overriding system value
    with drawn as materialized (
      select n, random() as kind, random() as result, floor(power(random(), 2) * (select count(*) from ranked_pipelines)) as rank,
        date_trunc('second', now()) - interval '10 minutes'
          - (${count} - n) * (interval '365 days' / ${count}) as made
      from generate_series(${from}, ${to}) as n
    ), decided as (
      select *, case when kind < 0.7 and hook_id is not null then 'hook' when kind < 0.95 then 'manual'
          when kind < 0.98 then 'retry' else 'pipeline' end as trigger_type,
        case when n > ${count} - 3 then 'in-progress' when n > ${count} - 6 then 'queued'
          when result < 0.87 then 'completed' when result < 0.97 then 'failed' else 'skipped' end as status
      from drawn join ranked_pipelines using (rank)
    )
    select n, environment_id, pipeline_id, operation, status,
      case status when 'in-progress' then 'IN_PROGRESS' else upper(status) end, trigger_type,
      case when ${isHook} then 'github' else 'dashboard' end, 'Ada', 'ada@example.com', '192.0.2.7',
      case when trigger_type = 'manual' then ${ownerId} end,
      case when ${isHook} then hook_id end, case when ${isHook} then uuidv7(made - clock_timestamp()) end,
      case when ${isHook} then ${variables} else '{}' end,
      case when ${isDeploy} then to_char(made, 'YYYYMMDDHH24MISS') end,
      case when ${isDeploy} then ${commit} end, case when ${isDeploy} then ${deployment} end, credential_id,
      case when status in ('in-progress', 'completed', 'failed') then made + interval '1 second' end,
      case when status in ('completed', 'failed', 'skipped') then made + interval '40 seconds' end,
      made, made + interval '40 seconds'
    from decided order by n`
}

type Result = { status: string; steps: readonly [status: string, reason: string][] }

/** Steps end as their target does: after a failure at the third, the rest is skipped. */
const RESULTS: Result[] = [
  { status: 'completed', steps: steps(['completed', 6]) },
  { status: 'failed', steps: steps(['completed', 2], ['failed', 1], ['skipped', 3]) },
  { status: 'skipped', steps: steps(['skipped', 6]) },
  { status: 'in-progress', steps: steps(['pending', 6]) },
  { status: 'queued', steps: steps(['pending', 6]) },
]

function steps(...runs: [status: string, times: number][]): [string, string][] {
  return runs.flatMap(([status, times]) => Array(times).fill([status, status.toUpperCase()]))
}

const TIME = '2026-01-01T00:00:00.000Z'

/** The steps of each result, with the same times for all: building them row by row takes minutes. */
function stepsTable(): string {
  const rows = RESULTS.flatMap(({ status, steps }) => {
    const planned = DEPLOY_STEPS.map((step, index) => ({
      order: index + 1,
      ...step,
      status: steps[index]![0],
      reason: steps[index]![1],
      started_at: ['completed', 'failed'].includes(steps[index]![0]) ? TIME : null,
      completed_at: steps[index]![0] === 'pending' ? null : TIME,
      updated_at: TIME,
    }))
    return [
      `('deploy', '${status}', '${JSON.stringify(planned)}'::jsonb)`,
      `('restart', '${status}', '${JSON.stringify(planned.slice(0, 1))}'::jsonb)`,
    ]
  })
  return `create temporary table planned_steps as
    select * from (values ${rows.join(', ')}) as planned (type, status, steps)`
}

function targetRows(from: number, to: number): string {
  return `insert into targets (action_id, position, server_id, status, status_reason_code, steps, release_name,
      started_at, completed_at, created_at, updated_at)
    select a.id, 1, ranked_pipelines.server_id, a.status, a.status_reason_code, planned.steps, a.release_name,
      a.started_at, a.completed_at, a.created_at, a.updated_at
    from actions a join ranked_pipelines using (pipeline_id) join planned_steps planned using (type, status)
    where a.id between ${from} and ${to} order by a.id`
}

/** Without bodies: Gantry deletes those after a month. */
function hookRequestRows(from: number, to: number): string {
  return `insert into hook_requests (id, hook_id, type, action_id, ip_address, url, method, outcome,
      response_status_code, created_at, updated_at)
    select hook_request_id, hook_id, 'incoming', id, ip_address, '/hooks/' || hook_id, 'POST', 'accepted',
      202, created_at, created_at
    from actions where id between ${from} and ${to} and hook_request_id is not null order by id`
}
