// What runs need in the database: environments, servers, applications and pipelines.
import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Insertable } from 'kysely'
import { credentialAad, variableAad } from '#model/inventory/sealed-aad.ts'
import { DEPLOY_STEPS } from '#model/pipelines/built-in-steps.ts'
import { createSecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type {
  ApplicationsTable,
  HealthCheck,
  PipelinesTable,
  ServersTable,
} from '#platform/database/tables.ts'
import type { Sshd } from './sshd.ts'
import { grantRole, type Person } from './world.ts'

type Marks = { idempotent?: boolean; irreversible?: boolean; run_on_revert?: boolean }
/** A custom step, the name of a built-in one, or `check-health` with what it checks. */
export type StepInput =
  | string
  | ({ name: string; command: string; timeout_seconds?: number } & Marks)
  | { name: 'check-health'; health_check: HealthCheck }
export type ApplicationInput = Partial<Insertable<ApplicationsTable>> & {
  variables?: { name: string; value: string; hidden?: boolean }[]
}

export const BUILT_IN: string[] = DEPLOY_STEPS.map(({ name }) => name)

/** The built-in steps of a deploy, with others after the named ones. */
export function deployWith(behind: Record<string, StepInput | StepInput[]>): StepInput[] {
  return BUILT_IN.flatMap((name) => [name, ...[behind[name] ?? []].flat()])
}

function rowOf(step: StepInput) {
  if (typeof step === 'string') return { name: step, built_in: true }
  if (!('health_check' in step)) return { ...step, built_in: false }
  return { ...step, health_check: JSON.stringify(step.health_check), built_in: true }
}

export async function createInventory(
  db: Database,
  { key, folder, admin }: { key: Buffer; folder: string; admin: Person },
) {
  const box = createSecretBox([key])
  const made = { created_by: admin.id }
  let count = 0
  const { id: organizationId } = await db
    .insertInto('organizations')
    .values({ name: 'Acme', url_slug: 'acme', owner_id: admin.id })
    .returning('id')
    .executeTakeFirstOrThrow()
  await grantRole(db, admin.id, 'owner', { organizationId })
  const { id: projectId } = await db
    .insertInto('projects')
    .values({ ...made, organization_id: organizationId, name: 'Shop' })
    .returning('id')
    .executeTakeFirstOrThrow()

  async function makeEnvironment(): Promise<number> {
    const { id } = await db
      .insertInto('environments')
      .values({ project_id: projectId, type: 'production', name: `Environment ${++count}` })
      .returning('id')
      .executeTakeFirstOrThrow()
    return id
  }

  /** A root folder that Gantry creates itself. */
  const newLocalServer = () => ({
    name: `here-${++count}`,
    provider_code: 'local' as const,
    root_directory: join(folder, `site-${count}`),
  })

  /** An account of an sshd. Its root folder exists and is writable by everyone. */
  async function newSshServer({ hostKey, privateKey, ...sshd }: Sshd, account: number) {
    const root_directory = join(folder, `site-${++count}`)
    await mkdir(root_directory)
    await chmod(root_directory, 0o777)
    return {
      name: `web-${account + 1}`,
      provider_code: 'ssh' as const,
      host: '127.0.0.1',
      // As if an instance administrator had saved it.
      allow_loopback: true,
      port: sshd.port,
      login_name: sshd.accounts[account % sshd.accounts.length]!.name,
      host_key: hostKey as string | null,
      credential_id: await makeKeyCredential(privateKey),
      root_directory,
    }
  }

  async function makeKeyCredential(privateKey: string): Promise<number> {
    const { id } = await db
      .insertInto('credentials')
      .values({
        ...made,
        organization_id: organizationId,
        name: `Key ${++count}`,
        provider_code: 'ssh',
        auth_type: 'key',
        secret: Buffer.from('sealed below'),
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    const secret = box.seal(privateKey, credentialAad(id))
    await db.updateTable('credentials').set({ secret }).where('id', '=', id).execute()
    return id
  }

  async function makeServer(
    environmentId: number,
    server: Partial<Insertable<ServersTable>> & { root_directory: string },
  ): Promise<number> {
    const { id } = await db
      .insertInto('servers')
      .values({ ...made, environment_id: environmentId, name: 'here', provider_code: 'local', ...server })
      .returning('id')
      .executeTakeFirstOrThrow()
    return id
  }

  async function makeApplication(
    environmentId: number,
    serverIds: number[],
    { variables = [], ...input }: ApplicationInput & { repository: string },
  ): Promise<number> {
    const { id } = await db
      .insertInto('applications')
      .values({
        ...made,
        project_id: projectId,
        environment_id: environmentId,
        name: 'Shop',
        folder: 'shop',
        default_branch: 'main',
        ...input,
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    const links = serverIds.map((server_id) => ({
      application_id: id,
      server_id,
      environment_id: environmentId,
    }))
    await db.insertInto('application_servers').values(links).execute()
    for (const { name, value, hidden = false } of variables) {
      const variable = await db
        .insertInto('application_variables')
        .values({ application_id: id, name, hidden, value: Buffer.from('sealed below') })
        .returning('id')
        .executeTakeFirstOrThrow()
      await db
        .updateTable('application_variables')
        .set({ value: box.seal(value, variableAad(variable.id)) })
        .where('id', '=', variable.id)
        .execute()
    }
    return id
  }

  async function makePipeline(
    environmentId: number,
    steps: StepInput[],
    pipeline: Partial<Insertable<PipelinesTable>> &
      Pick<Insertable<PipelinesTable>, 'resource_type' | 'operation'>,
  ): Promise<number> {
    const { id } = await db
      .insertInto('pipelines')
      .values({ ...made, environment_id: environmentId, name: `Pipeline ${++count}`, ...pipeline })
      .returning('id')
      .executeTakeFirstOrThrow()
    const rows = steps.map((step, index) => ({
      pipeline_id: id,
      position: index + 1,
      ...rowOf(step),
    }))
    await db.insertInto('pipeline_steps').values(rows).execute()
    return id
  }

  return {
    owner: admin,
    organizationId,
    makeEnvironment,
    newLocalServer,
    newSshServer,
    makeServer,
    makeApplication,
    makePipeline,
  }
}
