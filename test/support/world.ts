// Creates what tests need directly in the database: users, trees, runs.
import { randomUUID, randomUUIDv7 } from 'node:crypto'
import { type Insertable, sql } from 'kysely'
import type { BuiltInRole } from '#access/authorization/permissions.ts'
import { DEPLOY_STEPS } from '#model/pipelines/built-in-steps.ts'
import { hashToken, newToken } from '#platform/crypto/tokens.ts'
import type { Database } from '#platform/database/connect.ts'
import type {
  ActionsTable,
  HooksTable,
  HookType,
  StoredStep,
  Tables,
  TargetsTable,
} from '#platform/database/tables.ts'
import {
  BUILT_IN,
  createApplication,
  createCredential,
  createEnvironment,
  createOrganization,
  createPipeline,
  createProject,
  createServer,
  next,
} from './inventory.ts'

export type Person = { id: number; email: string; token: string }

export async function createPerson(
  db: Database,
  options: { admin?: boolean; passwordHash?: string } = {},
): Promise<Person> {
  const email = `person${next()}-${randomUUID().slice(0, 8)}@example.com`
  const { id } = await db
    .insertInto('users')
    .values({
      name: email.split('@')[0]!,
      email,
      url_slug: email.split('@')[0]!,
      is_instance_admin: options.admin ?? false,
      password_hash: options.passwordHash ?? null,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return { id, email, token: await createAccessToken(db, id) }
}

export async function createAccessToken(
  db: Database,
  userId: number,
  expiresAt = new Date(Date.now() + 3_600_000),
): Promise<string> {
  const token = newToken('access')
  const family = randomUUID()
  // Tests of migrations fill databases that have no such table yet.
  const { rows } = await sql`select where to_regclass('sessions') is not null`.execute(db)
  if (rows.length > 0)
    await db.insertInto('sessions').values({ user_id: userId, family, kind: 'api' }).execute()
  await db
    .insertInto('tokens')
    .values({
      user_id: userId,
      kind: 'access',
      family,
      hash: hashToken(token),
      expires_at: expiresAt,
    })
    .execute()
  return token
}

/** A complete tree, down to a deploy pipeline on an application with two servers. */
export type TestTree = {
  owner: Person
  organizationId: number
  projectId: number
  environmentId: number
  credentialId: number
  serverIds: number[]
  applicationId: number
  pipelineId: number
  serverPipelineId: number
}

export async function createTestTree(db: Database): Promise<TestTree> {
  const owner = await createPerson(db)
  const organizationId = await createOrganization(db, owner.id)
  await grantRole(db, owner.id, 'owner', { organizationId })
  const made = { created_by: owner.id, organization_id: organizationId }
  const credentialId = await createCredential(db, { ...made, name: 'Source' })
  const projectId = await createProject(db, made)
  return {
    owner,
    organizationId,
    projectId,
    credentialId,
    ...(await addEnvironment(db, owner.id, projectId, credentialId)),
  }
}

/** Another environment with an application, two servers and two pipelines, in an existing project. */
export async function addEnvironment(db: Database, ownerId: number, projectId: number, credentialId: number) {
  const environmentId = await createEnvironment(db, projectId)
  const place = { createdBy: ownerId, environmentId }
  const serverIds: number[] = []
  for (const name of ['web-1', 'web-2'])
    serverIds.push(
      await createServer(db, place, {
        name,
        provider_code: 'ssh',
        host: `${name}.example.com`,
        port: 22,
        login_name: 'deploy',
        root_directory: '/srv',
      }),
    )
  const applicationId = await createApplication(db, place, serverIds, {
    project_id: projectId,
    repository: 'https://github.com/acme/shop.git',
    programming_language: 'php',
    framework: 'laravel',
    credential_id: credentialId,
  })
  const pipelineId = await createPipeline(db, place, BUILT_IN, {
    resource_type: 'application',
    application_id: applicationId,
    name: 'Deploy',
    operation: 'deploy',
  })
  const serverPipelineId = await createPipeline(db, place, [], {
    resource_type: 'server',
    server_id: serverIds[0]!,
    name: 'Restart',
    operation: 'restart',
  })
  return { environmentId, serverIds, applicationId, pipelineId, serverPipelineId }
}

export async function grantRole(
  db: Database,
  userId: number,
  role: BuiltInRole,
  where: { organizationId: number; projectId?: number; environmentId?: number },
): Promise<void> {
  await db
    .insertInto('grants')
    .values({
      user_id: userId,
      built_in_role: role,
      organization_id: where.organizationId,
      project_id: where.projectId ?? null,
      environment_id: where.environmentId ?? null,
    })
    .execute()
}

/** A user with one role on the organization of a tree. */
export async function createMember(db: Database, tree: TestTree, role: BuiltInRole): Promise<Person> {
  const person = await createPerson(db)
  await grantRole(db, person.id, role, { organizationId: tree.organizationId })
  return person
}

/** On the first server of the tree. */
export async function makeLive(
  db: Database,
  { applicationId, serverIds }: Pick<TestTree, 'applicationId' | 'serverIds'>,
  actionId: number,
): Promise<void> {
  await sql`
    insert into live_releases (application_id, server_id, action_id, release_name, commit_sha)
    select ${applicationId}, ${serverIds[0]}, id, coalesce(release_name, '20260101000000-aaaaaaa'), commit ->> 'hash'
    from actions where id = ${actionId}
    on conflict (application_id, server_id) do update
    set action_id = excluded.action_id, release_name = excluded.release_name, commit_sha = excluded.commit_sha`.execute(
    db,
  )
}

/** A finished deploy of the tree's application, with both targets; every column can be overridden. */
export async function createAction(
  db: Database,
  tree: Pick<TestTree, 'environmentId' | 'pipelineId' | 'serverIds'>,
  more: Partial<Insertable<ActionsTable>> = {},
  targetMore: Partial<Insertable<TargetsTable>> = {},
): Promise<number> {
  const now = new Date().toISOString()
  const ended = { started_at: now, completed_at: now }
  const { id } = await db
    .insertInto('actions')
    .values({
      environment_id: tree.environmentId,
      pipeline_id: tree.pipelineId,
      type: 'deploy',
      status: 'completed',
      status_reason_code: 'COMPLETED',
      trigger_type: 'manual',
      ...ended,
      ...more,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  if (tree.serverIds.length === 0) return id
  const steps: StoredStep[] = DEPLOY_STEPS.map((step, index) => ({
    order: index + 1,
    step_id: index + 1,
    name: step.name,
    description: step.description,
    status: 'completed',
    reason: 'COMPLETED',
    ...ended,
    updated_at: now,
  }))
  await db
    .insertInto('targets')
    .values(
      tree.serverIds.map((server_id, index) => ({
        action_id: id,
        position: index + 1,
        server_id,
        status: 'completed' as const,
        status_reason_code: 'COMPLETED' as const,
        steps: JSON.stringify(steps),
        ...ended,
        ...targetMore,
      })),
    )
    .execute()
  return id
}

/** Many completed deploys without targets, in one statement; created one second apart from `from` on. */
export async function createManyActions(
  db: Database,
  place: Pick<TestTree, 'environmentId' | 'pipelineId'>,
  count: number,
  from: Date,
): Promise<void> {
  await sql`
    insert into actions (environment_id, pipeline_id, type, status, status_reason_code, trigger_type,
      started_at, completed_at, created_at)
    select ${place.environmentId}, ${place.pipelineId}, 'deploy', 'completed', 'COMPLETED', 'manual',
      moment, moment, moment
    from generate_series(1, ${count}::int) as number, lateral (
      select ${from}::timestamptz + number * interval '1 second' as moment) as m`.execute(db)
}

/** A hook of the tree's deploy pipeline; every column can be overridden. */
export async function createHook(
  db: Database,
  tree: Pick<TestTree, 'owner' | 'environmentId' | 'pipelineId'>,
  type: HookType,
  more: Partial<Insertable<HooksTable>> = {},
): Promise<string> {
  const ofType =
    type === 'incoming'
      ? { requires_secret: false, url_token: Buffer.from('sealed'), url_token_hash: hashToken(randomUUID()) }
      : { target_url: 'https://example.com/', verify_ssl: true, secret: Buffer.from('sealed') }
  const { id } = await db
    .insertInto('hooks')
    .values({
      id: randomUUID(),
      pipeline_id: tree.pipelineId,
      environment_id: tree.environmentId,
      type,
      name: `Hook ${next()}`,
      action_type: 'deploy',
      settings: '{}',
      trigger_when: '{}',
      created_by: tree.owner.id,
      edited_by: tree.owner.id,
      ...ofType,
      ...more,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** A call received by a hook, or a delivery that it sent. */
export async function createHookRequest(
  db: Database,
  hookId: string,
  type: HookType,
  more: Partial<Insertable<Tables['hook_requests']>> = {},
): Promise<string> {
  const { id } = await db
    .insertInto('hook_requests')
    .values({
      id: randomUUIDv7(),
      hook_id: hookId,
      type,
      url: 'https://example.com/',
      method: 'POST',
      outcome: type === 'incoming' ? 'accepted' : 'delivered',
      ...more,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** What was recorded about an object, oldest first. */
export function auditOf(db: Database, type: string, id: number) {
  return db
    .selectFrom('audit_entries')
    .selectAll()
    .where('subject_type', '=', type)
    .where('subject_id', '=', String(id))
    .orderBy('id')
    .execute()
}
