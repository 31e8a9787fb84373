// Pushes while Gantry is killed and started: each host behaves as it does when nothing listens, and what was missed is caught
// up with. The stand-in of the host is also its git server.
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { sql } from 'kysely'
import { serveGit } from '#adapters/repositories/test-git-server.ts'
import { hookFor, type Provider, startHost, TOKEN } from './connections.ts'
import { freePort } from './ports.ts'
import { makeRepository } from './repository.ts'
import { openRunWorld } from './run-world.ts'
import type { Closer } from './services/service.ts'
import { until } from './until.ts'

/** A host with one repository, behind one address: its API, and git. */
async function openHost(t: Closer, provider: Provider, folder: string) {
  const host = await startHost(t, provider)
  const parent = join(folder, provider, 'acme')
  await mkdir(parent, { recursive: true })
  const repository = await makeRepository(t, { parent, files: { 'README.md': 'Shop' } })
  const git = await serveGit(t, {
    folder: dirname(parent),
    password: { username: 'x-access-token', secret: TOKEN },
    async before(request, response) {
      if (request.url!.includes('.git/')) return false
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const { host: _, connection: __, ...headers } = request.headers
      const { method, url } = request
      const body = chunks.length > 0 ? Buffer.concat(chunks) : undefined
      const answer = await fetch(host.url + url, { method, headers: headers as Record<string, string>, body })
      const link = answer.headers.get('link')
      const type = answer.headers.get('content-type')
      response.writeHead(answer.status, { ...(link && { link }), ...(type && { 'content-type': type }) })
      response.end(Buffer.from(await answer.arrayBuffer()))
      return true
    },
  })
  return { host, repository, git }
}

const PUSHES = 200
const BRANCHES = 5
const KILLS = 3
/** Gantry is killed a third into each of them, and started after two thirds. */
const SEGMENT = Math.floor(PUSHES / KILLS)

