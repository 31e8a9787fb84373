// Health checks on real targets: a local server and an account of a real sshd, with applications that misbehave.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { later } from '#test/support/later.ts'
import { processesAt } from '#test/support/processes-at.ts'
import { liveFile, liveRelease, releasesIn } from '#test/support/releases.ts'
import { makeRepository } from '#test/support/repository.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { startSshd } from '#test/support/sshd.ts'

const all = { after }
const world = await openRunWorld(all)
const sshd = await startSshd(all)
const { makeDeployable, run, completed, endedWith, logOf, ask } = world
const repository = await makeRepository(all, { files: { 'index.html': 'good', check: 'exit 0\n' } })

type Closer = { after(fn: () => void | Promise<void>): void }

/** What the deployed application would be; on all targets of this machine. */
async function serve(t: Closer, listener: RequestListener): Promise<{ url: string; port: number }> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  later(t, () => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, port }
}

const QUICK = { interval_seconds: 1, timeout_seconds: 1, within_seconds: 1 }

/** An application with this check, on a server over SSH unless it is to be a local one. */
async function makeChecked(check: object, { isLocal = false } = {}) {
  const servers = [isLocal ? world.newLocalServer() : await world.newSshServer(sshd, 0)]
  const shop = await makeDeployable({ repository: repository.address, servers })
  await setCheck(shop.applicationId, check)
  return { ...shop, base: shop.bases[0]! }
}

async function setCheck(applicationId: number, check: object): Promise<void> {
  const health_check = { ...QUICK, ...check }
  const { status, body } = await ask('PUT', `/applications/${applicationId}`, { health_check })
  assert.equal(status, 200, JSON.stringify(body))
}

