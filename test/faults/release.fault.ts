// A release as people get it: packed, installed elsewhere by npm, and started with one command.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { ordinaryUser } from '#platform/database/embedded/fixtures.ts'
import { VERSION } from '#platform/version.ts'
import { makeCertificates } from '#test/support/certificates.ts'
import { later } from '#test/support/later.ts'
import { npm, pack } from '#test/support/npm.ts'
import { startGantry, temporaryHome } from '#test/support/process.ts'

const run = promisify(execFile)
const INSTALLED_WITHIN_MS = 180_000

describe('a release', () => {
  let folder: string
  let files: string[]
  let program: string
  let tarball: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gantry-release-'))
    const packed = await pack(null, folder)
    files = packed.files
    tarball = packed.tarball
    const prefix = join(folder, 'prefix')
    await npm(['install', '--global', `--prefix=${prefix}`, '--prefer-offline', '--no-audit', packed.tarball])
    program = join(prefix, 'bin', 'gantry-server')
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it('holds built JavaScript, the pages, the guides and the command line, and neither sources nor tests', () => {
    for (const file of [
      'dist/server/main.js',
      'dist/web/dist/index.html',
      'dist/cli/dist/gantry.mjs',
      'dist/docs/dist/index.html',
      'dist/server/adapters/repositories/git.config',
      'dist/server/model/deploy/prelude.sh',
      'LICENSE',
    ])
      assert.ok(files.includes(file), file)
    assert.deepEqual(
      files.filter((file) => /\.tsx?$|\.test\.|fixtures/.test(file)),
      [],
    )
  })

  it('starts with one command, serves the pages and the command line, and stops on SIGTERM', async (t) => {
    const home = await temporaryHome(t)
    const gantry = await startGantry(t, { GANTRY_HOME: home }, undefined, [program])
    assert.match(gantry.output.join('\n'), /first start: log in as admin@example\.com/)
    const page = await fetch(`${gantry.url}/app`)
    assert.match(await page.text(), /<title>/)
    const service = (await (await fetch(`${gantry.url}/`)).json()) as { version: string }
    assert.equal(service.version, VERSION)
    assert.equal((await fetch(`${gantry.url}/readyz`)).status, 200)
    assert.equal((await fetch(`${gantry.url}/cli/gantry.mjs`)).status, 200)
    assert.equal((await fetch(`${gantry.url}/docs`)).status, 200)
    assert.match(await (await fetch(`${gantry.url}/docs/guides/tour`)).text(), /<h1 id="tour/)
    assert.equal(await gantry.stop(), 0)
    const again = await startGantry(t, { GANTRY_HOME: home }, undefined, [program])
    assert.doesNotMatch(again.output.join('\n'), /first start/)
    assert.equal(await again.stop(), 0)
    const backup = join(folder, 'saved.gantry')
    const { stdout } = await run(program, ['backup', backup], { env: { ...process.env, GANTRY_HOME: home } })
    assert.match(stdout, /saved\.gantry/)
  })

  describe('without root', () => {
    /** The command of the docs, as an ordinary account runs it in a home of its own. */
    async function install(home: string, more: Record<string, string>) {
      const guide = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8')
      const [command] = /^npm install --global --prefix.*?\.tgz$/ms.exec(guide)!
      const env = { ...process.env, HOME: home, npm_config_userconfig: join(home, '.npmrc'), ...more }
      const options = { ...ordinaryUser, cwd: home, env, timeout: INSTALLED_WITHIN_MS }
      return run('sh', ['-c', command.replace('./gantry-<version>.tgz', tarball)], options)
    }

    async function newHome(t: TestContext): Promise<string> {
      await chmod(folder, 0o755)
      const home = await temporaryHome(t)
      await chown(home, ordinaryUser.uid, ordinaryUser.gid)
      return home
    }

    it('is installed into a home, and runs there', async (t) => {
      const home = await newHome(t)
      const cache = join(home, 'cache')
      await run('cp', ['-a', (await npm(['config', 'get', 'cache'])).trim(), cache])
      await run('chown', ['-R', `${ordinaryUser.uid}:${ordinaryUser.gid}`, cache])
      await install(home, { npm_config_cache: cache, npm_config_prefer_offline: 'true' })
      const { uid, gid } = ordinaryUser
      const gantry = await startGantry(t, { HOME: home, GANTRY_HOME: join(home, 'data') }, undefined, [
        ...(['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'] as const),
        join(home, '.local/bin/gantry-server'),
      ])
      assert.equal((await fetch(`${gantry.url}/readyz`)).status, 200)
      assert.equal(await gantry.stop(), 0)
    })

    it('says why a registry cannot be used, and gives up', async (t) => {
      const home = await newHome(t)
      const { certificate, key } = await makeCertificates(t)
      const registry = createServer({ cert: await readFile(certificate), key: await readFile(key) })
      registry.listen(0, '127.0.0.1')
      await once(registry, 'listening')
      later(t, () => registry.close())
      const { port } = registry.address() as AddressInfo
      const more = { npm_config_cache: join(home, 'cache'), npm_config_registry: `https://localhost:${port}` }
      await assert.rejects(install(home, more), ({ stderr, killed }: { stderr: string; killed: boolean }) => {
        assert.equal(killed, false, 'it gives up')
        assert.match(stderr, /npm http fetch .*localhost.* attempt 1 failed with \w*(CERT|SIGNATURE)\w*/)
        assert.match(stderr, /npm error code \w*(CERT|SIGNATURE)/)
        return true
      })
    })
  })

  it('has a systemd unit that systemd accepts', async () => {
    const unit = await readFile(new URL('../../deploy/gantry.service', import.meta.url), 'utf8')
    const copy = join(folder, 'gantry.service')
    // The program has to exist; the account does not.
    await writeFile(copy, unit.replace('/usr/local/bin/gantry-server', program))
    const { stdout, stderr } = await run('systemd-analyze', ['verify', '--recursive-errors=no', copy])
    assert.equal(stdout + stderr, '')
  })

  it('says its version, what it can do, and what it does not know', async () => {
    assert.equal((await run(program, ['--version'])).stdout, `gantry-server ${VERSION}\n`)
    assert.match((await run(program, ['--help'])).stdout, /^Usage: gantry-server \[command\]/)
    await assert.rejects(run(program, ['strat']), { code: 2, stderr: /unknown command strat/ })
  })
})
