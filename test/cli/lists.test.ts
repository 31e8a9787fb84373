// Commands that list and show, against a running service.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, suite, test } from 'node:test'
import { CLI, openShell, USERS_NODE } from '#test/support/cli.ts'
import { openTestApp } from '#test/support/harness.ts'
import { openTerminal } from '#test/support/terminal.ts'
import { createAction, createPerson, createTestTree } from '#test/support/world.ts'

const api = await openTestApp({ after })
const url = await api.app.listen({ host: '127.0.0.1', port: 0 })
const tree = await createTestTree(api.db)
const shell = await openShell({ after }, { GANTRY_URL: url, GANTRY_TOKEN: tree.owner.token })
const json = async (...args: string[]) => {
  const { code, stdout, stderr } = await shell.gantry([...args, '--json'])
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

suite('lists', () => {
  test('runs, newest first, as JSON and as lines for scripts', async () => {
    const first = await createAction(api.db, tree)
    const second = await createAction(api.db, tree)
    const ids = (await json('actions', 'ls')).map(({ id }: { id: number }) => id)
    assert.deepEqual(ids.slice(0, 2), [second, first])
    const { stdout } = await shell.gantry(['actions', 'ls', '--limit', '1'])
    assert.match(stdout, new RegExp(`^#${second}\t[^\n]+\n$`))
    const shown = await shell.gantry(['actions', 'show', `#${first}`])
    assert.match(shown.stdout, new RegExp(`Run +#${first} `))
  })

  test('a run in color has no remains of control sequences, and takes its number without #', async (t) => {
    const [{ id }] = await json('actions', 'ls')
    const env = { ...shell.env, FORCE_COLOR: '1' }
    const terminal = await openTerminal(t, [USERS_NODE, CLI, 'actions', 'show', String(id)], { env })
    assert.equal(await terminal.ended, 0)
    assert.match(terminal.history(), new RegExp(`^Run +#${id} `))
    assert.doesNotMatch(terminal.history(), /\[\d+m/)
  })

  test('everything that is set up', async () => {
    for (const kind of ['applications', 'servers', 'credentials', 'members']) {
      const items = await json(kind, 'ls')
      assert.ok(items.length > 0, kind)
      const { code, stdout } = await shell.gantry([kind, 'ls'])
      assert.equal(code, 0)
      assert.equal(stdout.trim().split('\n').length, items.length, kind)
    }
    assert.deepEqual(await json('applications', 'ls', '--project', 'no such project'), [])
  })

  test('what is running, failed and undeliverable', async () => {
    const { code, stdout } = await shell.gantry(['status'])
    assert.equal(code, 0)
    assert.match(stdout, /Running at .*Recent failures\n.*Undeliverable\n/s)
  })
})

suite('tokens', () => {
  test('are created once, listed and revoked by name', async () => {
    const { stdout: token, stderr } = await shell.gantry(['tokens', 'create', 'ci', '--scope', 'read', 'run'])
    assert.match(token, /^gty_pat_\w+\n$/)
    assert.match(stderr, /Copy it now; it won't be shown again\./)
    const own = { env: { GANTRY_TOKEN: token.trim() } }
    assert.equal((await shell.gantry(['actions', 'ls'], own)).code, 0)
    const [listed] = await json('tokens', 'ls')
    assert.deepEqual([listed.name, listed.scopes], ['ci', ['read', 'run']])
    assert.equal((await shell.gantry(['tokens', 'revoke', 'ci'])).code, 0)
    const after = await shell.gantry(['actions', 'ls'], own)
    assert.equal(after.code, 4)
    assert.match(after.stderr, /gantry login/)
    const wrong = await shell.gantry(['tokens', 'create', 'x', '--scope', 'write'])
    assert.deepEqual([wrong.code, wrong.stderr.includes('Scopes: read, run, hooks, manage')], [2, true])
  })
})

suite('api', () => {
  test('prints what the API answers; its status decides the exit code', async () => {
    const { code, stdout } = await shell.gantry(['api', 'GET', '/users/me'])
    assert.deepEqual([code, JSON.parse(stdout).email], [0, tree.owner.email])
    const { token } = await createPerson(api.db, { admin: true })
    const asAdmin = { env: { GANTRY_TOKEN: token } }
    const made = await shell.gantry(['api', 'post', 'organizations', '-f', 'name=42 North'], asAdmin)
    assert.equal(JSON.parse(made.stdout).name, '42 North')
    const missing = await shell.gantry(['api', 'GET', '/actions/999999'])
    assert.deepEqual([missing.code, JSON.parse(missing.stdout).code], [6, 'not_found'])
    const invalid = await shell.gantry(['api', 'POST', '/organizations', '--input', '-'], {
      ...asAdmin,
      input: '{"name":1}',
    })
    assert.deepEqual([invalid.code, JSON.parse(invalid.stdout).code], [6, 'invalid'])
  })

  test('joins all pages of a list', async () => {
    const all = await shell.gantry(['api', 'GET', '/actions', '-f', 'per_page=1', '--paginate'])
    assert.ok(JSON.parse(all.stdout).length >= 2)
  })

  test('sends the token nowhere else', async () => {
    for (const path of ['http://127.0.0.1:1/x', '//127.0.0.1:1/x']) {
      const { code, stderr } = await shell.gantry(['api', 'GET', path])
      assert.equal(code, 2)
      assert.match(stderr, /path only/)
    }
  })
})

test('a reader that has enough ends the command quietly', () => {
  const script = `"${USERS_NODE}" "${CLI}" help | head -n 1; echo "status \${PIPESTATUS[0]}"`
  const { stdout, stderr } = spawnSync('bash', ['-c', script], { env: shell.env, encoding: 'utf8' })
  assert.match(stdout, /^Usage: gantry .*\nstatus 0\n$/)
  assert.equal(stderr, '')
})
