import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openShell } from '#test/support/cli.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createPerson } from '#test/support/world.ts'

const api = await openTestApp({ after })
const url = await api.app.listen({ host: '127.0.0.1', port: 0 })
const person = await createPerson(api.db)

test('whoami shows the account of the token', async (t) => {
  const shell = await openShell(t, { GANTRY_URL: url, GANTRY_TOKEN: person.token })
  const { code, stdout } = await shell.gantry(['whoami'])
  assert.equal(code, 0)
  assert.match(stdout, new RegExp(`^${person.email} .* at ${url}\n$`))
})

test('without a token, with a wrong one, or without an instance it says what to do', async (t) => {
  const shell = await openShell(t)
  const nobody = await shell.gantry(['whoami'])
  assert.equal(nobody.code, 4)
  assert.match(
    nobody.stderr,
    /^gantry: You are not signed in\.\nRun `gantry login http:\/\/127\.0\.0\.1:7070`/,
  )
  const wrong = await shell.gantry(['whoami'], { env: { GANTRY_URL: url, GANTRY_TOKEN: 'wrong' } })
  assert.equal(wrong.code, 4)
  assert.match(wrong.stderr, /gantry login/)
  const nowhere = await shell.gantry(['whoami'], {
    env: { GANTRY_URL: 'http://127.0.0.1:1', GANTRY_TOKEN: 'x' },
  })
  assert.equal(nowhere.code, 5)
  assert.match(nowhere.stderr, /127\.0\.0\.1:1 is unreachable/)
  for (const { stderr } of [nobody, wrong, nowhere]) assert.doesNotMatch(stderr, /\n\s+at /)
})
