// `npm run backup-made`: for backups that other tools make. Run it when one has succeeded.
import { runCommand, UsageError } from '#ops/commands/command.ts'
import { connectForLongWork, reachDatabase } from '#ops/commands/reach-database.ts'
import { recordBackup } from '#platform/database/newest-backup.ts'

await runCommand('backup-made', async ({ config, print }) => {
  if (process.argv.length > 2) throw new UsageError('usage: npm run backup-made')
  await using database = await reachDatabase(config, { create: false, print })
  await using client = await connectForLongWork(database.settings)
  const { rows } = await client.query<{ now: Date }>('select now()')
  if (!(await recordBackup(client, rows[0]!.now.toISOString())))
    throw new Error(
      'this database cannot record it: run this against the primary, with the release that Gantry runs',
    )
  print('recorded: a backup was made just now')
})
