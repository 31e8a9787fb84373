// What the pictures show: a small company's Gantry, with a bit of everything. Completed runs, a failed one, a running
// one; receivers that respond and that do not; calls that were accepted and that were rejected.
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { openPagesWorld, type PagesWorld } from '#test/pages/world.ts'
import { startSlack } from '#test/support/services/slack.ts'
import { type Sshd, startSshd } from '#test/support/sshd.ts'
import { until } from '#test/support/until.ts'
import { MIGRATE, PUSH, REINDEX, RELEASE, VARIABLES } from './samples.ts'

type Closer = { after(fn: () => Promise<void>): void }
type Hook = { id: string; url: string; secret: string }

export type Installation = {
  world: PagesWorld
  sshd: Sshd
  receiver: string
  /** The URL of the service that stands in for it. */
  slack: string
  repository: string
  pipelineId: number
  reindexId: number
  failed: number
  deployed: number
  running: number
  push: string
  picky: string
  chat: string
  broken: string
  preset: string
  /** Paths of the pages that people reach by a link. */
  invitation: string
  passwordReset: string
  authorization: string
  /** An email address that nobody was invited with yet. */
  invitee(): string
}

const NAMES: Record<string, string> = {
  '/organizations/1': 'Acme',
  '/projects/1': 'Web shop',
  '/environments/1': 'Production',
  '/servers/1': 'web-1',
  '/applications/1': 'shop',
  '/pipelines/1': 'Deploy shop',
}

