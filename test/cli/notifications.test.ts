// Outgoing hooks from the command line: one command per receiver of the catalog, and what a run's notifications wait for.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { createAddressGuard } from '#platform/addresses/guard.ts'
import { openShell } from '#test/support/cli.ts'
import { openDeliveries, openReceiver } from '#test/support/deliveries.ts'
import { openTokenTree, SENDS_TOKEN } from '#test/support/rate-limits.ts'
import { until } from '#test/support/until.ts'

// Names of receivers are not looked up here.
const guard = createAddressGuard({
  allowTargets: ['127.0.0.0/8'],
  baseUrl: () => 'http://gantry.test',
  lookup: async () => [],
})
const world = await openDeliveries({ after }, { guard })
const { api, tree } = world
const { token } = tree.owner
const url = await api.app.listen({ host: '127.0.0.1', port: 0 })
const shell = await openShell({ after }, { GANTRY_URL: url, GANTRY_TOKEN: token, TZ: 'UTC' })

async function addCredential(
  name: string,
  provider_code: string,
  base_url?: string,
  ssh_hosts: string[] = [],
): Promise<number> {
  const body = { name, provider_code, token: 'a-token', ssh_hosts, ...(base_url && { base_url }) }
  const made = await api.request('POST', `/organizations/${tree.organizationId}/credentials`, { token, body })
  assert.equal(made.status, 201, made.text)
  return made.body.id
}

const CREDENTIALS: Record<string, number> = {
  slack: await addCredential('Slack bot', 'slack'),
  discord: await addCredential('Discord bot', 'discord'),
  gitlab: await addCredential('GitLab bot', 'gitlab'),
  gitea: await addCredential('Gitea bot', 'gitea', 'https://git.example.com', ['github.com']),
}

const create = (args: string[], input = '') => shell.gantry(['hook', 'create', ...args], { input })

/** Fails as wrong usage; what it says. */
async function complaint(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await create(args)
  assert.deepEqual([code, stdout], [2, ''], stderr)
  return stderr
}

type Entry = {
  code: string
  credential_provider: string | null
  fields: { name: string; example: string; hidden: boolean }[]
}

