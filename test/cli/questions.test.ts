// Commands that ask, typed by somebody at a terminal.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { CLI, openShell, USERS_NODE } from '#test/support/cli.ts'
import { openTestApp } from '#test/support/harness.ts'
import { openTerminal } from '#test/support/terminal.ts'
import { createPerson, createTestTree } from '#test/support/world.ts'

const api = await openTestApp({ after })
const url = await api.app.listen({ host: '127.0.0.1', port: 0 })
const administrator = await createPerson(api.db, { admin: true })
const shell = await openShell({ after }, { GANTRY_URL: url, GANTRY_TOKEN: administrator.token })
const cwd = join(shell.folder, 'shop')
await mkdir(cwd)
await promisify(execFile)(
  'sh',
  [
    '-c',
    'git init --quiet --initial-branch=main && git remote add origin https://git.example.com/acme/shop.git',
  ],
  { cwd },
)

type Closer = Parameters<typeof openTerminal>[0]
const typed = (t: Closer, args: string[], { columns = 80, env = {} } = {}) =>
  openTerminal(t, [USERS_NODE, CLI, ...args], { cwd, env: { ...shell.env, ...env }, columns })

test('init asks, suggests what it has detected, and writes a file; again it asks before it overwrites', async (t) => {
  const terminal = await typed(t, ['init'])
  await terminal.sees('https://git.example.com/acme/shop.git')
  terminal.press('enter')
  await terminal.sees('Branch to deploy')
  terminal.press('enter')
  await terminal.sees('Organization')
  terminal.type('Acme')
  terminal.press('enter')
  await terminal.sees('Project')
  terminal.press('enter')
  await terminal.sees('Environment')
  terminal.press('enter')
  await terminal.sees('Where to deploy to')
  terminal.press('enter')
  await terminal.sees('as user@host')
  terminal.type('deploy@web-1.example.com')
  terminal.press('enter')
  await terminal.sees('Folder on the server')
  terminal.press('enter')
  await terminal.sees('private')
  terminal.press('left', 'enter')
  await terminal.sees('What starts a deploy')
  terminal.press('enter')
  assert.equal(await terminal.ended, 0, terminal.history())
  const document = parse(await readFile(join(cwd, 'gantry.yaml'), 'utf8'))
  assert.equal(document.organization, 'Acme')
  assert.equal(document.credentials['git.example.com'].base_url, 'https://git.example.com')
  const again = await typed(t, ['init'])
  await again.sees('Overwrite it?')
  again.press('enter')
  assert.equal(await again.ended, 3)
})

test('apply shows the changes on 40 columns, asks for missing values, and does nothing without a yes', async (t) => {
  const env = { FORCE_COLOR: '0' }
  const refused = await typed(t, ['apply'], { columns: 40, env })
  await refused.sees('GIT_TOKEN')
  refused.type('a-token')
  refused.press('enter')
  await refused.sees('Apply these changes?')
  assert.doesNotMatch(refused.history(), /a-token/)
  refused.press('enter')
  assert.equal(await refused.ended, 3)
  assert.match(refused.history(), /Nothing was changed\./)
  assert.deepEqual(await api.db.selectFrom('organizations').selectAll().execute(), [])

  const agreed = await typed(t, ['apply'], { env: { ...env, GIT_TOKEN: 'a-token' } })
  await agreed.sees('Apply these changes?')
  agreed.press('left', 'enter')
  assert.equal(await agreed.ended, 0, agreed.history())
  assert.match(agreed.history(), /\+ application production\/shop\n/)
  assert.match(agreed.history(), /Applied: \d+ created\./)
  assert.match(agreed.history(), /Next: gantry run production\/shop\/deploy --watch/)
  const stopped = await typed(t, ['apply', '-f', 'other.yaml'], { env: { ...env, GIT_TOKEN: 'another' } })
  assert.equal(await stopped.ended, 2)
})

test('Ctrl-C at a question changes nothing', async (t) => {
  await writeFile(join(cwd, 'gantry.yaml'), 'organization: Acme\nproject: {name: Other}\n')
  const terminal = await typed(t, ['apply'])
  await terminal.sees('Apply these changes?')
  terminal.press('ctrl-c')
  assert.equal(await terminal.ended, 130)
  assert.doesNotMatch(terminal.history(), /Applied/)
})

test('hook create asks for the pipeline, the fields and a credential that fits', async (t) => {
  const tree = await createTestTree(api.db)
  const env = { GANTRY_TOKEN: tree.owner.token }
  const { organizationId } = tree
  for (const name of ['First bot', 'Second bot']) {
    const body = { name, provider_code: 'slack', token: 'xoxb-token' }
    const made = await api.request('POST', `/organizations/${organizationId}/credentials`, {
      token: tree.owner.token,
      body,
    })
    assert.equal(made.status, 201, made.text)
  }
  const terminal = await typed(t, ['hook', 'create', '--to', 'slack-message', '--name', 'Typed'], { env })
  await terminal.sees('Which pipeline')
  terminal.press('enter')
  await terminal.sees('Channel:')
  terminal.type('#deploys')
  terminal.press('enter')
  await terminal.sees('Second bot')
  terminal.press('down', 'enter')
  assert.equal(await terminal.ended, 0, terminal.history())
  const { stdout } = await shell.gantry(['hooks', 'show', 'typed', '--json'], { env })
  const { settings, credential_id } = JSON.parse(stdout)
  assert.deepEqual(settings.preset, { kind: 'slack_message', channel: '#deploys' })
  const { name } = await api.db
    .selectFrom('credentials')
    .select('name')
    .where('id', '=', credential_id)
    .executeTakeFirstOrThrow()
  assert.equal(name, 'Second bot')

  const status = await typed(t, ['hook', 'create', 'deploy', '--to', 'github-status', '--name', 'Plain'], {
    env,
  })
  await status.sees('Name of the status:')
  status.press('enter')
  assert.equal(await status.ended, 0, status.history())
  const plain = await shell.gantry(['hooks', 'show', 'plain', '--json'], { env })
  assert.deepEqual(JSON.parse(plain.stdout).settings.preset, { kind: 'github_status' })
})

test('a hidden variable is typed unseen', async (t) => {
  const tree = await createTestTree(api.db)
  const env = { GANTRY_TOKEN: tree.owner.token }
  const terminal = await typed(t, ['variables', 'set', 'shop', 'API_KEY', '--hidden'], { env })
  await terminal.sees('API_KEY')
  terminal.type('sesame open')
  terminal.press('enter')
  assert.equal(await terminal.ended, 0, terminal.history())
  assert.doesNotMatch(terminal.history(), /sesame/)
  const { stdout } = await shell.gantry(['variables', 'ls', 'shop'], { env })
  assert.match(stdout, /^API_KEY\t\*{8}\thidden/)
})
