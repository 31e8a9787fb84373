// What a new user sees who starts Gantry at a terminal.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, ownProgram, temporaryHome } from '#test/support/process.ts'
import { openTerminal } from '#test/support/terminal.ts'

test('the first password stays on the screen: requests are not logged, and each run is one line', async (t) => {
  const env = { GANTRY_HOME: await temporaryHome(t), PORT: '0' }
  const terminal = await openTerminal(t, await ownProgram(), { env, columns: 120, rows: 24 })
  await terminal.sees('dashboard at')
  const [, email, password] = /log in as (\S+) with the password (\S+)/.exec(terminal.shown())!
  const url = /gantry ready at (\S+)/.exec(terminal.shown())![1]!

  const login = await call({ url }, 'POST', '/users/login', { body: { email, password } })
  const token = login.body.access_token
  for (let count = 0; count < 30; count += 1) await call({ url }, 'GET', '/actions', { token })
  const { body: names } = await call({ url }, 'GET', '/names?type=pipeline', { token })
  const started = await call({ url }, 'POST', `/pipelines/${names[0].id}/actions`, { token, body: {} })
  const { id } = started.body
  await terminal.sees(new RegExp(`run #${id} completed in [\\d.]+ m?s: ${url}/app/actions/${id}`))

  const unknown = await call({ url }, 'POST', '/users/login', { body: { email, password: 'a wrong one' } })
  assert.equal(unknown.status, 401)
  const shown = terminal.shown()
  assert.ok(shown.includes(password!), shown)
  assert.doesNotMatch(shown, /[{}]/, 'no JSON')
  terminal.press('ctrl-c')
  await terminal.sees('gantry stopped')
  assert.equal(await terminal.ended, 0)
})
