// An action with every field set, in a tree with every field set.
import { randomUUID, randomUUIDv7 } from 'node:crypto'
import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { ReasonCode, Status, StoredStep } from '#platform/database/tables.ts'
import {
  addEnvironment,
  createAccessToken,
  createAction,
  createHook,
  createHookRequest,
  createMember,
  createTestTree,
  grantRole,
  makeLive,
  type Person,
} from './world.ts'

export const BORN = '2026-11-01T08:00:00.000Z'
export const CHANGED = '2026-11-02T08:00:00.120Z'
const dated = { created_at: BORN, updated_at: CHANGED }

export const COMMIT = {
  repository: 'acme/shop',
  author_name: 'Zoë',
  author_email: 'zoe@example.com',
  committed_at: '2026-11-01T07:00:00.000Z',
  hash: '1f0c5e7a9b3d4c2e8f6a7b5c4d3e2f1a0b9c8d7e',
  message: 'Sell more\n\nMuch more',
  url: 'https://github.com/acme/shop/commit/1f0c5e7a',
  clone_url: 'https://github.com/acme/shop.git',
  download_url: 'https://github.com/acme/shop/archive/1f0c5e7a.tar.gz',
}
export const DEPLOYMENT = {
  type: 'redeploy',
  source_type: 'branch',
  source_ref: 'main',
  repository: 'acme/shop',
  provider_name: 'github',
}
export const VARIABLES = { branch: 'main', build: 42, dry: false, files: ['a', 'b'] }

export type FullAction = Awaited<ReturnType<typeof createFullAction>>

