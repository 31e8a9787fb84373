// `npm run backup [-- file] [--with-key]`
import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type CommandContext, fileOf, runCommand, UsageError } from '#ops/commands/command.ts'
import { connectForLongWork, reachDatabase } from '#ops/commands/reach-database.ts'
import { findMasterKeys } from '#platform/crypto/master-key.ts'
import { recordBackup } from '#platform/database/newest-backup.ts'
import { VERSION } from '#platform/version.ts'
import { formatRows } from './progress.ts'
import { type Backup, takeBackup } from './take-backup.ts'

const USAGE = 'usage: npm run backup [-- <file>] [--with-key]'

await runCommand('backup', async (context) => {
  const { path, withKey } = readArguments(process.argv.slice(2))
  if (existsSync(path)) throw new Error(`${path} already exists and is never overwritten`)
  const backup = await makeBackup(context, path, withKey)
  context.print(
    `${path}: ${formatRows(backup.rows)}, ${Math.ceil(backup.bytes / 1_000).toLocaleString('en')} kB`,
  )
  context.print(describeKey(backup, context.config.secretKey !== undefined, withKey))
})

async function makeBackup(
  { config, print, signal }: CommandContext,
  path: string,
  withKey: boolean,
): Promise<Backup> {
  await using database = await reachDatabase(config, { create: false, print })
  await using client = await connectForLongWork(database.settings)
  const keys = await findMasterKeys({ home: config.home, fromEnvironment: config.secretKey })
  const input = { path, home: config.home, gantryVersion: VERSION, keys, withKey, print, signal }
  const backup = await takeBackup(client, input)
  if (!(await recordBackup(client, backup.createdAt)))
    print('Not recorded in this database: run backup-made against the primary.')
  return backup
}

function readArguments(args: string[]): { path: string; withKey: boolean } {
  try {
    const { positionals, values } = parseArgs({
      args,
      allowPositionals: true,
      options: { 'with-key': { type: 'boolean', default: false } },
    })
    if (positionals.length > 1) throw new Error('expected at most one file')
    return { path: fileOf(positionals[0] ?? defaultName(new Date())), withKey: values['with-key'] }
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n${USAGE}`)
  }
}

function defaultName(now: Date): string {
  return `gantry-backup-${now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z.gantry`
}

function describeKey({ keyIds }: Backup, fromEnvironment: boolean, withKey: boolean): string {
  const key = keyIds.length > 1 ? `Master keys ${keyIds.join(' and ')}` : `The master key ${keyIds[0]}`
  if (withKey) return `${key}: IN THIS FILE. Anyone with the file can read every secret in it.`
  const source = fromEnvironment ? 'GANTRY_SECRET_KEY' : 'secret.key in GANTRY_HOME'
  return `${key}: not in the file. Store it (${source}) in a different location: without it, the secrets in the backup cannot be read.`
}
