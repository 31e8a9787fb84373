import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { TestTree } from '#test/support/world.ts'
import type { Condition, Spot } from './conditions.ts'
import type { Scenario } from './scenario.ts'

/** The servers and pipelines of a scenario, in a separate environment. */
export type Stage = {
  environmentId: number
  servers: Map<string, number>
  pipelines: Map<string, number>
  /** Actions are numbered in the order in which they were created. */
  numberOf(actionId: number): Promise<number>
  idOf(action: number): Promise<number>
  /** Whether an action, or its target on a server, has reached a status. */
  hasBeen(condition: Extract<Condition, { kind: 'is' }>): Promise<boolean>
  hasPrinted(spot: Spot): Promise<boolean>
  /** Every action has ended. */
  isOver(): Promise<boolean>
  /** What is left in the queue; scenarios do not share it. */
  jobs(): Promise<object[]>
}

type Scope = { environmentId: number; projectId: number; owner: { id: number } }

export async function setStage(db: Database, tree: TestTree, scenario: Scenario): Promise<Stage> {
  const { id: environmentId } = await db
    .insertInto('environments')
    .values({ project_id: tree.projectId, type: 'production', name: randomUUID() })
    .returning('id')
    .executeTakeFirstOrThrow()
  const scope = { ...tree, environmentId }
  const servers = await makeServers(db, scope, scenario)
  const pipelines = new Map<string, number>()
  for (const name of Object.keys(scenario.pipelines))
    pipelines.set(name, await makePipeline(db, scope, servers, name, scenario.pipelines[name]!))
  for (const [name, { run_after = [] }] of Object.entries(scenario.pipelines))
    for (const after of run_after)
      await db
        .insertInto('pipeline_run_after')
        .values({
          pipeline_id: pipelines.get(name)!,
          after_pipeline_id: pipelines.get(after)!,
          environment_id: environmentId,
        })
        .execute()

  async function actionIds(): Promise<number[]> {
    const rows = await db
      .selectFrom('actions')
      .select('id')
      .where('environment_id', '=', environmentId)
      .orderBy('id')
      .execute()
    return rows.map(({ id }) => id)
  }

  return {
    environmentId,
    servers,
    pipelines,
    numberOf: async (actionId) => (await actionIds()).indexOf(actionId) + 1,
    async idOf(action) {
      const id = (await actionIds())[action - 1]
      if (id === undefined) throw new Error(`Action ${action} does not exist yet`)
      return id
    },
    async hasBeen({ action, status, server }) {
      const actionId = (await actionIds())[action - 1] ?? null
      const { rows } = server
        ? await sql`
            select from target_moves m join targets t on t.id = m.target_id
            where t.action_id = ${actionId} and t.server_id = ${servers.get(server)} and m.step_order is null
              and m.status = ${status}`.execute(db)
        : await sql`select from events where action_id = ${actionId} and status = ${status}`.execute(db)
      return rows.length > 0
    },
    async hasPrinted({ command, action, server }) {
      const { rows } = await sql`
        select from step_log_chunks l
        join targets t on t.id = l.target_id
        join actions a on a.id = t.action_id
        join servers s on s.id = t.server_id
        where a.environment_id = ${environmentId} and t.steps -> (l.step_order - 1) ->> 'name' = ${command}
          and ${action ? sql`a.id = ${(await actionIds())[action - 1]}` : sql`true`}
          and ${server ? sql`s.name = ${server}` : sql`true`}`.execute(db)
      return rows.length > 0
    },
    async isOver() {
      const { rows } = await sql`
        select from actions where environment_id = ${environmentId} and completed_at is null`.execute(db)
      return rows.length === 0
    },
    jobs: async () => (await sql<object>`select name, state, data from queue.job`.execute(db)).rows,
  }
}

async function makeServers(
  db: Database,
  { environmentId, owner }: Scope,
  { servers }: Scenario,
): Promise<Map<string, number>> {
  const rows = await db
    .insertInto('servers')
    .values(
      Object.entries(servers).map(([name, { max_parallel_actions }]) => ({
        environment_id: environmentId,
        name,
        provider_code: 'ssh' as const,
        host: `${name}.example.com`,
        port: 22,
        login_name: 'deploy',
        root_directory: '/srv',
        created_by: owner.id,
        ...(max_parallel_actions !== undefined && { max_parallel_actions }),
      })),
    )
    .returning(['name', 'id'])
    .execute()
  return new Map(rows.map(({ name, id }) => [name, id]))
}

/** Each has its own application, whose servers it runs on. */
async function makePipeline(
  db: Database,
  { environmentId, projectId, owner }: Scope,
  servers: Map<string, number>,
  name: string,
  { servers: wanted, steps, operation = 'custom', ...pipeline }: Scenario['pipelines'][string],
): Promise<number> {
  const made = { environment_id: environmentId, created_by: owner.id, name }
  const application = await db
    .insertInto('applications')
    .values({
      ...made,
      project_id: projectId,
      folder: `of-${name}`,
      repository: 'https://example.com/shop.git',
      default_branch: 'main',
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await db
    .insertInto('application_servers')
    .values(
      wanted.map((server) => ({
        application_id: application.id,
        server_id: servers.get(server)!,
        environment_id: environmentId,
      })),
    )
    .execute()
  const { id } = await db
    .insertInto('pipelines')
    .values({
      ...made,
      resource_type: 'application',
      application_id: application.id,
      operation,
      max_parallel_actions: pipeline.max_parallel_actions ?? 1,
      queue_policy: pipeline.queue_policy ?? 'queue',
      rollout: pipeline.rollout ? JSON.stringify(pipeline.rollout) : null,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await db
    .insertInto('pipeline_steps')
    .values(
      steps.map((step, index) => ({ ...step, pipeline_id: id, position: index + 1, name: step.command })),
    )
    .execute()
  return id
}
