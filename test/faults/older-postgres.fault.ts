import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** What differs between versions is in statements: those of every room, and all migrations. */
const REPRESENTATIVE = [
  'server/platform/database/{client,connect,earlier-transactions,migrate,older-servers,preflight}.test.ts',
  'server/platform/queue/{enqueue,job-sql,maintenance,open-queue}.test.ts',
  'server/ops/backup/restore-backup.test.ts',
  'test/incoming/calls-{duplicates,starting}.test.ts',
  'test/incoming/prune.test.ts',
  'test/deliveries/deliveries.test.ts',
  'test/runs/runs.test.ts',
  'test/api/{action-pages,actions,overview,hook-requests,apply}.test.ts',
]

const run = promisify(execFile)

for (const major of ['15', '16', '17'])
  test(`PostgreSQL ${major} passes a representative part of the tests`, async () => {
    const { NODE_TEST_CONTEXT: _, ...environment } = process.env
    const options = {
      cwd: ROOT,
      env: { ...environment, GANTRY_TEST_POSTGRES_VERSION: major },
      maxBuffer: 64 * 1024 * 1024,
    }
    const batches = await run(process.execPath, ['scripts/test-batches.mjs', ...REPRESENTATIVE], options)
    const args = ['--test', '--test-concurrency=3', '--test-reporter=spec']
    const setup = [
      '--import=./test/support/test-context.ts',
      '--test-global-setup=./test/support/global-setup.ts',
    ]
    const files = batches.stdout.trim().split('\n')
    const { stdout } = await run(process.execPath, [...args, ...setup, ...files], options).catch(
      ({ stdout, stderr }: Record<string, string>) => assert.fail(`${stdout}${stderr}`.slice(-20_000)),
    )
    assert.match(stdout, /ℹ pass [1-9]\d{2,}\n/)
    assert.match(stdout, /ℹ fail 0/)
  })