/** The test for one host. */
export function catchesUp(provider: Provider): void {
  test(`of ${PUSHES} pushes at ${provider}, each is one run, superseded or outdated, although Gantry is killed`, async (t) => {
    const port = String(await freePort())
    const world = await openRunWorld(t, {
      environment: {
        PORT: port,
        GANTRY_URL: `http://127.0.0.1:${port}`,
        GANTRY_ALLOW_TARGETS: '127.0.0.0/8',
        GANTRY_MISSED_AFTER_SECONDS: '1',
        GANTRY_DELIVERY_POLL_MS: '50',
        GANTRY_POLL_MS: '200',
      },
    })
    const { ask, db } = world
    const { host, repository, git } = await openHost(t, provider, world.folder)
    const created = await ask('POST', `/organizations/${world.organizationId}/credentials`, {
      name: 'Host',
      provider_code: provider,
      base_url: git.url,
      token: TOKEN,
    })
    assert.equal(created.status, 201, JSON.stringify(created.body))
    const branches = await Promise.all(
      Array.from({ length: BRANCHES }, async (_, number) => {
        const name = `b${number}`
        await repository.branch(name, 'refs/heads/main')
        const at = await world.makeDeployable({
          repository: `${git.url}/acme/shop.git`,
          application: { credential_id: created.body.id, folder: name },
          pipeline: { queue_policy: 'latest' },
        })
        const ref = `refs/heads/${name}`
        const hook = await ask('POST', `/pipelines/${at.pipelineId}/hooks/incoming`, {
          ...hookFor(provider),
          connect: true,
          settings: {
            ...(provider === 'gitlab' && { signature: { scheme: 'token' } }),
            variables: [
              { name: 'branch', path: 'ref', type: 'string', required: true },
              { name: 'commit', path: 'after', type: 'string', required: true },
            ],
          },
          trigger_when: { conditions: [{ path: 'ref', accepted_values: [ref] }] },
        })
        assert.equal(hook.status, 201, JSON.stringify(hook.body))
        return { name, ref, hookId: hook.body.id as string, tip: '', pushed: [] as string[], ...at }
      }),
    )
    const connected = () =>
      until('every hook is connected', 20_000, async () => {
        const { rows } = await sql`select from hook_connections where state <> 'connected'`.execute(db)
        return rows.length === 0
      })
    await connected()

    let gantry = world.processes[0]!
    let restarting: Promise<void> | undefined
    let kills = 0
    for (let number = 0; number < PUSHES; number++) {
      const place = number % SEGMENT
      if (place === 0) await restarting
      const branch = branches[number % BRANCHES]!
      const before = branch.tip || '0'.repeat(40)
      branch.tip = await repository.commit({ [`${number}.txt`]: '' }, { branch: branch.name })
      branch.pushed.push(branch.tip)
      const pushing = host.hooks.push('acme/shop', { ref: branch.ref, before, after: branch.tip })
      // Between the call and its answer, or between two calls.
      if (place === Math.floor(SEGMENT / 3) && number < KILLS * SEGMENT) {
        await Promise.all([gantry.kill(), pushing])
        // Its leases end by themselves within a minute.
        await sql`update hook_connections set leased_until = null`.execute(db)
        kills++
      }
      await pushing
      if (place === Math.floor((SEGMENT * 2) / 3)) restarting = restart()
    }
    await restarting
    assert.equal(kills, KILLS)
    assert.equal(host.requests.filter(({ status }) => status !== null && status >= 500).length, 0)

    // What was delivered again to a process that was killed meanwhile is asked for once more after two minutes: they pass.
    await sql`update missed_calls set redelivered_at = redelivered_at - interval '3 minutes' where state = 'redelivered'`.execute(
      db,
    )
    const hookIds = branches.map(({ hookId }) => hookId)
    let left: unknown
    await until('everything is caught up with, and has ended', 60_000, async () => {
      await sql`update hook_connections set due_at = least(due_at, now())`.execute(db)
      const { rows } = await sql`
        select state as left, count(*) from missed_calls where state in ('waiting', 'redelivered') group by 1
        union all select 'branch ' || branch, 1 from called_branches where differs_since is not null
        union all select status_reason_code, count(*) from actions where completed_at is null group by 1`.execute(
        db,
      )
      left = rows
      if (rows.length > 0) return false
      const serving = await Promise.all(branches.map(servedBy))
      left = { serving, tips: branches.map(({ tip }) => tip) }
      return branches.every(({ tip }, number) => serving[number] === tip)
    }).catch((error: Error) => assert.fail(`${error.message}: ${JSON.stringify(left)}`))

    /** With what a person does at GitLab, which suspends webhooks whose calls fail, and calls them no more. */
    async function restart() {
      gantry = await world.start('all')
      if (provider !== 'gitlab') return
      await until('the suspended webhooks are noticed', 20_000, async () => {
        await sql`update hook_connections set due_at = now() where state = 'connected'`.execute(db)
        const { rows } = await sql`select from hook_connections where state <> 'disabled'`.execute(db)
        return rows.length === 0
      })
      for (const { hookId } of branches) {
        const repaired = await ask('POST', `/hooks/incoming/${hookId}/connection`)
        assert.equal(repaired.status, 202, JSON.stringify(repaired.body))
      }
      await connected()
    }

    async function servedBy({ applicationId }: { applicationId: number }) {
      const { rows } = await sql<{ commit: string }>`
        select commit_sha as commit from live_releases where application_id = ${applicationId}`.execute(db)
      return rows[0]?.commit
    }
    const { rows: calls } = await sql<{ hook: string; commit: string; runs: number; ended: string[] }>`
      select r.hook_id as hook, r.pushed_commit as commit, count(distinct r.action_id)::int as runs,
        array_agg(distinct a.status_reason_code) as ended
      from hook_requests r join actions a on a.id = r.action_id
      where r.hook_id = any(${hookIds}::uuid[]) group by r.hook_id, r.pushed_commit`.execute(db)
    const { rows: missed } = await sql<{ hook: string; commit: string; state: string }>`
      select hook_id as hook, commit, state from missed_calls where event = 'push'`.execute(db)
    for (const { hookId, name, pushed, tip } of branches)
      for (const commit of pushed) {
        const call = calls.find((one) => one.hook === hookId && one.commit === commit)
        const miss = missed.find((one) => one.hook === hookId && one.commit === commit)
        const fate = `${name} ${commit}: ${JSON.stringify({ call, miss })}`
        assert.ok((call?.runs ?? 0) <= 1, fate)
        for (const reason of call?.ended ?? [])
          assert.ok(['COMPLETED', 'SKIPPED', 'SKIPPED_OUTDATED', 'SKIPPED_SUPERSEDED'].includes(reason), fate)
        if (commit === tip) assert.deepEqual(call?.ended, ['COMPLETED'], fate)
        // What hosts do not list is known by the branch alone: the newest commit stands for those before it.
        if (provider === 'github') assert.ok(call || miss?.state === 'superseded', fate)
      }
    const { rows: runs } = await sql<{ runs: number; attempts: number }>`
      select count(*)::int as runs, max(t.attempt)::int as attempts from targets t`.execute(db)
    t.diagnostic(
      `${runs[0]!.runs} runs, ${missed.length} missed calls of ${hookIds.length} hooks, ${host.requests.length} requests`,
    )
    if (provider !== 'github') assert.ok(missed.some(({ state }) => state === 'found'))
  })
}
