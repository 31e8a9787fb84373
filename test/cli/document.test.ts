// gantry.yaml from the command line: what apply shows, asks and sends, and what export writes.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { openShell } from '#test/support/cli.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createPerson } from '#test/support/world.ts'

const api = await openTestApp({ after })
const url = await api.app.listen({ host: '127.0.0.1', port: 0 })
const administrator = await createPerson(api.db, { admin: true })
const shell = await openShell({ after }, { GANTRY_URL: url, GANTRY_TOKEN: administrator.token })
const fileIn = (name: string) => join(shell.folder, name)

const COMMAND = 'echo one\n                  echo two'
const DOCUMENT = `organization: Acme
project:
  name: Shop
# \${IN_A_COMMENT} is not a placeholder.
credentials:
  GitHub: { provider_code: github, token: "\${GITHUB_TOKEN}" }
  Servers: { provider_code: ssh, generate: true }
environments:
  production:
    type: production
    servers:
      web-1: { provider_code: ssh, host: web-1.example.com, login_name: deploy, credential: Servers, root_directory: /srv }
    applications:
      web:
        repository: https://github.com/acme/shop.git
        credential: GitHub
        build_command: npm run build
        servers: [web-1]
        variables:
          PASSWORD: { value: "\${PASSWORD}", hidden: true }
        pipelines:
          Deploy:
            operation: deploy
            steps:
              - name: migrate
                trigger_after: build-application
                command: |
                  ${COMMAND}
                  echo "$\${GANTRY_RELEASE}"
            hooks:
              incoming:
                Push: { requires_secret: true }
              outgoing:
                Chat: { target_url: "https://chat.example.com/hooks/shop" }
`
const SECRETS = { GITHUB_TOKEN: 'ghp_of_the_test', PASSWORD: 'correct horse' }
const write = (text: string, name = 'gantry.yaml') => writeFile(fileIn(name), text)

suite('apply', () => {
  test('a dry run lists what it would create, and creates nothing', async () => {
    await write(DOCUMENT)
    const { code, stdout, stderr } = await shell.gantry(['apply', '--dry-run'], { env: SECRETS })
    assert.equal(code, 0, stderr)
    assert.deepEqual(stdout.split('\n').slice(0, 6), [
      '+ organization Acme',
      '+ project Shop',
      '+ credential GitHub',
      '+ credential Servers',
      '+ environment production',
      '+ server production/web-1',
    ])
    assert.match(stdout, /\n\+ hook production\/web\/Deploy\/Push\n/)
    assert.match(stderr, /^\d+ to create\.\n$/)
    assert.deepEqual(await api.db.selectFrom('organizations').selectAll().execute(), [])
  })

  test('without anybody to ask it wants --yes, and names every value that is missing', async () => {
    const silent = await shell.gantry(['apply'], { env: SECRETS })
    assert.equal(silent.code, 2)
    assert.match(silent.stderr, /--yes/)
    const missing = await shell.gantry(['apply', '--yes'])
    assert.equal(missing.code, 2)
    assert.match(
      missing.stderr,
      /missing:\n {2}GITHUB_TOKEN {2}\(gantry\.yaml:6:\d+\)\n {2}PASSWORD {2}\(gantry\.yaml:20:\d+\)\nSet them/,
    )
    const none = await shell.gantry(['apply', '--yes', '-f', 'other.yaml'])
    assert.deepEqual([none.code, none.stderr.includes('gantry init')], [2, true])
  })

  test('prints the secrets of new hooks and new keys once, and never the values', async () => {
    await write(
      `\ufeff# values\r\nexport GITHUB_TOKEN="${SECRETS.GITHUB_TOKEN}"\r\nPASSWORD='${SECRETS.PASSWORD}'\r\n`,
      'secrets.env',
    )
    const args = ['apply', '--yes', '--env-file', 'secrets.env']
    const { code, stdout, stderr } = await shell.gantry(args)
    assert.equal(code, 0, stderr)
    assert.match(
      stdout,
      /New incoming hook production\/web\/Deploy\/Push\n {2}URL +http\S+\/trigger\n {2}Secret +[0-9a-f]{64}\n/,
    )
    assert.match(stdout, /New outgoing hook production\/web\/Deploy\/Chat\n {2}Secret +whsec_\S+\n/)
    assert.match(stdout, /New SSH key Servers\nssh-ed25519 /)
    for (const value of Object.values(SECRETS)) assert.ok(!`${stdout}${stderr}`.includes(value))
    const again = await shell.gantry(args)
    assert.deepEqual([again.code, again.stdout, again.stderr], [0, '', 'Nothing to change.\n'])
  })

  test('shows what changes, field by field and line by line', async () => {
    await write(
      DOCUMENT.replace('npm run build', 'npm run build:production')
        .replace('echo two', 'echo three')
        .replace('Chat: {', 'Chat: { settings: { request_body: { text: hello } },'),
    )
    const { code, stdout, stderr } = await shell.gantry(['apply', '--dry-run'], { env: SECRETS })
    assert.equal(code, 0, stderr)
    assert.match(
      stdout,
      /^~ application production\/web\n {4}build_command: npm run build → npm run build:production\n/,
    )
    assert.match(
      stdout,
      /~ step production\/web\/Deploy\/migrate\n {4}command:\n {6}- echo two\n {6}\+ echo three\n/,
    )
    assert.match(stdout, /~ hook production\/web\/Deploy\/Chat\n {4}settings/)
  })

  test('removes only with --prune', async () => {
    await write(DOCUMENT.replace(/ {12}hooks:[\s\S]*$/, ''))
    assert.equal((await shell.gantry(['apply', '--yes'], { env: SECRETS })).stderr, 'Nothing to change.\n')
    const { code, stdout, stderr } = await shell.gantry(['apply', '--yes', '--prune'], { env: SECRETS })
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^- hook production\/web\/Deploy\/Push$/m)
    assert.match(stderr, /Applied: 2 removed\./)
  })

  test('says where the file is wrong', async () => {
    await write('organization: Acme\nproject: [\n')
    const syntax = await shell.gantry(['apply', '--dry-run'])
    assert.equal(syntax.code, 6)
    assert.match(syntax.stderr, /^gantry: It cannot be applied\.\ngantry\.yaml:\d+:\d+: \S/)
    await write(DOCUMENT.replace('host: web-1.example.com', 'host: web-1.example.com, port: many'))
    const schema = await shell.gantry(['apply', '--dry-run'], { env: SECRETS })
    assert.equal(schema.code, 6)
    assert.match(
      schema.stderr,
      /\ngantry\.yaml:12:\d+: environments\.production\.servers\.web-1\.port must be /,
    )
    assert.match(schema.stderr, /\nNothing was changed\.\n$/)
  })
})

