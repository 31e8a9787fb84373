// How quickly the command line responds: the best of many tries, in turns, because a busy machine slows single ones.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { CLI, openShell, USERS_NODE } from '#test/support/cli.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createManyActions, createTestTree } from '#test/support/world.ts'

const run = promisify(execFile)
const TRIES = 20

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

/** The best of both, measured in turns. */
async function compare(
  one: () => Promise<unknown>,
  other: () => Promise<unknown>,
): Promise<[number, number]> {
  const times: [number[], number[]] = [[], []]
  for (let tries = 0; tries < TRIES; tries += 1) {
    times[0].push(await timed(one))
    times[1].push(await timed(other))
  }
  return [Math.min(...times[0]), Math.min(...times[1])]
}

test('gantry version takes at most 1.6 times as long as Node itself', async (t) => {
  const [node, gantry] = await compare(
    () => run(USERS_NODE, ['-e', '0']),
    () => run(USERS_NODE, [CLI, 'version']),
  )
  t.diagnostic(`node -e 0: ${node.toFixed(0)} ms; gantry version: ${gantry.toFixed(0)} ms`)
  assert.ok(gantry <= node * 1.6, `${(gantry / node).toFixed(2)} times`)
})

test('gantry actions ls takes at most 250 ms more than the call itself', async (t) => {
  const api = await openTestApp({ after })
  const url = await api.app.listen({ host: '127.0.0.1', port: 0 })
  const tree = await createTestTree(api.db)
  await createManyActions(api.db, tree, 100, new Date())
  const shell = await openShell(t, { GANTRY_URL: url, GANTRY_TOKEN: tree.owner.token })
  const headers = { authorization: `Bearer ${tree.owner.token}` }
  const [call, gantry] = await compare(
    async () => (await fetch(`${url}/actions?per_page=20`, { headers })).text(),
    () => shell.gantry(['actions', 'ls']),
  )
  t.diagnostic(`the call: ${call.toFixed(0)} ms; gantry actions ls: ${gantry.toFixed(0)} ms`)
  assert.ok(gantry - call <= 250, `${(gantry - call).toFixed(0)} ms more`)
})