suite('a health check', { concurrency: 4 }, () => {
  test('that passes keeps the release, also of a redeploy and of a rollback', async (t) => {
    let calls = 0
    const { url } = await serve(t, (_, response) => {
      calls++
      response.end('ready')
    })
    const shop = await makeChecked({ type: 'http', url: `${url}/health`, expect_body: 'ready' })
    const first = await completed(await run(shop.pipelineId))
    const steps = first.targets[0].steps.map(({ name }: { name: string }) => name)
    assert.deepEqual(steps.slice(4), ['activate-new-release', 'check-health', 'remove-old-releases'])
    const log = await logOf(first.id, 'check-health')
    assert.match(
      log,
      /^Asking http:\/\/127\.0\.0\.1:\d+\/health from this server\.\nTry 1: HTTP 200 in \d+ ms: healthy\n$/,
    )
    assert.equal(await liveRelease(shop.base), first.action_data.release_name)
    await completed(await run(shop.pipelineId, { type: 'redeploy' }))
    const back = await completed(await run(shop.pipelineId, { type: 'rollback' }))
    assert.equal(await liveRelease(shop.base), first.action_data.release_name)
    assert.match(await logOf(back.id, 'check-health'), /: healthy\n$/)
    assert.equal(calls, 3)
  })

  test('that fails ends the run as unhealthy, and says what each try found', async (t) => {
    const { url } = await serve(t, (_, response) => {
      response.writeHead(503).end()
    })
    const shop = await makeChecked({ type: 'http', url, within_seconds: 2 }, { isLocal: true })
    const action = await unhealthy(shop.pipelineId)
    const statuses = action.targets[0].steps.map(({ status }: { status: string }) => status)
    assert.deepEqual(statuses.slice(4, 7), ['completed', 'failed', 'skipped'])
    assert.equal(action.targets[0].steps[5].status_reason_code, 'FAILED_UNHEALTHY')
    const log = await logOf(action.id, 'check-health')
    assert.match(log, /Try 1: HTTP 503 in \d+ ms\nTry 2: HTTP 503 in \d+ ms\n/)
    assert.match(log, /Not healthy within 2 s: HTTP 503 in \d+ ms\.\n$/)
    assert.deepEqual(await releasesIn(shop.base), [action.action_data.release_name])
    assert.equal(await liveFile(shop.base, 'index.html'), 'good')
  })

  /** Pipelines that keep a failed release, like those of earlier versions. */
  async function unhealthy(pipelineId: number) {
    return endedWith('FAILED_UNHEALTHY', await run(pipelineId))
  }

  test('names a redirect, silence, a drip, a wrong body and a name that nobody knows', async (t) => {
    const { url } = await serve(t, (request, response) => {
      if (request.url === '/redirect') response.writeHead(301, { location: '/login' }).end()
      if (request.url === '/wrong') response.end('maintenance')
      if (request.url !== '/drip') return
      const timer = setInterval(() => response.write('.'), 100)
      response.on('close', () => clearInterval(timer))
    })
    const shop = await makeChecked({ type: 'http', url })
    const cases: [object, RegExp][] = [
      [
        { url: `${url}/redirect` },
        /Try 1: HTTP 301 in \d+ ms, redirects to \/login, which is not followed\n/,
      ],
      [{ url: `${url}/silent` }, /Try 1: no answer within 1 s\n/],
      [{ url: `${url}/drip` }, /Try 1: HTTP 200, but its body did not end within 1 s\n/],
      [
        { url: `${url}/wrong`, expect_body: 'ready' },
        /Try 1: HTTP 200 in \d+ ms, without the expected text in its body\n/,
      ],
      [
        { url: 'http://no-such-name.invalid/' },
        /Try 1: the name of the host cannot be resolved on this server\n/,
      ],
    ]
    for (const [check, line] of cases) {
      await setCheck(shop.applicationId, { type: 'http', ...check })
      const action = await unhealthy(shop.pipelineId)
      assert.match(await logOf(action.id, 'check-health'), line)
    }
  })

  test('demands health for a while, over a restart in between', async (t) => {
    let calls = 0
    const { port, url } = await serve(t, (_, response) => {
      response.writeHead(++calls === 2 ? 500 : 200).end()
    })
    const timing = { within_seconds: 5, healthy_for_seconds: 1 }
    const shop = await makeChecked({ type: 'http', url, ...timing }, { isLocal: true })
    const action = await completed(await run(shop.pipelineId))
    const log = await logOf(action.id, 'check-health')
    assert.match(log, /Try 1: .*: healthy, 0 of 1 s\nTry 2: HTTP 500 .*\nTry 3: .*: healthy, 0 of 1 s\n/)
    assert.match(log, /: healthy, 1 of 1 s\n$/)
    await setCheck(shop.applicationId, { type: 'tcp', port })
    const open = await completed(await run(shop.pipelineId))
    assert.match(await logOf(open.id, 'check-health'), new RegExp(`Try 1: port ${port} is open: healthy\\n$`))
    await setCheck(shop.applicationId, { type: 'tcp', port: 9 })
    const closed = await unhealthy(shop.pipelineId)
    assert.match(await logOf(closed.id, 'check-health'), /Try 1: cannot connect to port 9\n/)
  })

  test('by a command runs in the release with its environment, and leaves no process behind', async () => {
    const mark = join(world.folder, 'left-behind')
    const command = `pwd; echo "release $GANTRY_RELEASE"; bash -c "exec -a ${mark} sleep 300" & disown; bash check`
    const shop = await makeChecked({ type: 'command', command })
    const action = await completed(await run(shop.pipelineId))
    const { release_name } = action.action_data
    const log = await logOf(action.id, 'check-health')
    assert.match(
      log,
      new RegExp(`^Running the check command\\.\n${shop.base}/releases/${release_name}\nrelease `),
    )
    assert.match(log, /Try 1: the command succeeded: healthy\n$/)
    await setCheck(shop.applicationId, { type: 'command', command: 'sleep 300 & sleep 300' })
    const hanging = await unhealthy(shop.pipelineId)
    assert.match(
      await logOf(hanging.id, 'check-health'),
      /Try 1: the command did not end within 1 s; its processes were ended\n/,
    )
    assert.deepEqual(processesAt([mark, shop.base]), [])
  })
})