export async function setUp(closer: Closer): Promise<Installation> {
  const sshd = await startSshd(closer)
  const world = await openPagesWorld(closer)
  const create = async <Created>(path: string, body: unknown): Promise<Created> => {
    const answer = await world.api('POST', path, body)
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  await world.openAll()
  await world.api('PUT', `/pipelines/${world.pipelineId}`, { name: 'Warm caches' })
  for (const [path, name] of Object.entries(NAMES)) await world.api('PUT', path, { name })
  const repository = (await world.api('GET', '/applications/1')).body.repository
  const receiver = await openReceiver(closer)
  const { url: slack } = await startSlack(closer)
  const hooks = await addHooks(create, receiver, slack)
  const links = await addSurroundings(world, create)
  await addApplications(world, create, repository)

  const start = async (input: unknown = {}) =>
    (await create<{ id: number }>('/pipelines/1/actions', input)).id
  let deployed = 0
  for (let run = 0; run < 3; run++) deployed = await ended(world, await start())
  for (let run = 0; run < 3; run++) deployed = await ended(world, await call(hooks.push, PUSH))
  await call(hooks.picky, RELEASE, 'release')
  await create('/pipelines/1/steps', {
    name: 'migrate',
    command: MIGRATE,
    trigger_after: 'build-application',
  })
  const failed = await ended(world, await call(hooks.push, PUSH))
  const reindex = await create<{ id: number }>('/pipelines/server/1', {
    name: 'Reindex search',
    operation: 'custom',
  })
  await create(`/pipelines/${reindex.id}/steps`, { name: 'reindex', command: REINDEX })
  const running = (await create<{ id: number }>(`/pipelines/${reindex.id}/actions`, {})).id
  return {
    world,
    sshd,
    receiver,
    slack,
    repository,
    pipelineId: 1,
    reindexId: reindex.id,
    failed,
    deployed,
    running,
    push: hooks.push.id,
    picky: hooks.picky.id,
    chat: hooks.chat.id,
    broken: hooks.broken.id,
    preset: hooks.preset.id,
    ...links,
    authorization: `/authorize?${new URLSearchParams({
      redirect_uri: 'http://127.0.0.1:8400/callback',
      state: 'state',
      code_challenge: 'x'.repeat(43),
      name: 'laptop',
    })}`,
    invitee: () => `new-user-${++invitees}@acme.example`,
  }
}

let invitees = 1

type Create = <Created>(path: string, body: unknown) => Promise<Created>

async function addHooks(create: Create, receiver: string, slack: string) {
  const { id: credential_id } = await create<{ id: number }>('/organizations/1/credentials', {
    name: 'Slack bot',
    provider_code: 'slack',
    token: 'xoxb-screenshots',
    base_url: slack,
  })
  const branch = { name: 'branch', path: 'ref', type: 'string', required: false }
  const version = { name: 'version', path: 'release.version', type: 'string', required: true }
  return {
    push: await create<Hook>('/pipelines/1/hooks/incoming', {
      name: 'GitHub push',
      requires_secret: true,
      settings: { variables: [branch] },
    }),
    picky: await create<Hook>('/pipelines/1/hooks/incoming', {
      name: 'GitHub release',
      requires_secret: true,
      settings: { variables: [version] },
    }),
    chat: await create<Hook>('/pipelines/1/hooks/outgoing', {
      name: 'Team chat',
      target_url: `${receiver}/hooks/deploys`,
    }),
    broken: await create<Hook>('/pipelines/1/hooks/outgoing', {
      name: 'Status page',
      target_url: 'http://127.0.0.1:9/v1/incidents',
    }),
    preset: await create<Hook>('/pipelines/1/hooks/outgoing', {
      name: 'Slack deploys',
      credential_id,
      settings: { preset: { kind: 'slack_message', channel: '#deploys' } },
    }),
  }
}

/** What is around the pipeline: people, another environment, variables, credentials. */
async function addSurroundings(world: PagesWorld, create: Create) {
  await world.invite('developer@acme.example', { name: 'Developer', role: 'developer' })
  await world.invite('on-call@acme.example', { name: 'On call', role: 'viewer' })
  const invitation = await create<{ url: string }>('/organizations/1/invitations', {
    email: 'new-user@acme.example',
    name: 'New user',
    role: 'viewer',
  })
  await create('/organizations/1/roles', {
    name: 'Release manager',
    permissions: ['application:view', 'pipeline:run'],
  })
  await create('/projects/1/environments', { name: 'Staging', type: 'staging' })
  await create('/organizations/1/projects', { name: 'Warehouse' })
  for (const variable of VARIABLES) await create('/applications/1/variables', variable)
  await create('/users/personal-access-tokens', { name: 'Release script' })
  await world.api('PUT', '/environments/1', { type: 'production', description: '' })
  await create('/organizations/1/credentials', { name: 'web-key', provider_code: 'ssh', generate: true })
  const { body: users } = await world.api('GET', '/users?filter[email]=on-call')
  const reset = await create<{ url: string }>(`/users/${users[0].id}/password-reset`, {})
  const pathOf = (url: string) => url.slice(url.indexOf('/app/') + '/app'.length)
  return { invitation: pathOf(invitation.url), passwordReset: pathOf(reset.url) }
}

/** Others that are deployed, on the same machine, so that the overview has something to compare. */
async function addApplications(world: PagesWorld, create: Create, repository: string): Promise<void> {
  const { body: server } = await world.api('GET', '/servers/1')
  const { body: environments } = await world.api('GET', '/projects/1/environments')
  const staging = environments.find(({ name }: { name: string }) => name === 'Staging').id
  const { id: stagingServer } = await create<{ id: number }>(`/environments/${staging}/servers`, {
    name: 'staging-1',
    provider_code: 'local',
    root_directory: server.root_directory,
  })
  const applications = [
    { name: 'checkout', environment: 1, resource_id: 1, deploys: 3 },
    { name: 'search', environment: 1, resource_id: 1, deploys: 1 },
    { name: 'back office', environment: 1, resource_id: undefined, deploys: 0 },
    { name: 'shop', environment: staging, resource_id: stagingServer, deploys: 2 },
  ]
  for (const { name, environment, resource_id, deploys } of applications) {
    const application = await create<{ id: number }>(`/environments/${environment}/applications`, {
      name,
      repository,
      default_branch: 'main',
      linked_resources: resource_id === undefined ? [] : [{ resource_type: 'server', resource_id }],
    })
    if (deploys === 0) continue
    const pipeline = await create<{ id: number }>(`/pipelines/application/${application.id}`, {
      name: `Deploy ${name}`,
      operation: 'deploy',
    })
    for (let run = 0; run < deploys; run++)
      await ended(world, (await create<{ id: number }>(`/pipelines/${pipeline.id}/actions`, {})).id)
  }
}

async function openReceiver(closer: Closer): Promise<string> {
  const receiver = createServer((_, response) => response.writeHead(204).end()).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  closer.after(async () => void receiver.close())
  return `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
}

/** As GitHub calls. Returns the action's id. */
async function call({ url, secret }: Hook, payload: unknown, event = 'push'): Promise<number> {
  const body = JSON.stringify(payload)
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  const sending = request(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': 'GitHub-Hookshot/4f1c2a9',
      'x-github-event': event,
      'x-hub-signature-256': `sha256=${signature}`,
    },
  })
  sending.end(body)
  const [response] = await once(sending, 'response')
  return JSON.parse(await text(response)).action_id
}

async function ended({ api }: PagesWorld, id: number): Promise<number> {
  await until(
    `action ${id} ended`,
    60_000,
    async () => (await api('GET', `/actions/${id}`)).body.completed_at,
  )
  return id
}
