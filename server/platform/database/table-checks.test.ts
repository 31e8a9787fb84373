import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import { createTestDatabase } from '#test/support/database.ts'
import {
  createAction,
  createHook,
  createHookRequest,
  createTestTree,
  type TestTree,
} from '#test/support/world.ts'
import { openDatabase } from './connect.ts'

describe('constraints reject invalid rows', () => {
  let close = async () => {}
  let db: ReturnType<typeof openDatabase>['db']
  let ours: TestTree
  let theirs: TestTree
  let actionId: number
  let hookId: string
  let callId: string
  let roleId: number
  let invitationId: number
  let family: string

  before(async () => {
    const { settings, drop } = await createTestDatabase()
    const database = openDatabase(settings, { onIdleError: () => {} })
    db = database.db
    close = async () => {
      await database.close()
      await drop()
    }
    ours = await createTestTree(db)
    theirs = await createTestTree(db)
    actionId = await createAction(db, { ...ours, serverIds: [] })
    hookId = await createHook(db, ours, 'incoming')
    callId = await createHookRequest(db, hookId, 'incoming')
    const role = { organization_id: theirs.organizationId, name: 'Theirs', permissions: ['action:view'] }
    const made = await db.insertInto('roles').values(role).returning('id').executeTakeFirstOrThrow()
    roleId = made.id
    const invitation = {
      organization_id: ours.organizationId,
      email: 'new@example.com',
      invited_by: ours.owner.id,
      hash: Buffer.alloc(32),
      expires_at: '2100-01-01',
    }
    const invited = await db
      .insertInto('invitations')
      .values(invitation)
      .returning('id')
      .executeTakeFirstOrThrow()
    invitationId = invited.id
    const session = { user_id: ours.owner.id, family: randomUUID(), kind: 'api' } as const
    family = session.family
    await db.insertInto('sessions').values(session).execute()
  })
  after(() => close())

  type Row = Record<string, unknown>

  /** Inserts and takes it back. Deferred constraints speak before that. */
  async function insert(table: string, row: Row): Promise<void> {
    const taken = new Error('taken')
    const work = db.transaction().execute(async (trx) => {
      const columns = sql.join(Object.keys(row).map((column) => sql.ref(column)))
      await sql`insert into ${sql.table(table)} (${columns}) values (${sql.join(Object.values(row))})`.execute(
        trx,
      )
      await sql`set constraints all immediate`.execute(trx)
      throw taken
    })
    await work.catch((error) => {
      if (error !== taken) throw error
    })
  }

  /** A valid row of a table and variants of it, each rejected by a check, a reference or uniqueness. */
  function rejects(table: string, good: () => Row, bad: Record<string, () => Row>): void {
    describe(table, () => {
      test('accepts a valid row', () => insert(table, good()))
      for (const [name, change] of Object.entries(bad)) {
        test(`rejects ${name}`, async () => {
          await assert.rejects(insert(table, { ...good(), ...change() }), (error: { code?: string }) => {
            assert.match(error.code ?? '', /^23(502|503|505|514|P01)$/, String(error))
            return true
          })
        })
      }
    })
  }

  const NOW = '2026-11-15T08:00:00.000Z'
  const never = { started_at: null, completed_at: null }

  rejects(
    'actions',
    () => ({
      environment_id: ours.environmentId,
      pipeline_id: ours.pipelineId,
      type: 'deploy',
      status: 'completed',
      status_reason_code: 'COMPLETED',
      trigger_type: 'manual',
      started_at: NOW,
      completed_at: NOW,
    }),
    {
      'a status with the reason of another': () => ({ status_reason_code: 'FAILED' }),
      'a failure without a failure’s reason': () => ({ status: 'failed', status_reason_code: 'SKIPPED' }),
      'a reason that does not exist': () => ({ status_reason_code: 'LOST' }),
      'a status that does not exist': () => ({ status: 'lost' }),
      'queued for the reason of waiting': () => ({
        status: 'queued',
        status_reason_code: 'WAITING_CONCURRENCY_TARGET',
        ...never,
      }),
      'completed without an end': () => ({ completed_at: null }),
      'completed without a beginning': () => ({ started_at: null }),
      'in progress with an end': () => ({ status: 'in-progress', status_reason_code: 'IN_PROGRESS' }),
      'in progress without a beginning': () => ({
        status: 'in-progress',
        status_reason_code: 'PENDING',
        ...never,
      }),
      'pending with a beginning': () => ({
        status: 'pending',
        status_reason_code: 'PENDING',
        completed_at: null,
      }),
      'skipped with a beginning': () => ({ status: 'skipped', status_reason_code: 'SKIPPED' }),
      'a release of what is no deploy': () => ({
        type: 'restart',
        pipeline_id: ours.serverPipelineId,
        release_name: '20261115080000-1f0c5e7a',
      }),
      'a commit of what is no deploy': () => ({
        type: 'restart',
        pipeline_id: ours.serverPipelineId,
        commit: '{}',
      }),
      'a hook run without its hook': () => ({ trigger_type: 'hook', hook_request_id: callId }),
      'a hook run without its call': () => ({ trigger_type: 'hook', hook_id: hookId }),
      'a run by hand with a hook': () => ({ hook_id: hookId }),
      'an unknown trigger': () => ({ trigger_type: 'cron' }),
      'a comment that is too long': () => ({ trigger_comment: 'x'.repeat(256) }),
      'a parent that is not there': () => ({ parent_id: 999_999 }),
      'a retry of what is not there': () => ({ retry_of: 999_999 }),
    },
  )

  rejects(
    'targets',
    () => ({
      action_id: actionId,
      position: 1,
      server_id: ours.serverIds[0],
      status: 'queued',
      status_reason_code: 'QUEUED',
      steps: '[]',
    }),
    {
      'a status with the reason of another': () => ({ status_reason_code: 'PENDING' }),
      'a beginning while queued': () => ({ started_at: NOW }),
      'an end while queued': () => ({ completed_at: NOW }),
      'position 0': () => ({ position: 0 }),
      'steps that are no list': () => ({ steps: '{}' }),
    },
  )

  rejects(
    'grants',
    () => ({
      user_id: theirs.owner.id,
      built_in_role: 'viewer',
      organization_id: ours.organizationId,
      project_id: ours.projectId,
      environment_id: ours.environmentId,
    }),
    {
      'a project of another organization': () => ({ project_id: theirs.projectId, environment_id: null }),
      'an environment of another project': () => ({ environment_id: theirs.environmentId }),
      'an environment without its project': () => ({ project_id: null }),
      'a custom role of another organization': () => ({ built_in_role: null, role_id: roleId }),
      'two roles at once': () => ({ role_id: roleId }),
      'no role at all': () => ({ built_in_role: null }),
      'an unknown role': () => ({ built_in_role: 'king' }),
      'the same grant twice': () => ({
        user_id: ours.owner.id,
        built_in_role: 'owner',
        project_id: null,
        environment_id: null,
      }),
    },
  )

  rejects(
    'invitation_grants',
    () => ({
      invitation_id: invitationId,
      built_in_role: 'viewer',
      organization_id: ours.organizationId,
      project_id: ours.projectId,
    }),
    {
      'an invitation to another organization': () => ({
        organization_id: theirs.organizationId,
        project_id: theirs.projectId,
      }),
      'a project of another organization': () => ({ project_id: theirs.projectId }),
      'a custom role of another organization': () => ({ built_in_role: null, role_id: roleId }),
      'no role at all': () => ({ built_in_role: null }),
    },
  )

  rejects(
    'pipelines',
    () => ({
      environment_id: ours.environmentId,
      resource_type: 'server',
      server_id: ours.serverIds[0],
      name: 'Reload',
      operation: 'reload',
      created_by: ours.owner.id,
    }),
    {
      'a deploy on a server': () => ({ operation: 'deploy' }),
      'a server of another environment': () => ({ server_id: theirs.serverIds[0] }),
      'an application of another environment': () => ({
        resource_type: 'application',
        server_id: null,
        application_id: theirs.applicationId,
      }),
      'two resources': () => ({ application_id: ours.applicationId }),
      'no resource': () => ({ server_id: null }),
      'a resource of another type than it says': () => ({ resource_type: 'application' }),
      'an unknown operation': () => ({ operation: 'fly' }),
      'an unknown queue policy': () => ({ queue_policy: 'drop' }),
      'fewer than no parallel actions': () => ({ max_parallel_actions: -1 }),
    },
  )

  rejects(
    'hooks',
    () => ({
      id: randomUUID(),
      pipeline_id: ours.pipelineId,
      environment_id: ours.environmentId,
      type: 'outgoing',
      name: 'Chat',
      action_type: 'deploy',
      target_url: 'https://example.com/',
      verify_ssl: true,
      secret: Buffer.from('sealed'),
      settings: '{}',
      trigger_when: '{}',
      created_by: ours.owner.id,
      edited_by: ours.owner.id,
    }),
    {
      'outgoing without a secret': () => ({ secret: null }),
      'outgoing without a target': () => ({ target_url: null }),
      'outgoing with an address of its own': () => ({
        url_token: Buffer.from('sealed'),
        url_token_hash: Buffer.from('hash'),
      }),
      'outgoing that demands a secret of callers': () => ({ requires_secret: true }),
      'a pipeline of another environment': () => ({ pipeline_id: theirs.pipelineId }),
      'a removed one that keeps its secret': () => ({ deleted_at: NOW, active: false }),
      'a removed one that is active': () => ({ deleted_at: NOW, secret: null }),
      'switched off without a reason': () => ({ disabled_at: NOW }),
      'a previous secret without an end': () => ({ previous_secret: Buffer.from('old') }),
      'a name that is too long': () => ({ name: 'x'.repeat(61) }),
      'a target that is too long': () => ({ target_url: `https://example.com/${'x'.repeat(2048)}` }),
    },
  )

  const incoming = {
    type: 'incoming',
    target_url: null,
    verify_ssl: null,
    requires_secret: true,
    secret_algorithm: 'sha256',
    secret_header_name: 'X-Hub-Signature-256',
    url_token: Buffer.from('sealed'),
    url_token_hash: Buffer.from('hash'),
  }
  rejects(
    'hooks',
    () => ({
      ...incoming,
      id: randomUUID(),
      pipeline_id: ours.pipelineId,
      environment_id: ours.environmentId,
      name: 'Push',
      action_type: 'deploy',
      secret: Buffer.from('sealed'),
      settings: '{}',
      trigger_when: '{}',
      created_by: ours.owner.id,
      edited_by: ours.owner.id,
    }),
    {
      'incoming that demands a secret and has none': () => ({ secret: null }),
      'incoming that demands a secret without an algorithm': () => ({ secret_algorithm: null }),
      'incoming that demands a secret without a header': () => ({ secret_header_name: null }),
      'incoming by an unknown algorithm': () => ({ secret_algorithm: 'md5' }),
      'incoming without an address': () => ({ url_token: null, url_token_hash: null }),
      'incoming that does not say whether it demands a secret': () => ({ requires_secret: null }),
      'incoming with a target': () => ({ target_url: 'https://example.com/' }),
    },
  )

  rejects(
    'credentials',
    () => ({
      organization_id: ours.organizationId,
      name: 'GitLab',
      provider_code: 'gitlab',
      auth_type: 'token',
      secret: Buffer.from('sealed'),
      created_by: ours.owner.id,
    }),
    {
      'a token that is not there': () => ({ secret: null }),
      'a secret of none': () => ({ auth_type: 'none' }),
      'a key for what takes tokens': () => ({ auth_type: 'key' }),
      'a token for ssh': () => ({ provider_code: 'ssh' }),
      'an unknown provider': () => ({ provider_code: 'svn' }),
      'a name that is taken': () => ({ name: 'Source' }),
    },
  )

  rejects(
    'servers',
    () => ({
      environment_id: ours.environmentId,
      name: 'web-3',
      provider_code: 'ssh',
      host: 'web-3.example.com',
      port: 22,
      login_name: 'deploy',
      root_directory: '/srv',
      created_by: ours.owner.id,
    }),
    {
      'ssh without a host': () => ({ host: null }),
      'ssh without a port': () => ({ port: null }),
      'ssh without a login name': () => ({ login_name: null }),
      'a local one with a host': () => ({ provider_code: 'local' }),
      'a port that there is not': () => ({ port: 65_536 }),
      'a folder that is not absolute': () => ({ root_directory: 'srv' }),
      'a name that is taken': () => ({ name: 'web-1' }),
    },
  )

  rejects(
    'applications',
    () => ({
      project_id: ours.projectId,
      environment_id: ours.environmentId,
      name: 'Blog',
      folder: 'blog',
      repository: 'acme/blog',
      default_branch: 'main',
      created_by: ours.owner.id,
    }),
    {
      'an environment of another project': () => ({ environment_id: theirs.environmentId }),
      'keeping no release': () => ({ deployments_keep: 0 }),
      'keeping more than a hundred': () => ({ deployments_keep: 101 }),
      'another way with submodules': () => ({ submodules: 'clone' as 'fetch' }),
      'a name that is taken': () => ({ name: 'Shop' }),
      'a folder that is taken': () => ({ folder: 'shop' }),
      'a folder that leads elsewhere': () => ({ folder: '../blog' }),
    },
  )

  rejects(
    'pipeline_steps',
    () => ({ pipeline_id: ours.serverPipelineId, position: 1, name: 'reload', command: 'true' }),
    {
      'a step of one’s own without a command': () => ({ command: null }),
      'a built-in step with a command': () => ({ built_in: true }),
      'a position that is taken': () => ({ pipeline_id: ours.pipelineId }),
      'a command that is too long': () => ({ command: 'x'.repeat(65_537) }),
      'no time at all': () => ({ timeout_seconds: 0 }),
    },
  )

  rejects(
    'tokens',
    () => ({
      user_id: ours.owner.id,
      kind: 'access',
      family,
      hash: Buffer.alloc(32, 7),
      expires_at: NOW,
    }),
    {
      'an access token of no session': () => ({ family: randomUUID() }),
      'an access token without an end': () => ({ expires_at: null }),
      'an access token without a family': () => ({ family: null }),
      'a personal token without a name': () => ({ kind: 'personal', family: null }),
      'a token of the wrong length': () => ({ hash: Buffer.alloc(31) }),
    },
  )

  rejects('sessions', () => ({ user_id: ours.owner.id, family: randomUUID(), kind: 'browser' }), {
    'an unknown kind': () => ({ kind: 'telephone' }),
    'the family of another session': () => ({ family }),
    'a user agent without an end': () => ({ user_agent: 'x'.repeat(256) }),
  })

  rejects('password_resets', () => ({ user_id: ours.owner.id, hash: Buffer.alloc(32, 7), expires_at: NOW }), {
    'a token of the wrong length': () => ({ hash: Buffer.alloc(31) }),
    'a link without an end': () => ({ expires_at: null }),
  })

  rejects(
    'used_credits',
    () => ({ environment_id: ours.environmentId, month: '2026-11-01', target_runs: 0 }),
    {
      'a day within a month': () => ({ month: '2026-11-02' }),
      'fewer than no runs': () => ({ target_runs: -1 }),
    },
  )

  rejects(
    'hook_requests',
    () => ({
      id: randomUUID(),
      hook_id: hookId,
      type: 'incoming',
      url: 'x',
      method: 'POST',
      outcome: 'accepted',
    }),
    {
      'an unknown direction': () => ({ type: 'sideways' }),
    },
  )

  test('an email address is unique regardless of case', async () => {
    const user = { name: 'x', email: ours.owner.email.toUpperCase(), url_slug: 'x' }
    await assert.rejects(insert('users', user), { code: '23505' })
  })

  test('there is exactly one tree version and one block counter', async () => {
    await assert.rejects(insert('tree_version', { version: 7 }), { code: '23505' })
    await assert.rejects(insert('counted_action_blocks', { next_block: 7 }), { code: '23505' })
  })

  test('a pipeline does not run after itself', async () => {
    const row = {
      pipeline_id: ours.pipelineId,
      after_pipeline_id: ours.pipelineId,
      environment_id: ours.environmentId,
    }
    await assert.rejects(insert('pipeline_run_after', row), { code: '23514' })
  })

  test('a pipeline does not run after one of another environment', async () => {
    const row = {
      pipeline_id: ours.pipelineId,
      after_pipeline_id: theirs.pipelineId,
      environment_id: ours.environmentId,
    }
    await assert.rejects(insert('pipeline_run_after', row), { code: '23503' })
  })

  test('an application is not linked to a server of another environment', async () => {
    const row = {
      application_id: ours.applicationId,
      server_id: theirs.serverIds[0],
      environment_id: ours.environmentId,
    }
    await assert.rejects(insert('application_servers', row), { code: '23503' })
  })
})