suite('export', () => {
  test('writes a file that applies without a change, and overwrites nothing', async () => {
    const { code, stderr } = await shell.gantry(['export', 'acme', '-o', 'exported.yaml'])
    assert.equal(code, 0, stderr)
    const text = await readFile(fileIn('exported.yaml'), 'utf8')
    const names = [...text.matchAll(/^# {3}(\w+)$/gm)].map(([, name]) => name!)
    const values = names.map((name) => [
      name,
      name.includes('GITHUB') ? SECRETS.GITHUB_TOKEN : SECRETS.PASSWORD,
    ])
    const again = await shell.gantry(['apply', '--yes', '-f', '-', '--json'], {
      input: text,
      env: Object.fromEntries(values),
    })
    assert.deepEqual([again.code, JSON.parse(again.stdout).changes], [0, []], again.stderr)
    const twice = await shell.gantry(['export', 'shop', '-o', 'exported.yaml'])
    assert.deepEqual([twice.code, twice.stderr.includes('--force')], [2, true])
    const printed = await shell.gantry(['export'])
    assert.equal(printed.stdout, text)
  })

  test('of hooks that share a name says which', async () => {
    const { id } = await api.db
      .selectFrom('pipelines')
      .select('id')
      .where('deleted_at', 'is', null)
      .executeTakeFirstOrThrow()
    const { token } = administrator
    const create = () =>
      api.request('POST', `/pipelines/${id}/hooks/incoming`, { token, body: { name: 'Push' } })
    await create()
    const { body } = await create()
    const { code, stdout, stderr } = await shell.gantry(['export', 'shop'])
    assert.deepEqual([code, stdout], [6, ''])
    assert.match(stderr, new RegExp(`incoming\\.Push: 2 incoming hooks have this name: .*${body.id}`))
    await api.request('DELETE', `/hooks/incoming/${body.id}`, { token })
  })
})

suite('variables', () => {
  test('come from arguments, stdin and files, and hidden ones stay hidden', async () => {
    const set = (args: string[], input?: string) =>
      shell.gantry(['variables', 'set', 'production/web', ...args], { input })
    assert.equal((await set(['NODE_ENV=production', 'EMPTY='])).code, 0)
    assert.equal((await set(['TOKEN', '--hidden'], 'a secret\n')).code, 0)
    await write(
      '\ufeff# a comment\r\n\r\nexport A=plain # comment\r\nB="two\\nlines, \\"quoted\\""\r\nC=\'$HOME # kept\'\r\nD = "over\r\ntwo lines"\r\nE=a#b\r\n',
      '.env',
    )
    const file = await set(['--env-file', '.env'])
    assert.equal(file.code, 0, file.stderr)
    const { stdout } = await shell.gantry(['variables', 'ls', 'web', '--json'])
    const values = JSON.parse(stdout).map((row: Record<string, string>) => [row.name, row.value])
    assert.deepEqual(Object.fromEntries(values), {
      PASSWORD: '********',
      TOKEN: '********',
      NODE_ENV: 'production',
      EMPTY: '',
      A: 'plain',
      B: 'two\nlines, "quoted"',
      C: '$HOME # kept',
      D: 'over\ntwo lines',
      E: 'a#b',
    })
    assert.equal((await set(['TOKEN'], 'another secret\n')).stderr, 'Changed TOKEN.\n')
    const lines = (await shell.gantry(['variables', 'ls', 'web'])).stdout
    assert.match(lines, /^TOKEN\t\*{8}\thidden\t\d{4}-/m)
  })

  test('secrets do not stand on the command line, nor in errors about a file', async () => {
    const inline = await shell.gantry(['variables', 'set', 'web', 'TOKEN=secret', '--hidden'])
    assert.deepEqual([inline.code, inline.stderr.includes('asks for it')], [2, true])
    await write('GOOD=1\nhunter2 is not a variable\n', 'bad.env')
    const wrong = await shell.gantry(['variables', 'set', 'web', '--env-file', 'bad.env'])
    assert.equal(wrong.code, 2)
    assert.match(wrong.stderr, /^gantry: bad\.env:2 is not a variable\./)
    assert.doesNotMatch(wrong.stderr, /hunter2/)
  })

  test('are removed by name; an unknown one removes nothing', async () => {
    const unknown = await shell.gantry(['variables', 'unset', 'web', 'EMPTY', 'NODE_EVN'])
    assert.deepEqual([unknown.code, /NODE_ENV/.test(unknown.stderr)], [6, true])
    assert.equal((await shell.gantry(['variables', 'unset', 'web', 'EMPTY'])).stderr, 'Removed EMPTY.\n')
  })
})

test('hooks with presets go into a file and back, and what does not fit is shown where it is', async () => {
  const hooks = `Status: { settings: { preset: { kind: github_status, context: live } } }
                Slack: { credential: Bot, settings: { preset: { kind: slack_message, channel: "#deploys" } } }`
  const project = (name: string) =>
    DOCUMENT.replace('name: Shop', `name: ${name}`)
      .replace('  Servers:', `  Bot: { provider_code: slack, token: "\${BOT_TOKEN}" }\n  Servers:`)
      .replace(/Chat: .*/, hooks)
  const env = { ...SECRETS, BOT_TOKEN: 'xoxb-token' }
  await write(project('Notified'), 'notified.yaml')
  const apply = (file: string) => shell.gantry(['apply', '--yes', '-f', file], { env })
  const first = await apply('notified.yaml')
  assert.equal(first.code, 0, first.stderr)
  const exported = await shell.gantry(['export', 'notified'])
  assert.match(exported.stdout, /credential: Bot\n +settings:\n +preset:\n +kind: slack_message\n/)
  const copy = exported.stdout
    .replace('name: Notified', 'name: Copied')
    .replaceAll(/^ *private_key: .*\n/gm, '')
    .replace(/\$\{PRODUCTION_WEB_PASSWORD\}/, `\${PASSWORD}`)
  await write(copy, 'copied.yaml')
  const second = await apply('copied.yaml')
  assert.equal(second.code, 0, second.stderr)
  const again = await shell.gantry(['export', 'copied'])
  assert.equal(again.stdout.replace('name: Copied', 'name: Notified'), exported.stdout)
  assert.equal((await apply('copied.yaml')).stderr, 'Nothing to change.\n')

  await write(project('Notified').replace('context: live', 'channel: x'), 'notified.yaml')
  const wrong = await apply('notified.yaml')
  assert.equal(wrong.code, 6)
  assert.match(wrong.stderr, /notified\.yaml:36:\d+: .*preset\.channel/)
})

test('apply does not tell people to enter at the host what Gantry enters there', async () => {
  const connected = 'Push: { requires_secret: true, secret_header_name: X-Hub-Signature-256, connect: true }'
  await write(
    DOCUMENT.replace('organization: Acme', 'organization: Connected').replace(
      'Push: { requires_secret: true }',
      connected,
    ),
  )
  const { code, stdout, stderr } = await shell.gantry(['apply', '--yes'], { env: SECRETS })
  assert.equal(code, 0, stderr)
  assert.match(
    stdout,
    /New incoming hook production\/web\/Deploy\/Push\n {2}URL .*\n {2}Secret +[0-9a-f]{64}\n/,
  )
  assert.match(stderr, /Whether it could: gantry hook show production\/web\/deploy\/push\n/)
  assert.doesNotMatch(stderr, /At GitHub|Enter both in/)
})
