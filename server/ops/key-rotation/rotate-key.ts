// `npm run rotate-key`
import { type CommandContext, runCommand, UsageError } from '#ops/commands/command.ts'
import { reachDatabase } from '#ops/commands/reach-database.ts'
import { keyFile, parseKeys } from '#platform/crypto/master-key.ts'
import { openDatabase } from '#platform/database/connect.ts'
import { retiredFile } from './retired-keys.ts'
import { type Rotated, resealWithFirst, rotateKeyFile } from './rotate.ts'

const PATIENCE = { settleMs: 2_000, totalMs: 300_000 }

const BY_ENVIRONMENT = `The key comes from GANTRY_SECRET_KEY, so it is rotated by whoever sets that:
  1. Make a new key: openssl rand -hex 32
  2. Restart every process with GANTRY_SECRET_KEY=<old>,<new> (only needed when there are several)
  3. Restart every process with GANTRY_SECRET_KEY=<new>,<old>
  4. GANTRY_SECRET_KEY=<new>,<old> npm run rotate-key
  5. Restart every process with GANTRY_SECRET_KEY=<new>
Nothing was changed.`

await runCommand('rotate-key', async (context) => {
  if (process.argv.length > 2) throw new UsageError('usage: npm run rotate-key')
  const { secretKey, home } = context.config
  const keys = secretKey === undefined ? null : parseKeys(secretKey, 'GANTRY_SECRET_KEY')
  if (keys?.length === 1) throw new UsageError(BY_ENVIRONMENT)
  const rotated = await withDatabase(context, (db) => {
    const rotation = { db, home, say: context.say, signal: context.signal, patience: PATIENCE }
    return keys === null ? rotateKeyFile(rotation) : resealWithFirst(rotation, keys)
  })
  sayUnreadable(rotated, context.say)
  context.say(
    keys === null
      ? `Done. Everything is sealed with the new key in ${keyFile(home)}; the old one, which backups made before need, is in ${retiredFile(home)}.`
      : 'Done. Everything is sealed with the first key of GANTRY_SECRET_KEY: restart every process with that one alone.',
  )
})

async function withDatabase(
  { config, say }: CommandContext,
  work: (db: ReturnType<typeof openDatabase>['db']) => Promise<Rotated>,
): Promise<Rotated> {
  await using reached = await reachDatabase(config, { create: false, say })
  const database = openDatabase(reached.settings, { max: 2, onIdleError: () => {} })
  try {
    return await work(database.db)
  } finally {
    await database.close()
  }
}

function sayUnreadable({ unreadable }: Rotated, say: (message: string) => void): void {
  if (unreadable.length === 0) return
  say(`${unreadable.length} values cannot be opened with any key here, as before, and were left as they are:`)
  for (const one of unreadable.slice(0, 20)) say(`  ${one}`)
}
