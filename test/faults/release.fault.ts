// A release as people get it: packed, installed elsewhere by npm, and started with one command.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { asRoot, ordinaryUser } from '#platform/database/embedded/fixtures.ts'
import { VERSION } from '#platform/version.ts'
import { type Hook, sign } from '#test/support/calls.ts'
import { makeCertificates } from '#test/support/certificates.ts'
import {
  type Containers,
  composeValidator,
  type ImageConfig,
  openContainers,
  startContainer,
  startOwnContainer,
} from '#test/support/containers.ts'
import { later } from '#test/support/later.ts'
import { npm, pack } from '#test/support/npm.ts'
import { freePort } from '#test/support/ports.ts'
import { ADMIN, call, logInAsAdmin, startGantry, temporaryHome } from '#test/support/process.ts'
import { until } from '#test/support/until.ts'

const run = promisify(execFile)
const INSTALLED_WITHIN_MS = 180_000

/** Right after a start, on a busy machine, no job may have gone through the queue yet. */
const untilReady = (url: string) =>
  until('Gantry is ready', 60_000, async () => (await fetch(`${url}/readyz`)).status === 200)

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
    await untilReady(gantry.url!)
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
      await untilReady(gantry.url!)
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

  describe('in a container', { skip: asRoot ? false : 'containers are built as root' }, () => {
    let containers: Containers
    let config: ImageConfig
    let container: string
    let volume: string
    let port: number

    before(async () => {
      containers = await openContainers(join(folder, 'containers'))
      config = await containers.build('gantry', join(folder, 'prefix'))
      const { buildah } = containers
      container = await buildah('from', '--pull-never', 'gantry')
      port = await freePort()
      const environment = { PORT: port, LOG_LEVEL: 'warn', GANTRY_ADMIN_PASSWORD: ADMIN.password }
      for (const [name, value] of Object.entries(environment))
        await buildah('config', `--env=${name}=${value}`, container)
      // A new volume of a runtime begins as a copy of the image's folder.
      volume = join(folder, 'volume')
      await mkdir(volume)
      const [home] = Object.keys(config.Volumes)
      const owner = await buildah('run', container, '--', 'stat', '--format=%u', home!)
      await chown(volume, Number(owner), Number(owner))
    })

    /** Exactly as the image has it; throws when it fails. */
    function checkHealth() {
      const [kind, command] = config.Healthcheck.Test
      assert.equal(kind, 'CMD-SHELL')
      return containers.buildah('run', container, '--', '/bin/sh', '-c', command)
    }

    async function asAdmin(gantry: { url: string | undefined }) {
      const token = await logInAsAdmin(gantry)
      return (method: string, path: string, body?: unknown) => call(gantry, method, path, { token, body })
    }

    /** Calls a hook of the sample's pipeline; the run, when it has ended. */
    async function push(ask: Awaited<ReturnType<typeof asAdmin>>, hook: Hook) {
      const body = JSON.stringify({ ref: 'refs/heads/main' })
      const headers = {
        'content-type': 'application/json',
        'x-hub-signature-256': sign(hook.secret!, body),
      }
      const wrong = await fetch(hook.url, { method: 'POST', headers, body: `${body} ` })
      assert.equal(wrong.status, 403)
      const accepted = await fetch(hook.url, { method: 'POST', headers, body })
      assert.equal(accepted.status, 202)
      const { action_id } = (await accepted.json()) as { action_id: number }
      return until('the run ends', 60_000, async () => {
        const { body } = await ask('GET', `/actions/${action_id}`)
        return body.completed_at !== null && body
      })
    }

    it('is an image of at most 450 MB, for an ordinary account, with its data in a volume', async () => {
      const size = await containers.buildah('images', '--format={{.Size}}', 'localhost/gantry')
      assert.match(size, /^\d+ MB$/)
      assert.ok(Number.parseInt(size, 10) <= 450, size)
      const account = await containers.buildah('run', container, '--', 'id', '--user')
      assert.notEqual(account, '0')
      assert.ok(config.Env.includes(`GANTRY_HOME=${Object.keys(config.Volumes)}`))
      assert.equal(config.StopSignal, 'SIGTERM')
    })

    it('starts, answers, stops cleanly, and finds its data when it starts again', async (t) => {
      const how = { container, config, volume }
      await assert.rejects(checkHealth(), /Failed to connect/)
      const env = { GANTRY_UNSAFE_LOCAL_STEPS: 'true' }
      const first = await startContainer(t, containers, { ...how, env })
      await checkHealth()
      assert.match(await readFile(`/proc/${first.main}/status`, 'utf8'), /^Uid:\t[1-9]/m)
      const ask = await asAdmin(first)
      const created = await ask('POST', '/pipelines/1/hooks/incoming', {
        name: 'Push',
        requires_secret: true,
      })
      assert.equal(created.status, 201)
      const run = await push(ask, created.body)
      assert.equal(run.status, 'completed')
      await stopsInTime(first)

      // Here, local steps cannot be isolated, and nothing asks for less.
      const second = await startContainer(t, containers, how)
      await checkHealth()
      assert.doesNotMatch(second.output.join('\n'), /first start/)
      const askAgain = await asAdmin(second)
      assert.equal((await askAgain('GET', `/actions/${run.id}`)).body.status, 'completed')
      const refused = await push(askAgain, created.body)
      assert.equal(refused.targets[0].status_reason_code, 'FAILED_UNREACHABLE')
      const { id } = refused.targets[0]
      const log = await askAgain('GET', `/actions/${refused.id}/targets/${id}/steps/1/logs`)
      assert.match(log.body.step.output, /GANTRY_UNSAFE_LOCAL_STEPS=true/)
      await stopsInTime(second)

      const environment = { PORT: String(port), LOG_LEVEL: 'warn' }
      const third = await startOwnContainer(t, containers, { ...how, env: environment })
      const isolated = await push(await asAdmin(third), created.body)
      assert.equal(
        isolated.status,
        'completed',
        'where user namespaces are allowed, local steps are isolated',
      )
      await stopsInTime(third)
    })

    async function stopsInTime(gantry: Awaited<ReturnType<typeof startContainer>>) {
      const began = performance.now()
      assert.equal(await gantry.stop(), 0)
      assert.ok(performance.now() - began < 15_000)
    }

    it('has a compose file that fits the image and the specification, without a secret in it', async () => {
      const file = new URL('../../deploy/container/compose.yaml', import.meta.url)
      const compose = parse(await readFile(file, 'utf8'))
      const isValid = await composeValidator()
      assert.equal(isValid(compose), true, JSON.stringify(isValid.errors))
      assert.equal(isValid({ services: { gantry: { imagee: 'gantry' } } }), false)
      const { gantry, database } = compose.services
      const [home] = Object.keys(config.Volumes)
      assert.deepEqual(gantry.volumes, [`home:${home}`])
      assert.deepEqual(Object.keys(compose.volumes), ['home', 'database'])
      assert.deepEqual(gantry.ports, [
        `127.0.0.1:7070:${Number.parseInt(Object.keys(config.ExposedPorts)[0]!, 10)}`,
      ])
      assert.ok(Number.parseInt(gantry.stop_grace_period, 10) > 15)
      assert.match(gantry.environment.DATABASE_URL, /:\$\{POSTGRES_PASSWORD:\?[^}]+\}@database\//)
      assert.match(database.environment.POSTGRES_PASSWORD, /^\$\{POSTGRES_PASSWORD:\?[^}]+\}$/)
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
