// Deploys of repositories with submodules: Gantry as a separate process, real git servers, local servers.
import assert from 'node:assert/strict'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { openHost, withSubmodules } from '#adapters/repositories/test-submodules.ts'
import { liveFile } from '#test/support/releases.ts'
import { openRunWorld } from '#test/support/run-world.ts'

const world = await openRunWorld({ after })
const { makeDeployable, run, completed, endedWith, logOf } = world

suite('a deploy of a repository with submodules', { concurrency: true }, () => {
  test('brings their files to every server, and fetches them once', async (t) => {
    const host = await openHost(t)
    const inner = await host.make('inner', { 'deep.txt': 'deep' })
    const lib = await host.make('lib', {
      'lib.txt': 'one',
      ...withSubmodules({ in: { ...inner, url: '../inner.git' } }),
    })
    const shop = await host.make('shop', { 'index.html': 'shop', ...withSubmodules({ 'vendor/lib': lib }) })
    const deployable = await makeDeployable({ repository: shop.url, servers: 3 })
    const first = await completed(await run(deployable.pipelineId))
    for (const base of deployable.bases) {
      assert.equal(await liveFile(base, 'index.html'), 'shop')
      assert.equal(await liveFile(base, 'vendor/lib/lib.txt'), 'one')
      assert.equal(await liveFile(base, 'vendor/lib/in/deep.txt'), 'deep')
    }
    for (const name of ['shop', 'lib', 'inner'])
      assert.equal(
        host.requests.filter((line) => line.startsWith(`GET /${name}.git/info/refs`)).length,
        1,
        name,
      )
    assert.match(await logOf(first.id, 'get-new-release'), /^The submodule "vendor\/lib" is at [0-9a-f]{8}$/m)
  })

  test('follows them to their next commit; a rollback to a release on disk contacts no host', async (t) => {
    const host = await openHost(t)
    const elsewhere = await openHost(t)
    const lib = await elsewhere.make('lib', { 'lib.txt': 'one' })
    const shop = await host.make('shop', withSubmodules({ lib }))
    const { pipelineId, bases, applicationId } = await makeDeployable({ repository: shop.url })
    await completed(await run(pipelineId))
    const next = await lib.commit({ 'lib.txt': 'two' })
    await shop.commit(withSubmodules({ lib: { ...lib, hash: next } }))
    await completed(await run(pipelineId))
    assert.equal(await liveFile(bases[0]!, 'lib/lib.txt'), 'two')
    const asked = [...host.requests, ...elsewhere.requests].length
    await completed(await run(pipelineId, { type: 'rollback' }))
    assert.equal(await liveFile(bases[0]!, 'lib/lib.txt'), 'one')
    assert.equal([...host.requests, ...elsewhere.requests].length, asked)
    // The mirrors of submodules are removed with that of the application, because they are in its folder.
    const mirrors = join(world.home, 'repositories/mirrors', String(applicationId), 'submodules')
    assert.equal((await readdir(mirrors)).length, 1)
  })

  test('leaves their folders empty when they are ignored, and warns about it', async (t) => {
    const host = await openHost(t)
    const lib = await host.make('lib', { 'lib.txt': 'one' })
    const shop = await host.make('shop', { 'index.html': 'shop', ...withSubmodules({ 'vendor/lib': lib }) })
    const application = { submodules: 'ignore' as const }
    const { pipelineId, bases } = await makeDeployable({ repository: shop.url, application })
    const { id } = await completed(await run(pipelineId))
    assert.equal(await liveFile(bases[0]!, 'index.html'), 'shop')
    assert.deepEqual(await readdir(join(bases[0]!, 'current/vendor/lib')), [])
    assert.match(
      await logOf(id, 'get-new-release'),
      /^Warning: submodules are not fetched, so these folders are empty: "vendor\/lib"\. .*set submodules to fetch/m,
    )
    assert.ok(host.requests.every((line) => !line.includes('/lib.git')))
  })

  test('ends with FAILED_SOURCE when one cannot be fetched, and names it; nothing becomes live', async (t) => {
    const host = await openHost(t)
    const lib = await host.make('lib', { 'lib.txt': 'one' })
    const url = `http://10.255.255.1:${host.port}/lib.git`
    const shop = await host.make('shop', withSubmodules({ 'vendor/lib': { ...lib, url } }))
    const { pipelineId, bases } = await makeDeployable({ repository: shop.url })
    const { id } = await endedWith('FAILED_SOURCE', await run(pipelineId))
    const log = await logOf(id, 'get-new-release')
    assert.match(log, /The submodule "vendor\/lib" cannot be fetched\. .*10\.255\.255\.1/)
    await assert.rejects(stat(join(bases[0]!, 'current')), { code: 'ENOENT' })
  })
})
