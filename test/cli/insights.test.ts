// `gantry insights`, of an application and of an environment.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { openShell } from '#test/support/cli.ts'
import { generateHistory, storeHistory } from '#test/support/deployment-histories.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createTestTree } from '#test/support/world.ts'

const api = await openTestApp({ after })
const url = await api.app.listen({ host: '127.0.0.1', port: 0 })
const tree = await createTestTree(api.db)
const { gantry } = await openShell({ after }, { GANTRY_URL: url, GANTRY_TOKEN: tree.owner.token })
const { runs, range, expected } = generateHistory(1)
await storeHistory(api.db, tree, runs)
const { token } = tree.owner
const environment = (await api.request('GET', `/environments/${tree.environmentId}`, { token })).body.name

const days = ['--from', range.from, '--to', range.to]

suite('insights', () => {
  test('of an application, by its name', async () => {
    const { code, stdout, stderr } = await gantry(['insights', 'shop', ...days])
    assert.equal(code, 0, stderr)
    const { deployments, change_failure } = expected
    assert.match(stdout, new RegExp(`^Days +${range.from} to ${range.to}$`, 'm'))
    assert.match(
      stdout,
      new RegExp(`^Deployments +${deployments.count} \\(${deployments.per_day} per day\\)$`, 'm'),
    )
    assert.match(
      stdout,
      new RegExp(`^Change failure rate .*\\(${change_failure.failed} of ${deployments.count}\\)$`, 'm'),
    )
    assert.match(stdout, /^Lead time +p50 .*, p90 .* \(\d+ samples?\)$/m)
    assert.match(stdout, /^Time to restore +(p50|no samples)/m)
  })

  test('as JSON, of an application in an environment, or of the environment', async () => {
    for (const given of [
      ['shop', '--environment', environment],
      ['--environment', environment],
    ]) {
      const { code, stdout, stderr } = await gantry(['insights', ...given, ...days, '--json'])
      assert.equal(code, 0, stderr)
      const { history_since, ...insights } = JSON.parse(stdout)
      assert.deepEqual(insights, expected)
      assert.ok(history_since)
    }
  })

  test('of nothing, or of days that are none, are an error that says what to do', async () => {
    const nothing = await gantry(['insights'])
    assert.notEqual(nothing.code, 0)
    assert.match(nothing.stderr, /Name an application, or an environment/)
    const wrong = await gantry(['insights', 'shop', '--from', 'yesterday'])
    assert.notEqual(wrong.code, 0)
    assert.match(wrong.stderr, /must be a day such as/)
  })

  test('are defined in its help', async () => {
    const { stdout } = await gantry(['insights', '--help'])
    for (const term of ['Deployment', 'Lead time', 'Change failure rate', 'Time to restore'])
      assert.match(stdout, new RegExp(`^  ${term}  `, 'm'))
  })
})
