// `npm run restore -- <file>`
import { parseArgs } from 'node:util'
import { type CommandContext, fileOf, runCommand, UsageError } from '#ops/commands/command.ts'
import { connectForLongWork, reachDatabase } from '#ops/commands/reach-database.ts'
import { keyFile, replaceKeyFile } from '#platform/crypto/master-key.ts'
import { migrationNames } from '#platform/database/migrate.ts'
import { installQueue } from '#platform/queue/open-queue.ts'
import { type BackupReader, openBackupFile } from './backup-file.ts'
import { assertEmpty, assertKnownSchema, type KeyPlan, planKey } from './check-restore.ts'
import { UnusableFileError } from './format.ts'
import { restoreBackup } from './restore-backup.ts'
import { unbundleSample } from './sample-repository.ts'

const USAGE = 'usage: npm run restore -- <file>'

await runCommand('restore', async (context) => {
  const path = readArguments(process.argv.slice(2))
  await using backup = await openChecked(path, context.signal)
  const { gantry, created_at } = backup.contents
  context.print(`${path}: complete and intact, created ${created_at} by Gantry ${gantry}`)
  const key = await restore(context, backup)
  context.print(
    'Restored. Runs that were queued or running when the backup was made continue at the next npm start.',
  )
  for (const line of describeKey(key, context.config.home)) context.print(line)
})

async function restore(context: CommandContext, backup: BackupReader): Promise<KeyPlan> {
  const { config, print, signal } = context
  const { home } = config
  const migrations = migrationNames()
  assertKnownSchema(backup.contents, migrations)
  await using database = await reachDatabase(config, { create: true, print })
  await using client = await connectForLongWork(database.settings)
  await assertEmpty(client, backup.contents)
  if (database.isHomeInUse) throw new Error(`Gantry is running on ${home}: stop it first`)
  const key = await planKey(backup, config)
  await installQueue(database.settings)
  const beforeCommit = async () => {
    const sample = backup.contents.sample_repository
    if (sample) await unbundleSample(home, signal, () => backup.read(sample))
    if (key.kind === 'included') await replaceKeyFile(keyFile(home), key.keys)
  }
  await restoreBackup(client, { backup, home, migrations, print, signal, beforeCommit })
  return key
}

async function openChecked(path: string, signal: AbortSignal): Promise<BackupReader> {
  try {
    return await openBackupFile(path, signal)
  } catch (error) {
    if (error instanceof UnusableFileError) {
      throw new Error(`${path} ${error.message}. Nothing was changed`, { cause: error })
    }
    throw error
  }
}

function readArguments(args: string[]): string {
  try {
    const { positionals } = parseArgs({ args, allowPositionals: true })
    if (positionals.length !== 1) throw new Error('expected one file')
    return fileOf(positionals[0]!)
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n${USAGE}`)
  }
}

function describeKey(key: KeyPlan, home: string): string[] {
  const path = keyFile(home)
  switch (key.kind) {
    case 'present':
      return []
    case 'included':
      return [`The master key was in the backup and is now in ${path}.`]
    case 'missing':
      return [
        `The master key is not in the backup. Before npm start, put the key file of the old home at ${path} or set GANTRY_SECRET_KEY: Gantry does not start with another key.`,
      ]
  }
}
