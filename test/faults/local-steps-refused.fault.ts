// A machine that allows no namespaces: Gantry runs where the limit for new ones is zero.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openLocalGantry } from '#test/support/local-steps.ts'

const WITHOUT_NAMESPACES = [
  ...['/usr/bin/unshare', '--user', '--map-current-user', '--keep-caps', '/bin/bash', '-c'],
  'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --ambient-caps=-all --inh-caps=-all "$@"',
  'bash',
]

test('where steps cannot be isolated, local servers are refused by name of the setting', async (t) => {
  const world = await openLocalGantry(t, 'ordinary', { wrapper: WITHOUT_NAMESPACES })
  const { gantry, home, ask } = world

  const said = gantry.output.find((line) => line.includes('has no server'))
  assert.match(said ?? gantry.output.join('\n'), /^first start: .* GANTRY_UNSAFE_LOCAL_STEPS=true /)
  assert.deepEqual((await ask('GET', '/environments/1/servers')).body, [])
  assert.equal((await ask('GET', '/applications/1')).status, 200, 'the rest of the sample is there')

  const local = { name: 'here', provider_code: 'local', root_directory: join(home, 'sites') }
  const refused = await ask('POST', '/environments/1/servers', local)
  assert.equal(refused.status, 422)
  assert.match(refused.body.errors.provider_code[0], /GANTRY_UNSAFE_LOCAL_STEPS/)
})

test('existing local servers stay, and the setting decides whether they can be used', async (t) => {
  const environment = { GANTRY_UNSAFE_LOCAL_STEPS: 'true' }
  const unsafe = await openLocalGantry(t, 'ordinary', { wrapper: WITHOUT_NAMESPACES, environment })
  const run = await unsafe.addServer('here', join(unsafe.home, 'sites'))
  const { status, output } = await run('echo hello')
  assert.deepEqual([status, output], ['completed', 'hello\n'])
  const { body: servers } = await unsafe.ask('GET', '/environments/1/servers')
  const { id } = servers.find(({ name }: { name: string }) => name === 'here')
  assert.equal(await unsafe.gantry.stop(), 0)

  const safe = await openLocalGantry(t, 'ordinary', { wrapper: WITHOUT_NAMESPACES, home: unsafe.home })
  const ran = await safe.ended((await safe.ask('POST', '/pipelines/2/actions', {})).body.id)
  assert.deepEqual([ran.status, ran.reason], ['failed', 'FAILED_UNREACHABLE'])
  assert.match(ran.output, /GANTRY_UNSAFE_LOCAL_STEPS=true/)
  const check = await safe.ask('POST', `/servers/${id}/check`, {})
  assert.equal(check.body.ok, false)
  assert.match(check.body.message, /GANTRY_UNSAFE_LOCAL_STEPS=true/)
  const renamed = await safe.ask('PUT', `/servers/${id}`, { name: 'still here' })
  assert.equal(renamed.status, 200)
})
