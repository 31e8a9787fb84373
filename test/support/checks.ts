// Shared by tests of checks: a tree whose application is at a stand-in of a host, with git beside its API, and what workers do,
// pass by pass.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { type IncomingMessage, type ServerResponse, request as send } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach } from 'node:test'
import { sql } from 'kysely'
import { createHttpClient } from '#adapters/http-client/client.ts'
import { createRepositories } from '#adapters/repositories/repositories.ts'
import { serveGit } from '#adapters/repositories/test-git-server.ts'
import { checkDue } from '#engine/checks/checks-loop.ts'
import { recheck } from '#engine/checks/recheck.ts'
import type { TargetJob } from '#engine/scheduling/assign-slots.ts'
import { createScheduler, scheduleEnvironment } from '#engine/scheduling/schedule-new.ts'
import { openTargetLifecycle } from '#engine/scheduling/target-lifecycle.ts'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import { createAddressGuard } from '#platform/addresses/guard.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { openListener } from '#platform/database/listen.ts'
import { type Provider, startHost, TOKEN } from './connections.ts'
import { TEST_BASE_URL } from './harness.ts'
import { later } from './later.ts'
import { makeRepository } from './repository.ts'
import { openRuns, started } from './runs.ts'
import type { Github } from './services/github.ts'
import { type GithubSuite, stateOf as reported } from './services/github-checks.ts'
import type { Closer, Service } from './services/service.ts'
import { createTestTree, type TestTree } from './world.ts'

export const ASKING = 'waiting/WAITING_CHECKS at checks'
export const FAILED = 'failed/FAILED_CHECKS'
export const QUEUED = 'queued/QUEUED with a slot'
export const MIN_MS = 15_000

type Closers = { after(fn: () => Promise<void>): void }

export async function openChecks(t: Closers) {
  const guard = createAddressGuard({ allowTargets: ['127.0.0.0/8'], baseUrl: () => TEST_BASE_URL })
  const runs = await openRuns({ after: (end: () => Promise<void>) => later(t, end) }, { guard })
  const { api, db, run } = runs
  const { box } = api
  const http = createHttpClient({ guard, userAgent: 'Gantry/test' })
  later(t, () => http.close())
  const folder = await mkdtemp(join(tmpdir(), 'gantry-checks-'))
  later(t, () => rm(folder, { recursive: true, force: true }))
  const repositories = createRepositories({ folder, allowRemote: async () => ({ kind: 'allowed' }) })

  const queued: number[] = []
  const enqueueTargets = async (_: Transaction, targets: TargetJob[]) => {
    queued.push(...targets.map(({ targetId }) => targetId))
  }
  const schedule = createScheduler(db, enqueueTargets)
  const deps = {
    ...{ db, box, http, repositories, enqueueTargets, minMs: MIN_MS, baseUrl: () => TEST_BASE_URL },
    onError: (error: Error) => assert.fail(error),
  }
  const { signal } = new AbortController()
  const look = () => checkDue(deps, signal)
  const listener = await openListener(api.settings, { onError: assert.ifError })
  later(t, () => listener.close())
  const lifecycle = await openTargetLifecycle({ db, listener, enqueueTargets, onError: assert.ifError })
  /** The jobs of a run's queued targets, up to their first step. */
  async function begin(actionId: number): Promise<void> {
    for (const { id, status } of await runs.targetsOf(actionId)) {
      if (status !== 'queued') continue
      const job = {
        jobId: randomUUID(),
        attempt: 1,
        signal,
        isDraining: () => false,
        handOver: new AbortController().signal,
        held: sql`select 1`,
      }
      const effects = { hold: async () => {}, complete: async () => {} }
      const attempt = await lifecycle.begin(id, { ...job, ...effects }, randomUUID(), async () => ({
        order: 1,
      }))
      attempt?.release()
    }
  }
  const askAgain = (targetId: number) => recheck(deps, targetId, signal)
  const pass = (at: TestTree) =>
    scheduleEnvironment(db, at.environmentId, { pipelineIds: [at.pipelineId] }, enqueueTargets)

  /** The application of the tree is at the host, and runs of its pipeline wait for checks. */
  async function openTree<Kind extends Provider = 'github'>(
    provider = 'github' as Kind,
    terms: object | null = {},
  ) {
    const at = await createTestTree(db)
    const host = await startRepository(t, provider)
    const secret = box.seal(TOKEN, credentialAad(at.credentialId))
    await db
      .updateTable('credentials')
      .set({ secret, provider_code: provider, base_url: host.url, username: 'git' })
      .where('id', '=', at.credentialId)
      .execute()
    await db
      .updateTable('applications')
      .set({ repository: `${host.url}/acme/shop.git`, default_branch: 'main' })
      .where('id', '=', at.applicationId)
      .execute()
    await sql`update servers set max_parallel_actions = 0 where environment_id = ${at.environmentId}`.execute(
      db,
    )
    await sql`update pipelines set max_parallel_actions = 0 where environment_id = ${at.environmentId}`.execute(
      db,
    )
    await sql`update tree_version set version = version + 1`.execute(db)
    if (terms !== null) assert.equal((await waitFor(at, terms)).status, 200)
    return { at, ...host }
  }

  const waitFor = (at: TestTree, wait_for_checks: object | null, by: { token?: string } = {}) =>
    api.request('PUT', `/pipelines/${at.pipelineId}`, {
      token: at.owner.token,
      body: { wait_for_checks },
      ...by,
    })

  const gateOf = async (at: TestTree, id: number) => {
    const { body } = await api.request('GET', `/actions/${id}/gates`, { token: at.owner.token })
    return body.gates.find(({ gate }: { gate: string }) => gate === 'checks')
  }

  /** A run by hand, scheduled, and its host asked. */
  async function start(at: TestTree, body: object = {}): Promise<number> {
    const { id } = await started(run(body, { at }))
    await schedule([id])
    await look()
    return id
  }

  /** Nothing of one test waits in the next. In each suite, because files share a process. */
  const stopWaiting = () =>
    afterEach(async () => {
      await sql`update check_requests set expires_at = null, due_at = null`.execute(db)
      await sql`update commit_checks set due_at = null`.execute(db)
    })

  /** Long enough to settle, and asked at the end of it. */
  async function settle(): Promise<void> {
    for (const seconds of [16, 31]) {
      await passTime(db, seconds)
      await look()
    }
  }

  return {
    ...runs,
    stopWaiting,
    settle,
    deps,
    enqueueTargets,
    queued,
    schedule,
    look,
    askAgain,
    begin,
    pass,
    openTree,
    waitFor,
    gateOf,
    start,
    later: (seconds: number) => passTime(db, seconds),
  }
}

