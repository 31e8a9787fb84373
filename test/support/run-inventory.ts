// What runs need beyond rows: folders to deploy to, and secrets that open.
import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Insertable } from 'kysely'
import { credentialAad, variableAad } from '#model/inventory/sealed-aad.ts'
import { createSecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ApplicationsTable } from '#platform/database/tables.ts'
import {
  createApplication,
  createCredential,
  createEnvironment,
  createOrganization,
  createPipeline,
  createProject,
  createServer,
  type StepInput,
} from './inventory.ts'
import type { Sshd } from './sshd.ts'
import { grantRole, type Person } from './world.ts'

export type ApplicationInput = Partial<Insertable<ApplicationsTable>> & {
  variables?: { name: string; value: string; hidden?: boolean }[]
}

export async function createInventory(
  db: Database,
  { key, folder, admin }: { key: Buffer; folder: string; admin: Person },
) {
  const box = createSecretBox([key])
  let count = 0
  const organizationId = await createOrganization(db, admin.id, { name: 'Acme', url_slug: 'acme' })
  await grantRole(db, admin.id, 'owner', { organizationId })
  const owned = { created_by: admin.id, organization_id: organizationId }
  const projectId = await createProject(db, { ...owned, name: 'Shop' })
  const placeOf = (environmentId: number) => ({ createdBy: admin.id, environmentId })

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
    const id = await createCredential(db, {
      ...owned,
      name: `Key ${++count}`,
      provider_code: 'ssh',
      auth_type: 'key',
    })
    const secret = box.seal(privateKey, credentialAad(id))
    await db.updateTable('credentials').set({ secret }).where('id', '=', id).execute()
    return id
  }

  async function makeApplication(
    environmentId: number,
    serverIds: number[],
    { variables = [], ...input }: ApplicationInput & { repository: string },
  ): Promise<number> {
    const row = { project_id: projectId, ...input }
    const id = await createApplication(db, placeOf(environmentId), serverIds, row)
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

  return {
    owner: admin,
    organizationId,
    makeEnvironment: () => createEnvironment(db, projectId),
    newLocalServer,
    newSshServer,
    makeServer: (environmentId: number, server: Parameters<typeof createServer>[2]) =>
      createServer(db, placeOf(environmentId), server),
    makeApplication,
    makePipeline: (
      environmentId: number,
      steps: StepInput[],
      pipeline: Parameters<typeof createPipeline>[3],
    ) => createPipeline(db, placeOf(environmentId), steps, pipeline),
  }
}
