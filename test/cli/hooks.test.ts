// Webhooks from the command line: creating, testing, replaying, and deliveries forwarded to this machine.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { Webhooks } from '@octokit/webhooks'
import { sql } from 'kysely'
import { Webhook } from 'standardwebhooks'
import { createAddressGuard } from '#platform/addresses/guard.ts'
import { openProxy } from '#test/client/proxy.ts'
import { openShell } from '#test/support/cli.ts'
import { hookFor, moveTo } from '#test/support/connections.ts'
import { openReceiver } from '#test/support/deliveries.ts'
import { openTestApp } from '#test/support/harness.ts'
import { later } from '#test/support/later.ts'
import { until } from '#test/support/until.ts'
import { createTestTree } from '#test/support/world.ts'

/** Senders call the hook through this proxy, which keeps what they send. */
const calls: { headers: IncomingHttpHeaders; body: string }[] = []
const proxy = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks).toString()
  calls.push({ headers: request.headers, body })
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(([name]) => !['connection', 'content-length'].includes(name)),
  ) as Record<string, string>
  const answer = await fetch(`${url}${request.url}`, { method: request.method, headers, body })
  response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
}).listen(0, '127.0.0.1')
await once(proxy, 'listening')
later({ after }, async () => void proxy.close())
const baseUrl = () => `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`

const guard = createAddressGuard({ allowTargets: ['127.0.0.0/8'], baseUrl })
const api = await openTestApp({ after }, { baseUrl, guard })
const tree = await createTestTree(api.db)
const url = await api.app.listen({ host: '127.0.0.1', port: 0 })
const shell = await openShell({ after }, { GANTRY_URL: url, GANTRY_TOKEN: tree.owner.token })
const json = async (...args: string[]) => {
  const { code, stdout, stderr } = await shell.gantry([...args, '--json'])
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}
const NUMBER = '12345678901234567890'
const push = (branch: string) =>
  writeFile(
    join(shell.folder, `${branch}.json`),
    `{"ref": "refs/heads/${branch}", "after": "${'a'.repeat(40)}", "note": "é", "number": ${NUMBER}}`,
  )
await Promise.all([push('main'), push('dev')])