export async function createFullAction(db: Database) {
  const tree = await createTestTree(db)
  const { organizationId, projectId, environmentId, credentialId, applicationId, serverIds, owner } = tree
  const person = (name: string, more: { active?: boolean; language?: string } = {}) =>
    createNamedPerson(db, name, more)
  const [projectMaker, credentialMaker, retrier] = [
    await person('Bob'),
    await person('Cleo', { active: false }),
    await person('Dan', { language: 'de' }),
  ]
  await grantRole(db, retrier.id, 'developer', { organizationId })

  await db
    .updateTable('users')
    .set({ ...dated, name: 'Ada' })
    .where('id', '=', owner.id)
    .execute()
  await db
    .updateTable('organizations')
    .set({ ...dated, name: 'Acme' })
    .where('id', '=', organizationId)
    .execute()
  await db
    .updateTable('projects')
    .set({ ...dated, name: 'Web', logo_url: 'https://acme.example/logo.svg', created_by: projectMaker.id })
    .where('id', '=', projectId)
    .execute()
  await db
    .updateTable('environments')
    .set({ ...dated, name: 'Live', description: 'Where customers are', archived_at: CHANGED })
    .where('id', '=', environmentId)
    .execute()
  await db
    .updateTable('credentials')
    .set({ ...dated, name: 'GitHub of Acme', active: false, created_by: credentialMaker.id })
    .where('id', '=', credentialId)
    .execute()
  await db.updateTable('servers').set({ login_name: 'www' }).where('id', '=', serverIds[1]!).execute()
  await db
    .updateTable('applications')
    .set({
      ...dated,
      engine_version: '8.5',
      root_directory: 'apps/shop',
      install_dependencies_command: 'composer install',
      build_command: 'npm run build',
      deployments_keep: 7,
    })
    .where('id', '=', applicationId)
    .execute()

  const hookId = await createHook(db, tree, 'incoming', { name: 'Push to main' })
  const watcherId = await createHook(db, tree, 'outgoing')
  const refusedCallId = await createHookRequest(db, hookId, 'incoming', { outcome: 'rejected_variables' })
  const callId = randomUUID()
  const deploy = { credential_id: credentialId, created_at: BORN }
  const restart = { ...tree, pipelineId: tree.serverPipelineId, serverIds: serverIds.slice(0, 1) }

  // The call and the run that it triggered refer to each other.
  const originalId = await db.transaction().execute(async (trx) => {
    const id = await createAction(trx, tree, {
      ...deploy,
      trigger_type: 'hook',
      trigger_name: 'Push to main',
      origin: 'GitHub-Hookshot/044aadd',
      ip_address: '192.0.2.7',
      hook_id: hookId,
      hook_request_id: callId,
      hook_parsed_variables: JSON.stringify(VARIABLES),
    })
    await createHookRequest(trx, hookId, 'incoming', {
      ...dated,
      id: callId,
      action_id: id,
      retry_of: refusedCallId,
      ip_address: '192.0.2.7',
      url: 'http://gantry.test/hooks/********/trigger',
      response_status_code: 202,
    })
    return id
  })
  const liveId = await createAction(db, tree, deploy)
  await makeLive(db, tree, liveId)
  const parentId = await createAction(db, restart, { type: 'restart' })

  const started_at = '2026-11-03T08:00:00.000Z'
  const completed_at = '2026-11-03T08:10:00.500Z'
  const id = await createAction(
    db,
    { ...tree, serverIds: [] },
    {
      ...dated,
      credential_id: credentialId,
      status: 'failed',
      status_reason_code: 'FAILED_TIMEOUT',
      trigger_type: 'retry',
      trigger_comment: 'Once more',
      origin: 'https://gantry.example',
      trigger_name: 'Dan',
      trigger_email: retrier.email,
      ip_address: '198.51.100.9',
      triggered_by: retrier.id,
      hook_id: hookId,
      hook_request_id: callId,
      hook_parsed_variables: JSON.stringify(VARIABLES),
      release_name: '20261103080000-1f0c5e7a',
      commit: JSON.stringify(COMMIT),
      deployment: JSON.stringify(DEPLOYMENT),
      retry_of: originalId,
      parent_id: parentId,
      started_at,
      completed_at,
    },
  )
  const step = (order: number, status: Status, reason: ReasonCode): StoredStep => ({
    order,
    step_id: order,
    name: `step-${order}`,
    description: `What step ${order} does`,
    status,
    reason,
    started_at: status === 'skipped' ? null : started_at,
    completed_at,
    updated_at: CHANGED,
  })
  const targets = await db
    .insertInto('targets')
    .values([
      {
        action_id: id,
        position: 1,
        server_id: serverIds[0]!,
        status: 'completed',
        status_reason_code: 'COMPLETED',
        steps: JSON.stringify([step(1, 'completed', 'COMPLETED'), step(2, 'completed', 'COMPLETED')]),
        started_at,
        completed_at,
        ...dated,
      },
      {
        action_id: id,
        position: 2,
        batch: 2,
        server_id: serverIds[1]!,
        status: 'failed',
        status_reason_code: 'FAILED_TIMEOUT',
        steps: JSON.stringify([step(1, 'failed', 'FAILED_TIMEOUT'), step(2, 'skipped', 'SKIPPED')]),
        started_at,
        completed_at,
        ...dated,
      },
    ])
    .returning('id')
    .execute()
  const childIds = [
    await createAction(db, restart, { type: 'restart', trigger_type: 'pipeline', parent_id: id }),
    await createAction(
      db,
      tree,
      {
        ...deploy,
        trigger_type: 'pipeline',
        parent_id: id,
        status: 'skipped',
        status_reason_code: 'SKIPPED',
        started_at: null,
      },
      { status: 'skipped', status_reason_code: 'SKIPPED', started_at: null },
    ),
  ]
  const latestId = childIds[1]!
  const [firstDeliveryId, deliveryId] = [randomUUIDv7(), randomUUIDv7()].sort() as [string, string]
  await createHookRequest(db, watcherId, 'outgoing', {
    id: firstDeliveryId,
    action_id: id,
    response_status_code: 503,
    created_at: BORN,
  })
  await createHookRequest(db, watcherId, 'outgoing', {
    id: deliveryId,
    action_id: id,
    retry_of: firstDeliveryId,
    ip_address: '203.0.113.5',
    url: 'https://chat.example/deployments',
    response_status_code: 200,
    created_at: CHANGED,
    updated_at: CHANGED,
  })

  const staging = await addEnvironment(db, owner.id, projectId, credentialId)
  const lastUseId = await createAction(db, staging, { ...deploy })
  await sql`insert into used_credits (environment_id, month, target_runs) values
    (${environmentId}, date_trunc('month', now()), 7),
    (${environmentId}, date_trunc('month', now()) - interval '1 month', 100),
    (${staging.environmentId}, date_trunc('month', now()), 5)`.execute(db)

  return {
    id,
    tree,
    projectMaker,
    credentialMaker,
    retrier,
    targetIds: targets.map((target) => target.id),
    hook: { id: hookId, callId, refusedCallId },
    delivery: { id: deliveryId, hookId: watcherId, firstId: firstDeliveryId },
    originalId,
    liveId,
    latestId,
    lastUseId,
    parentId,
    childIds,
    started_at,
    completed_at,
    viewer: await createMember(db, tree, 'viewer'),
  }
}

async function createNamedPerson(
  db: Database,
  name: string,
  more: { active?: boolean; language?: string },
): Promise<Person> {
  const slug = `${name.toLowerCase()}-${randomUUID().slice(0, 8)}`
  const { id } = await db
    .insertInto('users')
    .values({ name, email: `${slug}@example.com`, url_slug: slug, ...more, ...dated })
    .returning('id')
    .executeTakeFirstOrThrow()
  return { id, email: `${slug}@example.com`, token: await createAccessToken(db, id) }
}
