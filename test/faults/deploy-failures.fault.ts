// Deploys that fail leave the live release as it is: Gantry as a separate process, real git, a real sshd.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { BUILT_IN } from '#test/support/inventory.ts'
import { later } from '#test/support/later.ts'
import { liveFile, liveRelease, releasesIn } from '#test/support/releases.ts'
import { makeRepository } from '#test/support/repository.ts'
import { type Deployable, openRunWorld } from '#test/support/run-world.ts'
import { startSshd } from '#test/support/sshd.ts'

const all = { after }
const world = await openRunWorld(all)
const sshd = await startSshd(all)
const { makeDeployable, makeHook, fire, run, completed, endedWith, logOf } = world

suite('a deploy that fails', { concurrency: true }, () => {
  /** One good release; whatever happens afterwards must leave it live, and nothing else behind. */
  async function deployOnce(t: Parameters<typeof makeRepository>[0], input: object = {}) {
    const repository = await makeRepository(t, { files: { 'index.html': 'good' } })
    const shop = await makeDeployable({ repository: repository.address, ...input })
    const { action_data } = await completed(await run(shop.pipelineId))
    return { repository, shop, release: action_data.release_name as string }
  }

  async function assertUntouched(shop: Deployable, release: string) {
    for (const base of shop.bases) {
      assert.equal(await liveRelease(base), release)
      assert.deepEqual(await releasesIn(base), [release])
      assert.equal(await liveFile(base, 'index.html'), 'good')
    }
  }

  test('missing and malicious refs end with FAILED_SOURCE and a line that says so', async (t) => {
    const { shop, release } = await deployOnce(t)
    const hook = await makeHook(shop.pipelineId, 'branch', 'commit')
    const refs: [object, RegExp][] = [
      [{ branch: 'no-such-branch' }, /no branch "?no-such-branch/i],
      [{ branch: '--upload-pack=x' }, /"--upload-pack=x" is not a valid branch/],
      [{ branch: '$(touch$IFS/tmp/x)' }, /\$\(touch/],
      [{ branch: '../..' }, /"\.\.\/\.\." is not a valid branch/],
      [{ branch: 'a"b\'c\nd\u001b[2J' }, /"a\\"b'c\\u\{a\}d\\u\{1b\}\[2J" is not a valid/],
      [{ branch: 'x'.repeat(5_000) }, /is not a valid branch/],
      [{ commit: '0123456789abcdef' }, /no commit|commit .*0123456789abcdef/i],
      [{ commit: '--all' }, /"--all" is not a commit/],
    ]
    const ids = await Promise.all(refs.map(([payload]) => fire(hook, payload)))
    for (const [index, [, line]] of refs.entries()) {
      const action = await endedWith('FAILED_SOURCE', ids[index]!)
      assert.equal(action.targets[0].current_step.name, 'get-new-release')
      const statuses = action.targets[0].steps.map(({ status }: { status: string }) => status)
      assert.deepEqual(statuses, ['completed', 'failed', 'skipped', 'skipped', 'skipped', 'skipped'])
      assert.match(await logOf(action.id, 'get-new-release'), line)
    }
    await assertUntouched(shop, release)
  })

  test('a missing repository ends with FAILED_SOURCE', async (t) => {
    const { repository, shop, release } = await deployOnce(t)
    await rm(repository.folder, { recursive: true })
    const action = await endedWith('FAILED_SOURCE', await run(shop.pipelineId))
    assert.match(await logOf(action.id, 'get-new-release'), /There is no repository at file:/)
    await assertUntouched(shop, release)
    // Its commit was fetched before.
    await completed(await run(shop.pipelineId, { type: 'redeploy' }))
  })

  test('a server that refuses, hangs, or has another host key ends with FAILED_UNREACHABLE', async (t) => {
    const { repository } = await deployOnce(t)
    const silent = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    later(t, () => silent.close())
    const free = createServer().listen(0, '127.0.0.1')
    await once(free, 'listening')
    const { port: closedPort } = free.address() as { port: number }
    free.close()
    const otherKey = `ssh-ed25519 ${Buffer.concat([
      Buffer.from('0000000b7373682d6564323535313900000020', 'hex'),
      Buffer.alloc(32, 7),
    ]).toString('base64')}`
    const { port: silentPort } = silent.address() as { port: number }
    const cases: [object, RegExp][] = [
      [{ port: closedPort }, /refused the connection: no SSH server is listening there/],
      [{ port: silentPort }, /did not answer in time/],
      [{ host_key: otherKey }, /the host key of 127\.0\.0\.1:\d+ is not the known one/],
      [{ login_name: 'nobody-of-that-name' }, /does not accept the key for nobody-of-that-name/],
      [{ credential_id: null }, /has no SSH key/],
      [{ allow_loopback: false }, /Change the host, or have an instance administrator save the server/],
      [{ host: 'localhost', allow_loopback: false }, /localhost is the machine that Gantry runs on/],
      [{ host: '169.254.169.254' }, /link-local and metadata addresses are never allowed; change the host/],
    ]
    await Promise.all(
      cases.map(async ([difference, line]) => {
        const server = { ...(await world.newSshServer(sshd, 0)), ...difference }
        const other = await makeDeployable({ repository: repository.address, servers: [server] })
        const action = await endedWith('FAILED_UNREACHABLE', await run(other.pipelineId))
        assert.match(await logOf(action.id, 'check-app-environment'), line)
        assert.deepEqual(await releasesIn(other.bases[0]!), [])
      }),
    )
  })

  test('one unreachable server of two fails the action and leaves the other deployed', async (t) => {
    const repository = await makeRepository(t, { files: { 'index.html': 'good' } })
    const away = { ...(await world.newSshServer(sshd, 0)), login_name: 'nobody-of-that-name' }
    const shop = await makeDeployable({
      repository: repository.address,
      servers: [world.newLocalServer(), away],
    })
    const action = await endedWith('FAILED_UNREACHABLE', await run(shop.pipelineId))
    assert.equal(action.summary.targets.completed, 1)
    assert.equal(action.summary.targets.failed, 1)
    assert.equal(await liveFile(shop.bases[0]!, 'index.html'), 'good')
    // One server serves it, so it is the one to roll back from.
    assert.equal(action.resource.data.last_deployments.live.id, action.id)
  })

  test('a folder in place of `current` is reported, and left alone', async (t) => {
    const repository = await makeRepository(t, { files: { 'index.html': 'good' } })
    const shop = await makeDeployable({
      repository: repository.address,
      servers: [await world.newSshServer(sshd, 0)],
      steps: BUILT_IN,
    })
    const [base] = shop.bases as [string]
    await mkdir(join(base, 'current'), { recursive: true, mode: 0o777 })
    const action = await endedWith('FAILED', await run(shop.pipelineId))
    assert.match(await logOf(action.id, 'check-app-environment'), /cannot|must be a link/)
    assert.ok((await stat(join(base, 'current'))).isDirectory())
  })
})