suite('an incoming hook', () => {
  let secret = ''

  test('is created for a sender, with what to enter where', async () => {
    const { code, stdout, stderr } = await shell.gantry(['hook', 'create', 'deploy', '--from', 'github'])
    assert.equal(code, 0, stderr)
    secret = /^Secret +(\S+)$/m.exec(stdout)![1]!
    const address = /^URL +(\S+)$/m.exec(stdout)![1]!
    assert.ok(address.startsWith(`${baseUrl()}/hooks/`))
    assert.match(stderr, /At GitHub:\n {2}1\. Open the repository/)
    assert.ok(stderr.includes(`Payload URL: ${address}\n`) && stderr.includes(`Secret: ${secret}\n`))
    const unknown = await shell.gantry(['hook', 'create', 'deploy', '--from', 'gihtub'])
    assert.deepEqual([unknown.code, /Did you mean github\?/.test(unknown.stderr)], [2, true])
  })

  test('takes secrets from stdin, never from arguments', async () => {
    const args = ['hook', 'create', 'deploy', '--from', 'linear', '--field']
    const inline = await shell.gantry([...args, 'secret=of-the-sender'])
    assert.deepEqual([inline.code, inline.stderr.includes('--field secret=-')], [2, true])
    const unknown = await shell.gantry([...args, 'secrets=s3cret-value'])
    assert.match(unknown.stderr, /^gantry: linear has no field "secrets"\.\nOptions of linear: .*--secret/)
    assert.doesNotMatch(unknown.stderr, /s3cret/)
    const flag = await shell.gantry([...args.slice(0, -1), '--secret', 'of-the-sender'])
    assert.deepEqual([flag.code, flag.stderr.includes('on stdin with --secret -\n')], [2, true])
    const piped = await shell.gantry([...args, 'secret=-'], { input: 'the secret of the sender\n' })
    assert.equal(piped.code, 0, piped.stderr)
    assert.doesNotMatch(`${piped.stdout}${piped.stderr}`, /secret of the sender/)
    const later = await shell.gantry(['hook', 'secret', 'linear'], { input: 'another secret of it\n' })
    assert.deepEqual([later.code, /are now checked/.test(later.stderr)], [0, true])
  })

  test('explains what a call would do: conditions, variables, source', async () => {
    const accepted = await shell.gantry(['hook', 'test', 'github', '-f', 'main.json'])
    assert.equal(accepted.code, 0, accepted.stderr)
    assert.match(accepted.stdout, /^✓ A call with this payload starts the pipeline\.\n/)
    assert.match(accepted.stdout, /✓ condition ref: the payload has "refs\/heads\/main"\n/)
    assert.match(accepted.stdout, /variable branch = "refs\/heads\/main"\n/)
    assert.match(accepted.stdout, /deploys commit a{40}\n/)
    const ignored = await shell.gantry(['hook', 'test', 'github', '-f', 'dev.json'])
    assert.equal(ignored.code, 3)
    assert.match(
      ignored.stdout,
      /✗ condition ref: the payload has "refs\/heads\/dev", accepted: "refs\/heads\/main"\n/,
    )
    const wrong = await shell.gantry(['hook', 'test', 'github', '-f', '-'], { input: '{"ref": ' })
    assert.deepEqual([wrong.code, /not JSON/.test(wrong.stderr)], [2, true])
    assert.equal(calls.length, 0, 'nothing was sent')
  })

  test('accepts what --send signs, as the library of GitHub verifies it', async () => {
    const args = ['hook', 'test', 'github', '-f', 'main.json', '--send', '-H', 'X-GitHub-Event: push']
    const { code, stdout, stderr } = await shell.gantry(args)
    assert.equal(code, 0, stderr)
    assert.match(stdout, /\n→ 202 /)
    assert.match(stderr, /Run #\d+\./)
    const [call] = calls
    const signature = String(call!.headers['x-hub-signature-256'])
    const webhooks = new Webhooks({ secret })
    assert.equal(await webhooks.verify(call!.body, signature), true)
    assert.equal(await webhooks.verify(`${call!.body} `, signature), false)
    assert.equal(call!.headers['x-github-event'], 'push')
    assert.ok(call!.body.includes(NUMBER), 'numbers stay as they are written')
    assert.equal(call!.headers.authorization, undefined, 'the token goes to the API only')
  })

  test('lists its calls, replays one, and gets another secret', async () => {
    const [first] = await json('hook', 'requests', 'github')
    assert.equal(first.outcome, 'accepted')
    const lines = await shell.gantry(['hook', 'requests', 'github'])
    assert.match(lines.stdout, new RegExp(`^${first.id}\t\\S+\taccepted\t202\t#${first.action_id}\t\n$`))
    const replayed = await shell.gantry(['hook', 'replay', first.id])
    assert.equal(replayed.code, 0, replayed.stderr)
    assert.match(replayed.stderr, /Run #\d+\./)
    assert.equal((await shell.gantry(['hook', 'replay', 'x'])).code, 2)
    assert.deepEqual(await json('notifications', String(first.action_id)), [])
    const rotated = await shell.gantry(['hook', 'rotate', 'github', '--overlap', '30m'])
    assert.equal(rotated.code, 0, rotated.stderr)
    assert.match(rotated.stdout, /^[0-9a-f]{64}\n$/)
    assert.notEqual(rotated.stdout.trim(), secret)
  })
})

suite('an outgoing hook', () => {
  test('is forwarded to this machine with a signature that verifies, also while the receiver is down', async (t) => {
    const receiver = await openReceiver(t)
    const made = await json(
      ...['hook', 'create', 'deploy', '--to', 'generic', '--name', 'Chat'],
      ...['--field', `receiver_url=${receiver.url}/production`],
    )
    const ends: (() => Promise<void>)[] = []
    const local = await openReceiver({ after: (end) => void ends.push(end) })
    const listening = shell.start(['listen', 'chat', '--forward', `${local.url}/x`])
    await until('it is printed', 30_000, () => listening.output.stderr.includes('Listening to'))
    const preview = await shell.gantry(['hook', 'test', 'chat'])
    assert.match(preview.stderr, /Nothing was sent/)
    const sent = await shell.gantry(['hook', 'test', 'chat', '--send'])
    assert.deepEqual([sent.code, /^✓ POST \S+ → 200 \(\d+ ms\)\n$/.test(sent.stdout)], [0, true], sent.stdout)
    await until('it is printed', 30_000, () => /→ 200 \(\d+ ms\)\n/.test(listening.output.stdout))
    const [arrival] = local.arrivals
    assert.equal(arrival!.path, '/x')
    const headers = arrival!.headers as Record<string, string>
    assert.ok(new Webhook(made.secret).verify(arrival!.body, headers))
    assert.equal(headers['webhook-id'], receiver.arrivals[0]!.headers['webhook-id'])

    for (const end of ends) await end()
    assert.equal((await shell.gantry(['hook', 'test', 'chat', '--send'])).code, 0)
    await until('it is printed', 30_000, () => /→ nothing listens there/.test(listening.output.stdout))
    listening.child.kill('SIGINT')
    const { code, stderr } = await listening.ended
    assert.equal(code, 130)
    assert.match(stderr, /Stopped\. .* no delivery is lost\.\n$/)
  })

  test('prints each delivery as JSON, and none is missed when the connection is lost', async (t) => {
    const connection = await openProxy(t, url)
    const listening = shell.start(['listen', 'chat', '--json'], { env: { GANTRY_URL: connection.url } })
    later(t, async () => void listening.child.kill('SIGINT'))
    await until('it listens', 30_000, () => listening.output.stderr.includes('Listening to'))
    connection.cut()
    await until('it has noticed', 30_000, () => listening.output.stderr.includes('connection was lost'))
    const failed = await shell.gantry(['hook', 'test', 'chat', '--send'])
    assert.deepEqual([failed.code, failed.stdout.startsWith('✗ POST ')], [1, true])
    await until('it is printed', 30_000, () => listening.output.stdout.endsWith('\n'))
    assert.equal(JSON.parse(listening.output.stdout).event, 'test')
  })
})

suite('a list', () => {
  test('says which hooks are connected to their repository or poll it, and what is wrong', async () => {
    await moveTo(api, tree, 'github', 'http://127.0.0.1:1')
    const create = async (input: object): Promise<string> => {
      const path = `/pipelines/${tree.pipelineId}/hooks/incoming`
      const { status, body, text } = await api.request('POST', path, { token: tree.owner.token, body: input })
      assert.equal(status, 201, text)
      return body.id
    }
    const connected = await create(hookFor('github', { connect: true }))
    const polling = await create({ name: 'Polled', settings: { poll: {} } })
    const stateOf = async (id: string) => {
      const { code, stdout, stderr } = await shell.gantry(['hooks', 'ls'])
      assert.equal(code, 0, stderr)
      return new RegExp(`^[^\t]+\tincoming\t${id}\t(.*)$`, 'm').exec(stdout)?.[1]
    }
    assert.equal(await stateOf(connected), 'connecting: acme/shop at github')
    assert.equal(await stateOf(polling), 'polls: last asked never')
    const { db } = api
    await sql`
      update hook_connections set state = 'missing', problem = 'It was deleted.' where hook_id = ${connected}`.execute(
      db,
    )
    await sql`update hook_polls set problem = 'It does not answer.' where hook_id = ${polling}`.execute(db)
    assert.equal(await stateOf(connected), 'missing: acme/shop at github. It was deleted.')
    assert.equal(await stateOf(polling), 'polls: It does not answer.')
    const status = await shell.gantry(['status'])
    assert.match(status.stdout, /^Connection to the repository lost\n.*It was deleted\.$/m)
    assert.match(status.stderr, /gantry hook connect/)
    const shown = await shell.gantry(['hook', 'show', connected])
    assert.match(shown.stdout, /^Connection +missing: acme\/shop at github\. It was deleted\.$/m)
    const listed = await json('hooks', 'ls')
    const of = (wanted: string) => listed.find(({ id }: { id: string }) => id === wanted)
    assert.deepEqual([of(connected).connection.state, of(connected).poll], ['missing', null])
    assert.deepEqual([of(polling).connection, of(polling).poll.branches], [null, []])
    const outgoing = listed.filter(({ type }: { type: string }) => type === 'outgoing_hook')
    assert.ok(
      outgoing.every(({ connection, poll }: Record<string, unknown>) => connection === null && poll === null),
    )
    assert.ok(listed.every(({ type }: { type: string }) => type !== 'environment'))
  })
})
