// `npm run rotate-key`
import { runCommand, UsageError } from '#ops/commands/command.ts'
import { reachDatabase } from '#ops/commands/reach-database.ts'
import { keyFile, parseKeys } from '#platform/crypto/master-key.ts'
import { openDatabase } from '#platform/database/connect.ts'
import { resealWithFirst, retiredFile, rotateKeyFile } from './rotate.ts'

const TIMEOUTS = { sealToStoreMs: 2_000, transactionsMs: 300_000 }

const BY_ENVIRONMENT = `The key comes from GANTRY_SECRET_KEY, so rotate it there:
  1. Create a new key: openssl rand -hex 32
  2. Restart every process with GANTRY_SECRET_KEY=<old>,<new> (only needed when there are several)
  3. Restart every process with GANTRY_SECRET_KEY=<new>,<old>
  4. GANTRY_SECRET_KEY=<new>,<old> npm run rotate-key
  5. Restart every process with GANTRY_SECRET_KEY=<new>
Nothing was changed.`

await runCommand('rotate-key', async ({ config, print, signal }) => {
  if (process.argv.length > 2) throw new UsageError('usage: npm run rotate-key')
  const { secretKey, home } = config
  const keys = secretKey === undefined ? null : parseKeys(secretKey, 'GANTRY_SECRET_KEY')
  if (keys?.length === 1) throw new UsageError(BY_ENVIRONMENT)
  await using reached = await reachDatabase(config, { create: false, print })
  await using opened = new AsyncDisposableStack()
  const { db, close } = openDatabase(reached.settings, { max: 2, onIdleError: () => {} })
  opened.defer(close)
  const rotation = { db, home, print, signal, ...TIMEOUTS }
  const { unreadable } = await (keys === null ? rotateKeyFile(rotation) : resealWithFirst(rotation, keys))
  if (unreadable.length > 0) {
    print(
      `${unreadable.length} values cannot be opened with any installed key, as before, and were left unchanged:`,
    )
    for (const one of unreadable.slice(0, 20)) print(`  ${one}`)
  }
  print(
    keys === null
      ? `Done. Everything is sealed with the new key in ${keyFile(home)}; the old one, which earlier backups need, is in ${retiredFile(home)}.`
      : 'Done. Everything is sealed with the first key of GANTRY_SECRET_KEY: restart every process with that key only.',
  )
})
