// The data folder, <home>/postgres. The server accesses it, and its socket inside it, through its own working
// directory (/proc/self/cwd): a process keeps the folder it was started in even when its account may not enter the
// folders above. So the data stays in GANTRY_HOME with mode 0700, even below /root, and moves with it.

import { execFile } from 'node:child_process'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Account } from './account.ts'
import type { Binaries } from './binaries.ts'

export type DatabaseFolder = { folder: string; uid: number; gid: number }

/** The path by which a server that is started inside its data folder refers to it. Only Linux has one. */
export function asSeenByServer(data: string): string {
  return process.platform === 'linux' ? '/proc/self/cwd' : data
}

/** Nothing else: the server must not inherit Gantry's secret key or PG* variables. */
export const SERVER_ENVIRONMENT = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  LANG: process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8',
}

/** Undefined when there is none yet. Throws, without changing anything, when the existing one must not be used. */
export async function findDatabaseFolder(home: string, major: string): Promise<DatabaseFolder | undefined> {
  const path = join(home, 'postgres')
  const entry = await fs.lstat(path).catch(ignoreAbsent)
  if (!entry) return undefined
  const folder = await fs.realpath(path).catch(ignoreAbsent)
  if (!folder) {
    throw new Error(
      `${path} points to ${await fs.readlink(path)}, which does not exist: restore the database folder, or remove the link to start with an empty database`,
    )
  }
  const { uid, gid } = await fs.lstat(folder)
  const ownUid = process.getuid!()
  if (ownUid !== 0 && uid !== ownUid) {
    throw new Error(
      `${path} belongs to another account (uid ${uid}, Gantry runs as ${ownUid}): start Gantry as that account, or chown -R the folder`,
    )
  }
  const version = (await fs.readFile(join(folder, 'PG_VERSION'), 'utf8').catch(ignoreAbsent))?.trim()
  if (version === undefined) {
    if (entry.isDirectory() && (await fs.readdir(path)).length === 0) return undefined
    throw new Error(`${path} is not a PostgreSQL data folder: move it away, or choose another GANTRY_HOME`)
  }
  if (version !== major) {
    throw new Error(
      `${path} was written by PostgreSQL ${version}, but this Gantry includes PostgreSQL ${major}: dump the data with the Gantry that wrote it (pg_dump) and load it into a new home, or move the folder away to start with an empty database. Nothing was changed`,
    )
  }
  return { folder, uid, gid }
}

/** Created under another name first, so that an interrupted initdb is never mistaken for a database. */
export async function createDatabaseFolder(plan: {
  home: string
  binaries: Binaries
  account: Account
  settings: Record<string, string>
  onLaunch: () => void
}): Promise<string> {
  const { home, account } = plan
  const unfinished = join(home, 'postgres.unfinished')
  const folder = join(home, 'postgres')
  await fs.rm(unfinished, { recursive: true, force: true })
  await fs.mkdir(unfinished, { mode: 0o700 })
  await fs.chown(unfinished, account.uid, account.gid)
  const options = [
    ...['--pgdata', asSeenByServer(unfinished), '--username', 'gantry', '--encoding', 'UTF8'],
    ...localeOptions(Number(plan.binaries.major)),
    ...['--auth-local', 'peer', '--auth-host', 'reject', '--no-instructions'],
    ...(plan.settings.fsync === 'off' ? ['--no-sync'] : []),
  ]
  const spawnOptions = { cwd: unfinished, env: SERVER_ENVIRONMENT, ...account.identity }
  try {
    const created = promisify(execFile)(plan.binaries.initdb, options, spawnOptions)
    plan.onLaunch()
    await created
  } catch (error) {
    await fs.rm(unfinished, { recursive: true, force: true })
    const output = String((error as { stderr?: string }).stderr ?? '').trim()
    throw new Error(`the database could not be created in ${home}: ${output || (error as Error).message}`)
  }
  await fs.rename(unfinished, folder)
  // Otherwise a power cut could restore the old name, and the next start would delete the data as unfinished.
  await syncFolder(home)
  return folder
}

/** The same order everywhere, whatever the system knows; the versions before 17 need the system's. */
function localeOptions(major: number): string[] {
  return major >= 17
    ? ['--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8']
    : ['--locale', SERVER_ENVIRONMENT.LANG]
}

/** Only the account that Gantry runs as may connect, as the role gantry. Written at each start: it may change. */
export async function writeAccessRules(data: string, account: Account): Promise<void> {
  await replaceFile(join(data, 'pg_hba.conf'), 'local all gantry peer map=gantry\n', account)
  await replaceFile(join(data, 'pg_ident.conf'), `gantry "${account.gantry}" gantry\n`, account)
}

/** Exclusive creation does not follow links: another account owns the folder, and this process may be root. */
async function replaceFile(path: string, text: string, account: Account): Promise<void> {
  await fs.rm(path, { force: true })
  await using file = await fs.open(path, 'wx', 0o600)
  await file.writeFile(text)
  await file.chown(account.uid, account.gid)
}

async function syncFolder(path: string): Promise<void> {
  await using folder = await fs.open(path)
  await folder.sync()
}

function ignoreAbsent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
