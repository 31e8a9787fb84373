// The examples of the OpenAPI document are recorded here, by using every operation of a running service with a worker,
// so that they are true. The test fails when an answer differs from its stored example (UPDATE=1 stores them again).
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash, createHmac } from 'node:crypto'
import { chmod, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { after, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import { openDatabase } from '#platform/database/connect.ts'
import { createTestDatabase, urlOf } from '#test/support/database.ts'
import { openReceiver } from '#test/support/deliveries.ts'
import { createRecorder, type ExampleCall, type Examples } from '#test/support/examples.ts'
import { startIdentityProvider } from '#test/support/identity-provider.ts'
import { later } from '#test/support/later.ts'
import { ADMIN, ADMIN_ENVIRONMENT, startGantry, temporaryHome } from '#test/support/process.ts'
import { makeRepository } from '#test/support/repository.ts'
import { openStream } from '#test/support/streams.ts'
import { until } from '#test/support/until.ts'

const FILE = fileURLToPath(new URL('../../server/platform/http/openapi-examples.json', import.meta.url))
const BIOME = fileURLToPath(new URL('../../node_modules/.bin/biome', import.meta.url))

/** Without an example: the answer is a document of its own. */
const WITHOUT = ['readOpenApi', 'readDocumentSchema']

const t = { after }
const folder = await realpath(await mkdtemp(join(tmpdir(), 'gantry-examples-')))
later(t, () => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
// As root, steps run under another account.
await chmod(folder, 0o777)
const { settings, drop } = await createTestDatabase()
later(t, drop)
const repository = await makeRepository(t)
await repository.commit(
  { 'index.html': '<h1>Shop</h1>\n' },
  {
    message: 'Open the shop',
    author: { name: 'Ada', email: 'ada@example.com' },
    time: Math.floor(Date.now() / 1_000),
  },
)
const receiver = await openReceiver(t)
const provider = await startIdentityProvider(t, 'http://127.0.0.1/session/oidc/callback')
const environment = {
  ...provider.environment,
  ...ADMIN_ENVIRONMENT,
  GANTRY_HOME: await temporaryHome(t),
  DATABASE_URL: urlOf(settings),
  GANTRY_SECRET_KEY: '01'.repeat(32),
  GANTRY_SAMPLE: 'false',
}
// Without a worker at first: nothing moves while the commands are recorded.
const { url } = await startGantry(t, { ...environment, GANTRY_ROLE: 'api' })
const document = (await (await fetch(`${url}/openapi.json`)).json()) as Document
const { call, record, examples } = createRecorder(url!, document.paths, {
  [url!]: 'https://gantry.example.com',
  [new URL(url!).host]: 'gantry.example.com',
  [receiver.url]: 'https://chat.example.com',
  [new URL(receiver.url).host]: 'chat.example.com',
  [provider.issuer]: 'https://id.example.com',
  'http://127.0.0.1:9/': 'https://git.example.com/',
  [repository.address]: 'https://git.example.com/acme/shop.git',
  [basename(dirname(repository.folder))]: 'acme',
  [folder]: '/srv/sites',
})

// biome-ignore lint/suspicious/noExplicitAny: examples have every shape
type Json = any
type Media = { schema: Json; examples?: Record<string, { value: Json }> }
type Operation = {
  operationId: string
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, { content?: Record<string, Media> }>
}
type Document = { paths: Record<string, Record<string, Operation>> }

let token = ''
const by = (operationId: string, input: ExampleCall = {}) =>
  call(operationId, { token, ...input }).then(({ body }) => body)
const prepare = (operationId: string, input: ExampleCall = {}) =>
  by(operationId, { ...input, recorded: false })

await recordAccounts()
const shop = await recordInventory()
const hooks = await recordHooks()
const runs = await recordCommands()
await startGantry(t, { ...environment, GANTRY_ROLE: 'worker' })
await recordResults()
await recordStreams()
await recordApprovals()
await recordMembers()
await recordDocuments()

async function recordAccounts(): Promise<void> {
  const { body: tokens } = await call('logIn', { body: ADMIN })
  const { refresh_token } = tokens
  token = (await call('refreshToken', { body: { refresh_token } })).body.access_token
  await by('readMe')
  await by('changeMe', { body: { name: 'Grace', language: 'en' } })
  await by('changePassword', { body: { current_password: ADMIN.password, new_password: ADMIN.password } })
  await by('listSessions')
  await by('listUsers', { query: { 'filter[active]': 'true' } })
  const scopes = { name: 'CI', scopes: ['read', 'run'], expires_at: inDays(90) }
  await by('createPersonalAccessToken', { body: scopes })
  await by('listPersonalAccessTokens')
  await call('readSignInOptions')
  await call('beginSingleSignOn', { body: {}, headers: { 'x-gantry-request': '1' } })
  await by('linkIdentity')
  await by('listIdentities')

  const { headers } = await call('openSession', { body: ADMIN })
  const cookie = headers.get('set-cookie')!.split(';')[0]!
  const browser = { token: null, headers: { cookie, 'x-gantry-request': '1' } }
  await by('readSession', browser)
  const verifier = 'a'.repeat(43)
  const redirect_uri = 'http://127.0.0.1:49152/callback'
  const code_challenge = createHash('sha256').update(verifier).digest('base64url')
  const { code } = await by('createLoginAuthorization', {
    ...browser,
    body: { redirect_uri, code_challenge, name: 'laptop' },
  })
  await by('exchangeLoginAuthorization', {
    body: { code, code_verifier: verifier, redirect_uri },
    token: null,
  })
  const startDevice = () => by('createDeviceCode', { body: { name: 'build-7' }, token: null })
  const enter = ({ user_code }: { user_code: string }) => ({ ...browser, body: { user_code } })
  const { device_code, ...device } = await startDevice()
  await by('lookUpDevice', enter(device))
  await by('approveDevice', enter(device))
  await by('takeDeviceToken', { body: { device_code }, token: null })
  await by('denyDevice', enter(await startDevice()))
}

async function recordInventory() {
  const { id: organizationId } = await by('createOrganization', { body: { name: 'Acme' } })
  const organization = { path: { id: organizationId } }
  await by('readOrganization', organization)
  await by('changeOrganization', { ...organization, body: { name: 'Acme' } })
  await by('listOrganizations')
  const { id: projectId } = await by('createProject', {
    ...organization,
    body: { name: 'Shop', logo_url: null },
  })
  const project = { path: { id: projectId } }
  await by('readProject', project)
  await by('changeProject', { ...project, body: { logo_url: 'https://example.com/logo.png' } })
  await by('listProjects', organization)
  const staging = await prepare('createEnvironment', {
    ...project,
    body: { name: 'Staging', type: 'staging' },
  })
  await by('archiveEnvironment', { path: { id: staging.id } })
  await by('unarchiveEnvironment', { path: { id: staging.id } })
  const { id: environmentId } = await by('createEnvironment', {
    ...project,
    body: { name: 'Production', type: 'production', description: 'What customers see' },
  })
  const environment = { path: { id: environmentId } }
  await by('readEnvironment', environment)
  const weekend = {
    name: 'Weekend',
    reason: 'The team is away',
    weekly: { from: { day: 'friday', time: '16:00' }, to: { day: 'monday', time: '08:00' } },
    time_zone: 'Europe/Berlin',
  }
  const freeze = await by('createEnvironmentFreeze', { path: { id: staging.id }, body: weekend })
  await by('listEnvironmentFreezes', { path: { id: staging.id } })
  await by('readFreeze', { path: { id: freeze.id } })
  await by('changeFreeze', { path: { id: freeze.id }, body: { when_over: 'latest' } })
  await by('removeFreeze', { path: { id: freeze.id } })
  const holidays = {
    name: 'Holidays',
    reason: 'Nothing goes out before the new year',
    starts_at: inDays(30),
    ends_at: inDays(39),
  }
  await by('createOrganizationFreeze', { ...organization, body: holidays })
  await by('listOrganizationFreezes', organization)
  await by('changeEnvironment', { ...environment, body: { description: 'What customers see' } })
  await by('listEnvironments', project)

  const { id: sourceId } = await by('createCredential', {
    ...organization,
    body: { name: 'GitHub', provider_code: 'github', token: 'ghp_example' },
  })
  const source = { path: { id: sourceId } }
  await by('changeCredential', { ...source, body: { token: 'ghp_example_2' } })
  await by('readCredential', source)
  await by('listCredentials', organization)
  const key = await prepare('createCredential', {
    ...organization,
    body: { name: 'Web servers', provider_code: 'ssh', generate: true },
  })
  await by('checkCredential', { path: { id: key.id }, body: { host: '127.0.0.1', port: 1, user: 'deploy' } })

  const { id: remoteId } = await by('createServer', {
    ...environment,
    body: {
      name: 'web-2',
      provider_code: 'ssh',
      host: '10.0.0.7',
      login_name: 'deploy',
      credential_id: key.id,
      root_directory: '/srv/sites',
    },
  })
  await by('readServer', { path: { id: remoteId } })
  await by('changeServer', { path: { id: remoteId }, body: { max_parallel_actions: 2 } })
  const { id: serverId } = await prepare('createServer', {
    ...environment,
    body: { name: 'web-1', provider_code: 'local', root_directory: folder },
  })
  await by('listServers', environment)
  const body = { pin_host_key: false }
  const check = await prepare('checkServer', { path: { id: serverId }, body })
  // The account depends on who runs the test.
  record('checkServer', 200, body, JSON.parse(JSON.stringify(check).replaceAll(check.user, 'deploy')))

  const tcp = { health_check: { type: 'tcp', port: 9, timeout_seconds: 1 } }
  const tried = await prepare('tryHealthCheck', { path: { id: serverId }, body: tcp })
  record('tryHealthCheck', 200, tcp, { ...tried, duration_ms: 4 })

  await by('inspectRepository', {
    body: { repository: repository.address, environment_id: environmentId },
  })
  const { id: applicationId } = await by('createApplication', {
    ...environment,
    body: {
      name: 'Shop',
      repository: repository.address,
      default_branch: 'main',
      programming_language: 'html',
      build_command: 'ls',
      deployments_keep: 5,
      linked_resources: [{ resource_type: 'server', resource_id: serverId }],
    },
  })
  const application = { path: { id: applicationId } }
  await by('readApplication', application)
  await by('changeApplication', { ...application, body: { deployments_keep: 3 } })
  await by('listApplications', environment)
  await by('linkApplicationToServer', { path: { id: applicationId, child_id: serverId }, body: {} })
  await by('linkServerToApplication', { path: { id: serverId, child_id: applicationId }, body: {} })
  const { id: variable_id } = await by('createVariable', {
    ...application,
    body: { name: 'REGION', value: 'eu', hidden: false },
  })
  const variable = { path: { id: applicationId, variable_id } }
  await by('readVariable', variable)
  await by('changeVariable', { ...variable, body: { value: 'eu-west' } })
  await by('listVariables', application)

  const { id: pipelineId } = await by('createApplicationPipeline', {
    path: { resource_id: applicationId },
    body: { name: 'Deploy Shop', operation: 'deploy', max_parallel_actions: 1, queue_policy: 'queue' },
  })
  const pipeline = { path: { id: pipelineId } }
  const { id: step_id } = await by('createStep', {
    ...pipeline,
    body: {
      name: 'warm-up',
      description: 'Fill the caches of the new release',
      command: 'echo "Warming up $GANTRY_VAR_REGION"',
      timeout_seconds: 60,
      idempotent: true,
      trigger_after: 'activate-new-release',
    },
  })
  await by('readStep', { path: { id: pipelineId, step_id } })
  await by('changeStep', { path: { id: pipelineId, step_id }, body: { timeout_seconds: 30 } })
  await by('listSteps', pipeline)
  await by('readPipeline', pipeline)
  await by('changePipeline', { ...pipeline, body: { queue_policy: 'latest' } })
  await by('listApplicationPipelines', { path: { resource_id: applicationId } })
  const { id: restartId } = await by('createServerPipeline', {
    path: { resource_id: serverId },
    body: { name: 'Restart', operation: 'restart' },
  })
  await prepare('createStep', {
    path: { id: restartId },
    body: { name: 'restart', command: 'echo Restarted' },
  })
  await by('listServerPipelines', { path: { resource_id: serverId } })
  return { organizationId, projectId, environmentId, applicationId, pipelineId, restartId }
}

async function recordHooks() {
  const pipeline = { path: { id: shop.pipelineId } }
  const incoming = await by('createIncomingHook', {
    ...pipeline,
    body: {
      name: 'Push to main',
      requires_secret: true,
      settings: { variables: [{ name: 'branch', path: 'ref', type: 'string', required: true }] },
      trigger_when: { conditions: [{ path: 'ref', accepted_values: ['refs/heads/main'] }] },
    },
  })
  const one = { path: { hook_id: incoming.id } }
  await by('readIncomingHook', one)
  await by('changeIncomingHook', { ...one, body: { name: 'Push to main' } })
  await by('dryRunHook', {
    ...one,
    body: { headers: { 'x-github-event': 'push' }, body: { ref: 'refs/heads/main' }, sign: true },
  })
  const { secret } = await by('rotateIncomingHookSecret', { ...one, body: { overlap_seconds: 3600 } })
  const outgoing = await by('createOutgoingHook', {
    ...pipeline,
    body: {
      name: 'Tell the chat',
      target_url: `${receiver.url}/deployments`,
      settings: { request_body: { text: '{{ application.name }} is {{ action.status }}' } },
      trigger_when: { events: ['action.completed', 'action.failed'] },
    },
  })
  const other = { path: { hook_id: outgoing.id } }
  await by('readOutgoingHook', other)
  await by('changeOutgoingHook', { ...other, body: { settings: outgoing.settings } })
  await by('rotateOutgoingHookSecret', { ...other, body: { overlap_seconds: 3600 } })
  await by('listHooks', pipeline)
  const { environment_id } = outgoing
  await by('listEnvironmentHooks', { path: { id: environment_id }, query: { q: 'chat' } })
  await by('listEnvironmentPipelines', { path: { id: environment_id }, query: { q: 'restart' } })
  await by('listSenders')
  await by('listReceivers')
  const { id: credential_id } = await prepare('createCredential', {
    path: { id: shop.organizationId },
    body: { name: 'Chat', provider_code: 'slack', token: 'xoxb-token' },
  })
  const chat = await prepare('createOutgoingHook', {
    ...pipeline,
    body: {
      name: 'Slack',
      credential_id,
      settings: { preset: { kind: 'slack_message', channel: '#deploys' } },
    },
  })
  await recordConnection(outgoing.environment_id)
  await by('ejectOutgoingHook', { path: { hook_id: chat.id } })
  await prepare('removeOutgoingHook', { path: { hook_id: chat.id } })
  return { incoming, outgoing, secret, one, other }
}

/** Without a worker nothing is sent to the host, where nothing listens. */
async function recordConnection(environmentId: number): Promise<void> {
  const { id: credential_id } = await prepare('createCredential', {
    path: { id: shop.organizationId },
    body: { name: 'Gitea', provider_code: 'gitea', base_url: 'http://127.0.0.1:9', token: 'token' },
  })
  const { id: applicationId } = await prepare('createApplication', {
    path: { id: environmentId },
    body: {
      name: 'Docs',
      repository: 'http://127.0.0.1:9/acme/docs.git',
      default_branch: 'main',
      credential_id,
    },
  })
  const { id: pipelineId } = await prepare('createApplicationPipeline', {
    path: { resource_id: applicationId },
    body: { name: 'Deploy Docs', operation: 'deploy' },
  })
  const { id } = await prepare('createIncomingHook', {
    path: { id: pipelineId },
    body: { name: 'Push to docs', requires_secret: true },
  })
  const hook = { path: { hook_id: id } }
  await by('connectIncomingHook', { ...hook, body: { events: ['push'] } })
  await by('checkIncomingHookConnection', hook)
  await missCalls(id)
  await by('listCatchUps', hook)
  await by('listMissedCalls', hook)
  await by('disconnectIncomingHook', hook)
  await prepare('removeApplication', { path: { id: applicationId }, query: { cascade: 'true' } })
}

/** As a worker stores what an outage cost. */
async function missCalls(hookId: string): Promise<void> {
  const { db, close } = openDatabase(settings, { onIdleError: () => {} })
  await sql`
    with caught as (insert into catch_ups (hook_id) values (${hookId}) returning id, hook_id)
    insert into missed_calls (catch_up_id, hook_id, delivery_id, event, ref, commit, missed_at, state, is_read)
    select id, hook_id, gen_random_uuid()::text, 'push', 'refs/heads/main', encode(sha256('1'), 'hex')::varchar(40),
      now() - missed.ago, missed.state, true
    from caught, (values (interval '20 minutes', 'superseded'), (interval '5 minutes', 'redelivered')) as missed (ago, state)`.execute(
    db,
  )
  await close()
}

/** A call to the incoming hook, as GitHub signs it. */
function signed(body: object): ExampleCall {
  const signature = createHmac('sha256', hooks.secret).update(JSON.stringify(body)).digest('hex')
  const headers = { 'x-hub-signature-256': `sha256=${signature}`, 'x-github-delivery': signature.slice(0, 8) }
  return { path: { token: hooks.incoming.url.split('/').at(-2) }, body, headers, token: null }
}

async function recordCommands() {
  const body = {
    source_type: 'branch',
    source_ref: 'main',
    trigger_comment: 'Open the shop',
    variables: { region: 'eu' },
  }
  const pipeline = { path: { id: shop.pipelineId } }
  await by('planPipeline', { ...pipeline, body })
  const { id: deployId } = await by('runPipeline', { ...pipeline, body })
  await by('previewDelivery', { ...hooks.other, body: { action_id: deployId } })

  const payload = { ref: 'refs/heads/main' }
  await by('callHook', signed(payload))
  await by('callHook', signed(payload))

  const { id: restartId } = await prepare('runPipeline', { path: { id: shop.restartId } })
  const incident = { name: 'Incident', reason: 'Payments fail', starts_at: '2026-01-01T00:00:00Z' }
  const { id: freezeId } = await prepare('createOrganizationFreeze', {
    path: { id: shop.organizationId },
    body: incident,
  })
  const { id: heldId } = await prepare('runPipeline', { path: { id: shop.restartId } })
  await by('readActionGates', { path: { id: heldId } })
  await by('overrideGate', {
    path: { id: heldId },
    body: { gate: 'freeze', reason: 'Restarts the payment service' },
  })
  await prepare('removeFreeze', { path: { id: freezeId } })
  await by('cancelAction', { path: { id: restartId }, body: {} })
  const { id: retriedId } = await by('retryAction', { path: { id: restartId }, body: {} })
  return { deployId, retriedId }
}

async function recordResults(): Promise<void> {
  const delivered = await until('the deployments are reported', 60_000, async () => {
    const list = await prepare('listDeliveries', { ...hooks.other, query: { per_page: 10 } })
    return list.length === 2 && list
  })
  const restarted = await until('the restart has ended', 60_000, async () => {
    const action = await prepare('readAction', { path: { action_id: runs.retriedId } })
    return action.completed_at !== null && action
  })
  const deploy = await by('readAction', { path: { action_id: runs.deployId } })
  const application = { path: { id: shop.applicationId } }
  await by('listLiveReleases', { ...application, query: { contains: deploy.action_data.commit.hash } })
  await by('listReleases', application)
  const days = { query: { from: '2026-01-01', to: '2026-01-02' } }
  await by('readApplicationInsights', { ...application, ...days })
  await by('readEnvironmentInsights', { path: { id: shop.environmentId }, ...days })
  await by('readActionChanges', { path: { action_id: runs.deployId } })
  await by('listActions', { query: { 'filter[type]': 'restart', per_page: 1 } })
  const { id: target_id } = restarted.targets[0]
  await by('readStepLog', { path: { action_id: restarted.id, target_id, order: 1 } })
  await call('checkReady')
  await by('readOverview')
  await by('listApplicationCards', { query: { q: 'shop' } })
  await by('listNames', { query: { q: 'shop' } })
  await by('listCalls', { ...hooks.one, query: { per_page: 1 } })
  await by('listDeliveries', { ...hooks.other, query: { per_page: 1 } })
  await by('listDeliveryHours', hooks.other)
  const delivery = delivered.at(-1)
  await by('readHookRequest', { path: { id: delivery.id } })
  await by('listHookRequestsOfAction', { path: { id: runs.deployId } })
  await by('listNotifications', { path: { id: runs.deployId } })
  await by('redeliver', {
    ...hooks.other,
    body: { from: inDays(-1), to: inDays(1), only_failed: false, dry_run: true },
  })
  await by('redeliver', { ...hooks.other, body: { from: inDays(-1), to: inDays(1) } })
  await by('replayHookRequest', { path: { id: delivery.id } })
  const { hook_request_id } = await prepare('callHook', signed({ ref: 'refs/heads/feature' }))
  await by('replayHookRequest', { path: { id: hook_request_id } })
  const forwarded = await openStream(`${url}/hooks/outgoing/${hooks.outgoing.id}/stream`, token)
  await forwarded.until((events) => events.length > 0)
  await by('testHook', { ...hooks.other, body: { action_id: runs.deployId } })
  const isTest = ({ type, data }: (typeof forwarded.events)[number]) =>
    type === 'delivery' && data.event === 'test'
  await forwarded.until((events) => events.some(isTest))
  record('streamDeliveries', 200, undefined, forwarded.events.find(isTest)!.data)
  await forwarded.cut()
  await call('readVersion')
  await call('checkAlive')
  await by('listDeadLetters')
  const [worker] = await prepare('listWorkers')
  const shown = { ...worker, name: 'web-1', running_targets: 0 }
  record('listWorkers', 200, undefined, [shown])
  await prepare('drainWorker', { path: { id: worker.id } })
  record('drainWorker', 200, undefined, { ...shown, draining: true })
  await prepare('undrainWorker', { path: { id: worker.id } })
  record('undrainWorker', 200, undefined, shown)
  const diagnostics = await prepare('readDiagnostics')
  // Most checks say how things are at the moment.
  const checks = diagnostics.checks.filter(({ name }: { name: string }) => name === 'clock')
  record('readDiagnostics', 200, undefined, { ...diagnostics, checks })
  const metrics = await prepare('readMetrics')
  record(
    'readMetrics',
    200,
    undefined,
    metrics
      .split('\n')
      .filter((line: string) => /gantry_failing_hooks/.test(line))
      .join('\n'),
  )
}

async function recordApprovals(): Promise<void> {
  const environment = { path: { id: shop.environmentId } }
  await prepare('changeEnvironment', { ...environment, body: { approval: { not_the_starter: false } } })
  for (const [decide, comment] of [
    ['approveAction', 'Checked on staging'],
    ['rejectAction', 'After the sale'],
  ] as const) {
    const { id } = await prepare('runPipeline', { path: { id: shop.restartId } })
    const subject = await until('its subject is known', 60_000, async () => {
      const { gates } = await prepare('readActionGates', { path: { id } })
      return gates.find(({ gate }: { gate: string }) => gate === 'approval')?.details.subject
    })
    await by(decide, { path: { id }, body: { subject, comment } })
  }
  await prepare('changeEnvironment', { ...environment, body: { approval: null } })
}

/** One event of each stream: events have no form in OpenAPI. */
async function recordStreams(): Promise<void> {
  const all = await openStream(`${url}/actions/stream`, token)
  await all.until((events) => events.length > 0)
  const { id } = await prepare('runPipeline', { path: { id: shop.restartId } })
  await all.until((events) => events.length > 1)
  record('streamActions', 200, undefined, all.events[1]!.data)
  await all.cut()
  const one = await openStream(`${url}/actions/${id}/stream`, token)
  await one.until((events) => events.at(-1)?.type === 'end')
  record('streamAction', 200, undefined, one.events.find(({ type }) => type === 'log')!.data)

  const { hook_id } = hooks.other.path
  const deliveries = await openStream(`${url}/hooks/outgoing/${hook_id}/stream`, token)
  const isDelivery = ({ type }: { type: string }) => type === 'delivery'
  await deliveries.until((events) => events.length > 0)
  await by('testHook', { ...hooks.other, body: { action_id: runs.deployId } })
  await deliveries.until((events) => events.some(isDelivery))
  record('streamDeliveries', 200, undefined, deliveries.events.find(isDelivery)!.data)
  await deliveries.cut()
}

async function recordMembers(): Promise<void> {
  const organization = { path: { id: shop.organizationId } }
  await by('listOwnPermissions')
  const { id: roleId } = await by('createRole', {
    ...organization,
    body: { name: 'Release manager', permissions: ['pipeline:view', 'pipeline:run', 'action:view'] },
  })
  await by('readRole', { path: { id: roleId } })
  await by('changeRole', { path: { id: roleId }, body: { permissions: ['pipeline:view', 'pipeline:run'] } })
  await by('listRoles', organization)
  const invitation = await by('createInvitation', {
    ...organization,
    body: { email: 'ada@example.com', name: 'Ada', role: 'developer', project_id: shop.projectId },
  })
  await by('listInvitations', organization)
  const linkToken = invitation.url.split('#')[1]
  await call('readInvitation', { body: { token: linkToken } })
  const { body: accepted } = await call('acceptInvitation', {
    body: { token: linkToken, name: 'Ada', password: 'correct horse battery staple' },
  })
  const member = { path: { id: shop.organizationId, user_id: accepted.user.id } }
  await by('readMember', member)
  await by('changeMember', { ...member, body: { grants: [{ role: 'viewer' }, { role_id: roleId }] } })
  await by('listMembers', organization)

  const ada = { path: { id: accepted.user.id } }
  const { url: link } = await by('createPasswordReset', ada)
  const resetToken = link.split('#')[1]
  await call('readPasswordReset', { body: { token: resetToken } })
  await call('resetPassword', { body: { token: resetToken, password: 'staple battery horse correct' } })
  await by('changeUser', { ...ada, body: { active: false } })
}

async function recordDocuments(): Promise<void> {
  const text = [
    'organization: Acme',
    'project: {name: Docs}',
    'credentials:',
    `  GitLab: {provider_code: gitlab, token: "\${GITLAB_TOKEN}"}`,
    'environments:',
    '  Production: {type: production}',
    '',
  ].join('\n')
  await by('apply', {
    body: { document: text, values: { GITLAB_TOKEN: 'glpat-example' }, dry_run: false, prune: false },
  })
  await by('exportProject', { path: { id: shop.organizationId }, query: { project: 'Docs' } })
  const organization = { path: { id: shop.organizationId }, query: { 'filter[subject_type]': 'project' } }
  await by('listAuditEntries', organization)
  await by('exportAuditEntries', organization)
  await by('listAllAuditEntries', { query: { 'filter[verb]': 'created' } })
  await by('exportAllAuditEntries')
}

function format(json: string): string {
  return execFileSync(BIOME, ['format', `--stdin-file-path=${FILE}`], { input: json, encoding: 'utf8' })
}

function inDays(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString()
}

const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
const sorted = (all: Examples) =>
  Object.fromEntries(Object.entries(all).sort(([one], [other]) => (one < other ? -1 : 1)))

suite('the examples of the document', () => {
  test('are what the service answers (UPDATE=1 records them again)', async () => {
    const recorded = JSON.parse(JSON.stringify(sorted(examples)))
    if (process.env.UPDATE === '1') await writeFile(FILE, format(JSON.stringify(recorded)))
    const stored = JSON.parse(await readFile(FILE, 'utf8'))
    const different = Object.keys(recorded).filter((name) => !isDeepStrictEqual(recorded[name], stored[name]))
    const only = (all: Examples) => Object.fromEntries(different.map((name) => [name, all[name]]))
    assert.deepEqual(
      only(recorded),
      only(stored),
      `${different.join(', ')}: is it intended? Then use UPDATE=1`,
    )
    assert.deepEqual(Object.keys(stored).sort(), Object.keys(recorded).sort())
  })

  test('show every request body and every successful answer that has one', () => {
    const missing = operations
      .filter(({ operationId }) => !WITHOUT.includes(operationId))
      .flatMap(({ operationId, requestBody, responses }) => {
        const example = examples[operationId]
        const answers = Object.entries(responses).filter(
          ([status, { content }]) => status.startsWith('2') && content,
        )
        const lacks = answers
          .filter(([status]) => example?.responses[status] === undefined)
          .map(([status]) => status)
        if (requestBody && example?.request === undefined) lacks.unshift('request')
        return lacks.map((part) => `${operationId} ${part}`)
      })
    assert.deepEqual(missing, [])
  })
})