/** A suite of GitHub Actions with one job. */
export function addBuild(host: Github, sha: string, state: string, link: string | null = null) {
  const suite = host.checks.addSuite({ repository: 'acme/shop', sha, ...reported(state) })
  return { suite, run: host.checks.addRun(suite, 'build', state, link) }
}

export function endBuild({ suite, run }: { suite: GithubSuite; run: object }, state: string): void {
  Object.assign(suite, reported(state))
  Object.assign(run, reported(state))
}

/** The clocks of everything that waits for checks move. */
export async function passTime(db: Database, seconds: number): Promise<void> {
  const span = sql`${seconds}::float8 * interval '1 second'`
  await sql`
    update check_requests set since = since - ${span}, expires_at = expires_at - ${span}, due_at = due_at - ${span},
      passed_at = passed_at - ${span}`.execute(db)
  await sql`update checks_terms set since = since - ${span}`.execute(db)
  await sql`
    update commit_checks set changed_at = changed_at - ${span}, answered_at = answered_at - ${span},
      asked_at = asked_at - ${span}, due_at = due_at - ${span}`.execute(db)
}

/**
 * A stand-in with a real repository: what is about `/acme/shop.git/` is git's, the rest is the API's. `beforeGit`: git answers
 * after that.
 */
export async function startRepository<Kind extends Provider>(
  t: Closer,
  provider: Kind,
  beforeGit: () => Promise<void> | void = () => {},
) {
  const host = await startHost(t, provider as 'github')
  const parent = await mkdtemp(join(tmpdir(), 'gantry-host-'))
  later(t, () => rm(parent, { recursive: true, force: true }))
  await mkdir(join(parent, 'acme'))
  const repository = await makeRepository(t, { parent: join(parent, 'acme'), files: { 'index.html': 'one' } })
  const server = await serveGit(t, {
    folder: dirname(dirname(repository.folder)),
    async before(request, response) {
      if (!/\.git\//.test(request.url!)) return forward(host, request, response)
      await beforeGit()
      return false
    },
  })
  const tip = await repository.git(['rev-parse', 'refs/heads/main'])
  return { host: host as unknown as HostOf<Kind>, repository, tip, url: server.url }
}

type HostOf<Kind extends Provider> = Awaited<
  ReturnType<
    {
      github: () => ReturnType<typeof import('./services/github.ts').startGithub>
      gitlab: () => ReturnType<typeof import('./services/gitlab.ts').startGitlab>
      gitea: () => ReturnType<typeof import('./services/gitea.ts').startGitea>
    }[Kind]
  >
>

function forward({ url }: Service, incoming: IncomingMessage, outgoing: ServerResponse): true {
  const { method, headers } = incoming
  const forwarded = send(url + incoming.url, { method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode!, answer.headers)
    answer.pipe(outgoing)
  })
  forwarded.on('error', () => outgoing.destroy())
  outgoing.on('close', () => forwarded.destroy())
  incoming.pipe(forwarded)
  return true
}
