import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ADMIN_ENVIRONMENT, call, logInAsAdmin, startGantry, temporaryHome } from '#test/support/process.ts'
import { until } from '#test/support/until.ts'

test('the first start creates a user and a sample, and the second start uses them', async (t) => {
  const home = await temporaryHome(t)
  const first = await startGantry(t, { GANTRY_HOME: home })
  const line = first.output.find((one) => one.startsWith('first start'))
  const password = /with the password (\S{20}) \(shown this once\)/.exec(line ?? '')?.[1]
  assert.ok(password, `the password is printed: ${line}`)
  await until('the address of the dashboard is printed', 5_000, async () =>
    first.output.includes(`dashboard at ${first.url}/app`),
  )
  assert.equal((await call(first, 'GET', '/healthz')).status, 200)
  assert.equal((await call(first, 'GET', '/readyz')).status, 200)
  const credentials = { email: 'admin@example.com', password }
  const token = (await call(first, 'POST', '/users/login', { body: credentials })).body.access_token
  const { body: diagnostics } = await call(first, 'GET', '/diagnostics', { token })
  // Isolation and free space depend on the machine, and tests run without pages.
  const troubles = diagnostics.checks.filter(
    (check: { name: string; status: string }) =>
      check.status !== 'ok' && !['disk', 'local_steps', 'pages'].includes(check.name),
  )
  // Others cannot reach it yet.
  assert.deepEqual(
    troubles.map(({ name }: { name: string }) => name),
    ['base_url'],
  )
  const hook = await call(first, 'POST', '/pipelines/1/hooks/incoming', { token, body: { name: 'First' } })
  assert.equal(hook.status, 201)
  assert.equal(await first.stop(), 0)
  assert.equal((await stat(join(home, 'secret.key'))).mode & 0o777, 0o600)
  assert.ok((await readdir(join(home, 'repositories/sample'))).includes('hello-gantry.git'))

  const second = await startGantry(t, { GANTRY_HOME: home })
  assert.ok(!second.output.some((one) => one.startsWith('first start')))
  const list = await call(second, 'GET', '/pipelines/1/hooks', { token })
  assert.equal(
    list.body[0].url.split('/').at(-2),
    hook.body.url.split('/').at(-2),
    'sealed values open again',
  )
  assert.equal(await second.stop(), 0)
})

test('GANTRY_SAMPLE=false creates a user and nothing else', async (t) => {
  const gantry = await startGantry(t, {
    GANTRY_HOME: await temporaryHome(t),
    GANTRY_SAMPLE: 'false',
    ...ADMIN_ENVIRONMENT,
  })
  const token = await logInAsAdmin(gantry)
  assert.equal((await call(gantry, 'GET', '/users/me', { token })).status, 200)
  assert.equal((await call(gantry, 'GET', '/pipelines/1/hooks', { token })).status, 404)
  assert.ok(
    !gantry.output.join().includes(ADMIN_ENVIRONMENT.GANTRY_ADMIN_PASSWORD),
    'a given password is not printed',
  )
  assert.equal(await gantry.stop(), 0)
})

test('a home below a folder that only its owner can enter works', async (t) => {
  const closed = await temporaryHome(t)
  await chmod(closed, 0o700)
  const gantry = await startGantry(t, { GANTRY_HOME: join(closed, 'deeper', 'home'), ...ADMIN_ENVIRONMENT })
  assert.equal((await call(gantry, 'GET', '/readyz')).status, 200)
  assert.equal(await gantry.stop(), 0)
})

test('a second process with the same home exits with the reason', async (t) => {
  const home = await temporaryHome(t)
  const first = await startGantry(t, { GANTRY_HOME: home, ...ADMIN_ENVIRONMENT })
  await assert.rejects(
    startGantry(t, { GANTRY_HOME: home }),
    /another Gantry is running with this GANTRY_HOME \(process \d+\)/,
  )
  assert.equal((await call(first, 'GET', '/healthz')).status, 200)
  assert.equal(await first.stop(), 0)
})

