// Installing the command line from an instance, as its address says: curl … | sh.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { installScript } from '#ops/command-line/routes.ts'
import { CLI, USERS_NODE } from '#test/support/cli.ts'
import { openTestApp } from '#test/support/harness.ts'
import { later } from '#test/support/later.ts'

const run = promisify(execFile)
const api = await openTestApp({ after })
const url = await api.app.listen({ host: '127.0.0.1', port: 0 })

/** A home with nothing but the system's programs and the user's Node. */
async function openHome(t: { after(fn: () => Promise<void>): void }) {
  const home = await mkdtemp(join(tmpdir(), 'gantry-install-'))
  later(t, () => rm(home, { recursive: true, force: true }))
  await mkdir(join(home, 'node'))
  await symlink(USERS_NODE, join(home, 'node/node'))
  const env = { HOME: home, PATH: `${join(home, 'node')}:/usr/bin:/bin` }
  const install = (script: string, more: Record<string, string> = {}) =>
    run('sh', ['-c', script], { env: { ...env, ...more } }).then(
      ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
      ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
    )
  return { home, bin: join(home, '.local/bin'), install }
}

test('every instance hands out its own copy, which one line installs', async (t) => {
  const { bin, install } = await openHome(t)
  const { body } = await fetchText(`${url}/cli/install.sh`, { host: 'evil.example.com' })
  assert.doesNotMatch(body, /evil/, 'the address comes from the setting')
  const script = installScript(url)
  const { code, stdout, stderr } = await install(script)
  assert.equal(code, 0, stderr)
  assert.match(
    stdout,
    /^Installed gantry \d+\.\d+\.\d+ as .*\.local\/bin\/gantry\nAdd it to your PATH: .*\nNext: gantry login http/,
  )
  assert.deepEqual(await readdir(bin), ['gantry'])
  const installed = await readFile(join(bin, 'gantry'), 'utf8')
  const [shebang, origin, ...rest] = installed.split('\n')
  assert.equal([shebang, ...rest].join('\n'), await readFile(CLI, 'utf8'))
  assert.match(origin!, /^globalThis\.gantryInstance="http/)
  assert.equal((await stat(join(bin, 'gantry'))).mode & 0o777, 0o755)
  assert.equal((await install(script)).code, 0, 'again, over the old one')
})

test('what is installed suggests the instance that it comes from', async (t) => {
  const { bin, home, install } = await openHome(t)
  assert.equal((await install(installScript(url))).code, 0)
  const { code, stderr } = await install(`${bin}/gantry status`, { GANTRY_CONFIG_DIR: join(home, 'config') })
  const own = await fetchText(`${url}/cli/install.sh`, {})
  const address = /^set -- '(.*)'$/m.exec(own.body)![1]
  assert.equal(code, 4)
  assert.equal(
    stderr,
    `gantry: You are not signed in.\nRun \`gantry login ${address}\`, or set GANTRY_URL and GANTRY_TOKEN.\n`,
  )
})

test('half a script does nothing', async (t) => {
  const { home, install } = await openHome(t)
  const script = installScript(url)
  for (const part of [0.3, 0.6, 0.95]) {
    await install(script.slice(0, Math.floor(script.length * part)))
    assert.deepEqual(await readdir(home), ['node'])
  }
})

test('a damaged download, a missing instance and an old Node install nothing', async (t) => {
  const { bin, home, install } = await openHome(t)
  const liar = createServer((request, response) => {
    response.end(request.url === '/cli/sha256' ? `${'0'.repeat(64)}  gantry.mjs\n` : 'console.log(1)')
  }).listen(0, '127.0.0.1')
  await once(liar, 'listening')
  later(t, async () => void liar.close())
  const damaged = await install(installScript(`http://127.0.0.1:${(liar.address() as AddressInfo).port}`))
  assert.match(damaged.stderr, /^gantry: The download is damaged/)
  const missing = await install(installScript('http://127.0.0.1:1'))
  assert.match(missing.stderr, /gantry: Failed to download http:\/\/127\.0\.0\.1:1\/cli\/gantry\.mjs\n/)
  assert.deepEqual(await readdir(bin), [])
  await writeFile(join(home, 'node/old'), '#!/bin/sh\n[ "$1" = --version ] && echo v18.0.0 || echo 18\n', {
    mode: 0o755,
  })
  await rm(join(home, 'node/node'))
  await symlink('old', join(home, 'node/node'))
  const old = await install(installScript(url))
  assert.match(old.stderr, /^gantry: gantry needs Node\.js 20 or later; this is v18\.0\.0\.\n$/)
})

test('an address with quotes is only ever an address', () => {
  assert.match(
    installScript("https://x.example/'; touch /tmp/x; '"),
    /^#!\/bin\/sh\nset -- 'https:\/\/x\.example\/'\\''; touch \/tmp\/x; '\\'''\n/,
  )
})

test('only the command line receives the version of the instance', async () => {
  const asked = await fetch(`${url}/healthz`, { headers: { 'user-agent': 'gantry-cli/0.0.1' } })
  assert.match(asked.headers.get('x-gantry-version') ?? '', /^\d+\.\d+\.\d+/)
  assert.equal((await fetch(`${url}/healthz`)).headers.get('x-gantry-version'), null)
})

async function fetchText(address: string, headers: Record<string, string>) {
  const answer = await fetch(address, { headers })
  assert.equal(answer.status, 200)
  return { body: await answer.text() }
}
