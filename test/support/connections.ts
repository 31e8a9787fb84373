// Helpers for tests of connected hooks: an app, a stand-in of a host that calls it, and a worker that is started and stopped.
import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { createHttpClient } from '#adapters/http-client/client.ts'
import { createRepositories } from '#adapters/repositories/repositories.ts'
import { startConnecting } from '#engine/connecting/connecting.ts'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import { createAddressGuard } from '#platform/addresses/guard.ts'
import { type Answer, openTestApp, TEST_BASE_URL, type TestApp } from './harness.ts'
import { later } from './later.ts'
import { type Gitea, startGitea } from './services/gitea.ts'
import { type Github, startGithub } from './services/github.ts'
import { type Gitlab, startGitlab } from './services/gitlab.ts'
import type { Closer } from './services/service.ts'
import type { Deliver } from './services/webhooks.ts'
import { until } from './until.ts'
import { createTestTree, type TestTree } from './world.ts'

export type Provider = 'github' | 'gitlab' | 'gitea'
export const TOKEN = 'token-of-the-host'

const SENDERS = {
  github: { secret_header_name: 'X-Hub-Signature-256' },
  gitea: { secret_header_name: 'X-Gitea-Signature' },
  gitlab: { secret_header_name: 'X-Gitlab-Token', settings: { signature: { scheme: 'token' } } },
}
export const PUSH_EVENT = { github: 'push', gitea: 'push', gitlab: 'push_events' }

// biome-ignore lint/suspicious/noExplicitAny: tests read hooks of every shape
export type Shown = any

/** A hook that fits the host. */
export const hookFor = (provider: Provider, more: object = {}) => ({
  name: 'Push',
  requires_secret: true,
  ...SENDERS[provider],
  ...more,
})

export async function startHost(t: Closer, provider: 'github'): Promise<Github>
export async function startHost(t: Closer, provider: 'gitlab'): Promise<Gitlab>
export async function startHost(t: Closer, provider: 'gitea'): Promise<Gitea>
export async function startHost(t: Closer, provider: Provider): Promise<Github | Gitlab | Gitea>
export async function startHost(t: Closer, provider: Provider) {
  const start = { github: startGithub, gitlab: startGitlab, gitea: startGitea }
  return start[provider](t)
}

/** The repository of the tree's application, at that host. */
export async function moveTo(
  { db, box }: Pick<TestApp, 'db' | 'box'>,
  tree: TestTree,
  provider: Provider,
  url: string,
  repository = 'acme/shop',
): Promise<void> {
  const secret = box.seal(TOKEN, credentialAad(tree.credentialId))
  await db
    .updateTable('credentials')
    .set({ secret, provider_code: provider, base_url: url })
    .where('id', '=', tree.credentialId)
    .execute()
  await db
    .updateTable('applications')
    .set({ repository: `${url}/${repository}.git` })
    .where('id', '=', tree.applicationId)
    .execute()
  await sql`update tree_version set version = version + 1`.execute(db)
}

export async function openConnections(
  t: Closer,
  { missedAfterMs = 0, ...more }: { baseUrl?: () => string; missedAfterMs?: number } = {},
) {
  const guard = createAddressGuard({ allowTargets: ['127.0.0.0/8', '::1'], baseUrl: () => TEST_BASE_URL })
  const api = await openTestApp({ after: (end: () => Promise<void>) => later(t, end) }, { guard, ...more })
  const { db, box, request } = api
  const tree = await createTestTree(db)
  const http = createHttpClient({ guard, userAgent: 'Gantry/test' })
  later(t, () => http.close())
  const repositories = createRepositories({
    folder: '/nonexistent/mirrors',
    allowRemote: (remote) => guard.check(remote.host!),
  })

  /** A worker of this process. */
  function startWorker() {
    const worker = startConnecting({
      db,
      box,
      http,
      readTips: (applicationId, asked) => repositories.readTips(applicationId, { ...asked, http }),
      baseUrl: more.baseUrl ?? (() => TEST_BASE_URL),
      pollMs: 20,
      missedAfterMs,
      onError: (error) => assert.fail(error),
    })
    later(t, () => worker.stop())
    return worker
  }

  async function createHook(provider: Provider, input: object = {}, at = tree): Promise<Shown> {
    const answer = await request('POST', `/pipelines/${at.pipelineId}/hooks/incoming`, {
      token: at.owner.token,
      body: hookFor(provider, input),
    })
    assert.equal(answer.status, 201, answer.text)
    return answer.body
  }

  const read = async (id: string): Promise<Shown> =>
    (await request('GET', `/hooks/incoming/${id}`, { token: tree.owner.token })).body

  const ask = (id: string, rest: '' | '/check' = '', body?: object): Promise<Answer> =>
    request('POST', `/hooks/incoming/${id}/connection${rest}`, { token: tree.owner.token, body })

  /** The connection, once nothing of it is under way. */
  async function done(id: string): Promise<Shown> {
    return until('the connection is not under way', 15_000, async () => {
      const { rows } = await sql`
        select from hook_connections where hook_id = ${id} and due_at > now() + interval '1 second' and leased_until is null`.execute(
        db,
      )
      return rows.length > 0 && (await read(id)).connection
    })
  }

  /** No webhook of the hook is left to be removed at a host, which is asked without pauses. */
  async function removed(hookId: string): Promise<void> {
    await until('its webhooks are removed', 15_000, async () => {
      await sql`update webhook_removals set due_at = now() where hook_id = ${hookId} and leased_until is null`.execute(
        db,
      )
      const { rows } = await sql`select from webhook_removals where hook_id = ${hookId}`.execute(db)
      return rows.length === 0
    })
  }

  /** What is due later is due now. */
  async function pass(hookId: string): Promise<void> {
    await sql`update hook_connections set due_at = now() - interval '1 second' where hook_id = ${hookId}`.execute(
      db,
    )
  }

  /** Calls of hosts reach the app. */
  const deliver: Deliver = async ({ url, headers, body }) => {
    if (!url.startsWith(TEST_BASE_URL)) return null
    const answer = await request('POST', url.slice(TEST_BASE_URL.length), { headers, rawBody: body })
    return answer.status
  }

  /** A host with the repository of the application, whose calls reach the app. */
  async function openHost(t: Closer, provider: 'github'): Promise<Github>
  async function openHost(t: Closer, provider: Provider): Promise<Github | Gitlab | Gitea>
  async function openHost(t: Closer, provider: Provider) {
    const host = await startHost(t, provider)
    await moveTo(api, tree, provider, host.url)
    host.hooks.deliverTo(deliver)
    return host
  }

  return { ...api, tree, startWorker, createHook, openHost, read, ask, done, removed, pass, deliver }
}