suite('hook create --to', () => {
  test('creates a hook for every receiver of the catalog, with its fields as flags', async () => {
    const { body: catalog } = await api.request('GET', '/catalog/receivers', { token })
    assert.ok(catalog.length > 10)
    for (const { code, credential_provider, fields } of catalog as Entry[]) {
      const needsOne = credential_provider !== null && credential_provider !== 'github'
      const args = ['--to', code.replaceAll('_', '-'), '--pipeline', 'deploy', '--name', code, '--json']
      if (needsOne) args.push('--credential', `${credential_provider}-bot`)
      let input = ''
      for (const { name, example, hidden } of fields) {
        const flag = name === 'context' ? '--status-context' : `--${name.replaceAll('_', '-')}`
        args.push(flag, hidden ? '-' : example)
        if (hidden) input = `${example}\n`
      }
      const { code: exit, stdout, stderr } = await create(args, input)
      assert.equal(exit, 0, `${code}: ${stderr}`)
      const hook = JSON.parse(stdout)
      assert.deepEqual([hook.name, hook.type], [code, 'outgoing'])
      assert.equal(hook.credential_id, needsOne ? CREDENTIALS[credential_provider] : null)
      const values = Object.fromEntries(fields.map(({ name, example }) => [name, example]))
      if (hook.settings.preset) assert.deepEqual(hook.settings.preset, { kind: code, ...values })
      else if (fields.length > 0) assert.equal(hook.target_url, fields[0]!.example)
    }
  })

  test('prints the hook for people, takes the pipeline as an argument, and --field for any field', async () => {
    const args = ['deploy', '--to', 'github_status', '--field', 'context=a b', '--name', 'By argument']
    const { code, stdout, stderr } = await create(args)
    assert.equal(code, 0, stderr)
    assert.match(
      stdout,
      /^Hook +\S+\/deploy\/by-argument \([0-9a-f-]{36}\)\nURL +https:\/\/api\.github\.com\//,
    )
    assert.match(stderr, /At GitHub:\n {2}1\. Create a token/)
    const equals = await create(['deploy', '--to=slack-message', '--channel=#a', '--credential=Slack bot'])
    assert.equal(equals.code, 0, equals.stderr)
  })

  test('names the flag of what is missing, or does not fit', async () => {
    const slack = ['--to', 'slack-message', '--pipeline', 'deploy']
    assert.match(
      await complaint(...slack, '--credential', 'slack-bot'),
      /^gantry: Channel is missing\. .*\nFor example: --channel '#deploys'\n$/,
    )
    assert.match(
      await complaint('--to', 'teams-message', 'deploy'),
      /^gantry: Webhook URL is missing\. .*\nPass it on stdin with --webhook-url -\n$/,
    )
    assert.match(
      await complaint('--to', 'teams-message', 'deploy', '--webhook-url', 'https://key.example.com/'),
      /is a secret, .*\nPass it on stdin with --webhook-url -\n$/,
    )
    assert.match(
      await complaint(...slack, '--channel', '#deploys'),
      /Slack needs a dedicated credential\.\nName it with --credential: Slack bot\.\n$/,
    )
    assert.match(
      await complaint('--to', 'github-status'),
      /^gantry: Which pipeline\?\nFor example: --pipeline shop\/production\/web\/deploy\n$/,
    )
    assert.match(
      await complaint(...slack, '--colour', 'secret-value'),
      /^gantry: slack_message has no option --colour\.\nOptions of slack_message: --channel\.\n$/,
    )
    assert.match(await complaint(...slack, '--jsn'), /^gantry: slack_message has no option --jsn\.\n/)
    assert.match(await complaint(...slack, '--channel'), /^gantry: --channel needs a value\.\n$/)
    assert.match(await complaint(...slack, 'web'), /one pipeline: deploy, or web\?/)
    assert.match(
      await complaint('deploy', '--from', 'github', '--credential', 'slack-bot'),
      /^gantry: --credential goes with --to\./,
    )
    assert.match(
      await complaint('deploy', '--to', 'generic', '--receiver-url', 'https://a.test', '--credential', 'x'),
      /^gantry: generic sends no token of a credential\./,
    )
  })

  test('lists the receivers that exist, and near credentials', async () => {
    const unknown = await complaint('deploy', '--to', 'github-statsu')
    assert.match(unknown, /^gantry: Unknown: "github-statsu"\.\nDid you mean github_status\? Known: /)
    for (const code of ['gitlab_status', 'discord_message', 'teams_message', 'generic'])
      assert.ok(unknown.includes(code), unknown)
    const { code, stderr } = await create([
      'deploy',
      '--to',
      'slack-message',
      '--channel',
      'x',
      '--credential',
      'Slak',
    ])
    assert.deepEqual([code, /no credential "Slak".*\n.*\n {2}slack-bot /.test(stderr)], [6, true], stderr)
  })

  test('says that --context is the instance, for people who mean that of a status', async () => {
    assert.match(
      await complaint('deploy', '--to', 'github-status', '--context', 'deploy/production'),
      /^gantry: There is no context "deploy\/production"\.\n.*The context of a status is --status-context\.\n$/,
    )
  })
})

test('a hook and the notifications of a run say what they wait for, and until when', async (t) => {
  const service = await openReceiver(t)
  service.answer(429, { 'retry-after': '3000' })
  const limited = await openTokenTree(api, 'token-of-the-limit')
  const hook = await world.makeHook({ target_url: service.url, name: 'Limited', ...SENDS_TOKEN }, limited)
  const action = await world.startAction(limited)
  const env = { GANTRY_TOKEN: limited.owner.token }
  const read = async () =>
    (await api.request('GET', `/hooks/outgoing/${hook.id}`, { token: limited.owner.token })).body
  await until('it is paused', 30_000, async () => (await read()).paused_until !== null)
  const host = new URL(service.url).host
  const { paused_until } = await read()
  const day = new Date().toISOString().slice(0, 10)
  const time = paused_until.slice(11, 16)
  const line = `for ${host} until ${paused_until.startsWith(day) ? '' : `${paused_until.slice(0, 10)} `}${time} (rate limit)`

  const shown = await shell.gantry(['hooks', 'show', hook.id], { env })
  assert.equal(shown.code, 0, shown.stderr)
  assert.match(shown.stdout, new RegExp(`^Waiting +${RegExp.escape(line)}$`, 'm'))
  const notified = await shell.gantry(['notifications', String(action)], { env })
  assert.equal(notified.code, 0, notified.stderr)
  assert.equal(notified.stdout, `paused\tLimited\t${host}\t\twaiting ${line}\n`)
  const json = await shell.gantry(['notifications', String(action), '--json'], { env })
  assert.equal(JSON.parse(json.stdout)[0].paused_until, paused_until)
})
