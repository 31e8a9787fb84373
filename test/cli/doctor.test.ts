import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { openShell } from '#test/support/cli.ts'
import { administer } from '#test/support/database.ts'
import { openTestApp } from '#test/support/harness.ts'
import { later } from '#test/support/later.ts'
import { createPerson } from '#test/support/world.ts'

const api = await openTestApp({ after })
const url = await api.app.listen({ host: '127.0.0.1', port: 0 })
const [admin, person] = [await createPerson(api.db, { admin: true }), await createPerson(api.db)]
const shell = await openShell({ after }, { GANTRY_URL: url, GANTRY_TOKEN: admin.token })

test('doctor checks connection, version, token and clock, then what the instance knows of itself', async () => {
  const { stdout, code } = await shell.gantry(['doctor'])
  assert.match(
    stdout,
    /✓ connection: .* responds in \d+ ms\.\n! version: .*\n {2}curl .*\n✓ token: .*\n✓ your clock: /,
  )
  assert.match(stdout, /✓ database: /)
  // No worker runs beside this test.
  assert.match(stdout, /[✗!] workers: .*\n {2}\S/)
  assert.equal(code, 1)
  const checks = JSON.parse((await shell.gantry(['doctor', '--json'])).stdout)
  assert.ok(
    checks.every(({ status, remedy }: { status: string; remedy: string }) => status === 'ok' || remedy),
  )
})

test('somebody who is no administrator learns about their own side', async () => {
  const { stdout, code } = await shell.gantry(['doctor'], { env: { GANTRY_TOKEN: person.token } })
  assert.match(stdout, /✓ token: .*\n! instance: Only instance administrators see more\.\n/)
  assert.equal(code, 0)
})

test('an address where nothing or something else responds is named', async (t) => {
  const nothing = await shell.gantry(['doctor'], { env: { GANTRY_URL: 'http://127.0.0.1:1' } })
  assert.match(nothing.stdout, /^✗ connection: http:\/\/127\.0\.0\.1:1 is unreachable/)
  assert.equal(nothing.code, 5)
  const other = createServer((_, response) => response.end('<h1>Welcome</h1>'))
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  later(t, async () => void other.close())
  const address = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  for (const command of [['doctor'], ['login', address, '--with-token'], ['status']]) {
    const { code, stdout, stderr } = await shell.gantry(command, { env: { GANTRY_URL: address }, input: 'x' })
    assert.equal(code, 5, `${command}: ${stdout}${stderr}`)
    assert.doesNotMatch(stdout + stderr, /\n\s+at |SyntaxError|JSON at position/)
  }
})

test('without its database, the instance is checked for administrators it knows, and others learn what is wrong', async (t) => {
  const away = await openTestApp(t)
  const there = await away.app.listen({ host: '127.0.0.1', port: 0 })
  const [known, unknown] = [await createPerson(away.db, { admin: true }), await createPerson(away.db)]
  assert.equal((await away.request('GET', '/workers', { token: known.token })).status, 200)
  const { database } = away.settings
  await administer(`alter database ${database} allow_connections false`)
  await administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`)
  const ask = ({ token }: { token: string }) =>
    shell.gantry(['doctor'], { env: { GANTRY_URL: there, GANTRY_TOKEN: token } })
  const [shown, refused] = await Promise.all([ask(known), ask(unknown)])
  assert.match(shown.stdout, /! token: Not checked: it needs the database\.\n/)
  assert.match(shown.stdout, /✗ database: The database cannot be reached\.\n {2}Check that PostgreSQL runs/)
  assert.match(
    shown.stdout,
    /! workers: Not checked: it needs the database\.\n {2}See the check database\.\n/,
  )
  assert.match(shown.stdout, /✓ home: /)
  assert.match(
    refused.stdout,
    /✗ instance: The instance cannot reach its database\.\n {2}Check that PostgreSQL runs.*used in the last ten minutes/,
  )
  for (const { stdout, stderr, code } of [shown, refused]) {
    assert.doesNotMatch(stdout + stderr, /sign in/i)
    assert.equal(code, 1)
  }
  await administer(`alter database ${database} allow_connections true`)
})

test('a proxy without an instance behind it is named', async (t) => {
  const proxy = createServer((_, response) => response.writeHead(503).end('<h1>503 Service Unavailable</h1>'))
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  later(t, async () => void proxy.close())
  const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const { stdout, code } = await shell.gantry(['doctor'], { env: { GANTRY_URL: address } })
  assert.match(stdout, /^✗ connection: .*\n {2}A proxy responded, but no instance behind it/)
  assert.equal(code, 5)
})
