// One row of each kind, straight into the database: whatever a test does not name has a default.
import { randomUUID } from 'node:crypto'
import type { Insertable } from 'kysely'
import { DEPLOY_STEPS } from '#model/pipelines/built-in-steps.ts'
import type { Database } from '#platform/database/connect.ts'
import type { HealthCheck, Tables } from '#platform/database/tables.ts'

type Row<Table extends keyof Tables> = Partial<Insertable<Tables[Table]>>
type Marks = { idempotent?: boolean; irreversible?: boolean; run_on_revert?: boolean }
/** A custom step, the name of a built-in one, or `check-health` with what it checks. */
export type StepInput =
  | string
  | ({ name: string; command: string; timeout_seconds?: number } & Marks)
  | { name: 'check-health'; health_check: HealthCheck }

export const BUILT_IN: string[] = DEPLOY_STEPS.map(({ name }) => name)

/** The built-in steps of a deploy, with others after the named ones. */
export function deployWith(behind: Record<string, StepInput | StepInput[]>): StepInput[] {
  return BUILT_IN.flatMap((name) => [name, ...[behind[name] ?? []].flat()])
}

/** Whoever creates it, and in which environment. */
export type Place = { createdBy: number; environmentId: number }

let counter = 0
/** For names that have to differ. */
export const next = () => ++counter

export async function createOrganization(
  db: Database,
  ownerId: number,
  more: Row<'organizations'> = {},
): Promise<number> {
  const name = `Organization ${next()}`
  const { id } = await db
    .insertInto('organizations')
    .values({
      name,
      url_slug: `organization-${counter}-${randomUUID().slice(0, 8)}`,
      owner_id: ownerId,
      ...more,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

export async function createProject(
  db: Database,
  row: Row<'projects'> & { organization_id: number; created_by: number },
): Promise<number> {
  const { id } = await db
    .insertInto('projects')
    .values({ name: `Project ${next()}`, ...row })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** A token of GitHub whose value nobody can open. */
export async function createCredential(
  db: Database,
  row: Row<'credentials'> & { organization_id: number; created_by: number },
): Promise<number> {
  const { id } = await db
    .insertInto('credentials')
    .values({
      name: `Source ${next()}`,
      provider_code: 'github',
      auth_type: 'token',
      secret: Buffer.from('sealed'),
      ...row,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

export async function createEnvironment(db: Database, projectId: number): Promise<number> {
  const { id } = await db
    .insertInto('environments')
    .values({ project_id: projectId, type: 'production', name: `Environment ${next()}` })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

export async function createServer(
  db: Database,
  { createdBy, environmentId }: Place,
  row: Row<'servers'> & { root_directory: string },
): Promise<number> {
  const { id } = await db
    .insertInto('servers')
    .values({
      created_by: createdBy,
      environment_id: environmentId,
      name: 'here',
      provider_code: 'local',
      ...row,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** `Shop`, on these servers. */
export async function createApplication(
  db: Database,
  { createdBy, environmentId }: Place,
  serverIds: readonly number[],
  row: Row<'applications'> & { project_id: number; repository: string },
): Promise<number> {
  const { id } = await db
    .insertInto('applications')
    .values({
      created_by: createdBy,
      environment_id: environmentId,
      name: 'Shop',
      folder: 'shop',
      default_branch: 'main',
      ...row,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  const links = serverIds.map((server_id) => ({
    application_id: id,
    server_id,
    environment_id: environmentId,
  }))
  if (links.length > 0) await db.insertInto('application_servers').values(links).execute()
  return id
}

export async function createPipeline(
  db: Database,
  { createdBy, environmentId }: Place,
  steps: readonly StepInput[],
  row: Row<'pipelines'> & Pick<Insertable<Tables['pipelines']>, 'resource_type' | 'operation'>,
): Promise<number> {
  const { id } = await db
    .insertInto('pipelines')
    .values({
      created_by: createdBy,
      environment_id: environmentId,
      name: `Pipeline ${next()}`,
      ...row,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  const rows = steps.map((step, index) => ({ pipeline_id: id, position: index + 1, ...rowOf(step) }))
  if (rows.length > 0) await db.insertInto('pipeline_steps').values(rows).execute()
  return id
}

function rowOf(step: StepInput) {
  if (typeof step === 'string')
    return { ...DEPLOY_STEPS.find(({ name }) => name === step), name: step, built_in: true }
  if (!('health_check' in step)) return { ...step, built_in: false }
  return { ...step, health_check: JSON.stringify(step.health_check), built_in: true }
}