test('an invalid configuration prevents the start and lists every problem', async (t) => {
  const environment = {
    PORT: 'many',
    GANTRY_ROLE: 'worker',
    GANTRY_URL: 'nowhere',
    GANTRY_HOME: await temporaryHome(t),
  }
  await assert.rejects(startGantry(t, environment), (error: Error) => {
    for (const problem of [
      'PORT must be',
      'GANTRY_URL must be',
      'GANTRY_ROLE=worker requires DATABASE_URL',
    ]) {
      assert.ok(error.message.includes(problem), problem)
    }
    return true
  })
})

test('an unusable database server prevents the start with the reason', async (t) => {
  const environment = {
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
    GANTRY_HOME: await temporaryHome(t),
  }
  await assert.rejects(
    startGantry(t, environment),
    /The server of DATABASE_URL cannot be used: .*ECONNREFUSED/,
  )
})

test('a port in use prevents the start, and stops the embedded database', async (t) => {
  const first = await startGantry(t, { GANTRY_HOME: await temporaryHome(t), ...ADMIN_ENVIRONMENT })
  const home = await temporaryHome(t)
  const port = new URL(first.url!).port
  await assert.rejects(startGantry(t, { GANTRY_HOME: home, PORT: port, ...ADMIN_ENVIRONMENT }), /EADDRINUSE/)
  await assert.rejects(stat(join(home, 'postgres/postmaster.pid')), { code: 'ENOENT' })
  assert.equal(await first.stop(), 0)
})

test('secrets from the environment do not appear in the log', async (t) => {
  const gantry = await startGantry(t, {
    GANTRY_HOME: await temporaryHome(t),
    LOG_LEVEL: 'trace',
    ...ADMIN_ENVIRONMENT,
  })
  const token = await logInAsAdmin(gantry)
  const hook = await call(gantry, 'POST', '/pipelines/1/hooks/incoming', {
    token,
    body: { name: 'x', requires_secret: true },
  })
  await call(gantry, 'GET', `/hooks/incoming/${hook.body.id}`, { token })
  assert.equal(await gantry.stop(), 0)
  const everything = [...gantry.log, ...gantry.output].join('\n')
  assert.ok(gantry.log.length > 3)
  for (const secret of [
    token,
    hook.body.secret,
    hook.body.url.split('/').at(-2),
    ADMIN_ENVIRONMENT.GANTRY_ADMIN_PASSWORD,
  ]) {
    assert.ok(!everything.includes(secret), 'a secret was logged')
  }
})

test('of two concurrent commands one installs, and a later one has nothing to do', async (t) => {
  const project = await mkdtemp(join(tmpdir(), 'gantry-ensure-'))
  t.after(() => rm(project, { recursive: true, force: true }))
  await mkdir(join(project, 'scripts'))
  const ensure = fileURLToPath(new URL('../../scripts/ensure.mjs', import.meta.url))
  await copyFile(ensure, join(project, 'scripts/ensure.mjs'))
  const manifest = { name: 'empty', version: '1.0.0' }
  const lock = { ...manifest, lockfileVersion: 3, requires: true, packages: { '': manifest } }
  await writeFile(join(project, 'package.json'), JSON.stringify(manifest))
  await writeFile(join(project, 'package-lock.json'), JSON.stringify(lock))
  await mkdir(join(project, 'node_modules'))
  const run = async () => {
    const child = spawn(process.execPath, [join(project, 'scripts/ensure.mjs')], {
      cwd: project,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let said = ''
    child.stdout.on('data', (chunk) => {
      said += chunk
    })
    const [code] = await once(child, 'close')
    assert.equal(code, 0)
    return said.includes('installing dependencies')
  }
  assert.deepEqual((await Promise.all([run(), run()])).sort(), [false, true])
  assert.match(await readFile(join(project, 'node_modules/.gantry-installed'), 'utf8'), /^[0-9a-f]{64}$/)
  assert.equal(await run(), false)
})
