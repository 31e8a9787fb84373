import { access, constants, stat, statfs } from 'node:fs/promises'
import type { LocalIsolation } from '#adapters/executors/connect.ts'
import { unreached } from '#client/reach.ts'
import { isSameKey } from '#ops/commands/same-key.ts'
import type { Config } from '#platform/config.ts'
import { keyFile } from '#platform/crypto/master-key.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { bounded } from './database-checks.ts'
import { type Check, type Finding, failed, ok, warning } from './run-checks.ts'

export type MachineDeps = {
  db: Database
  box: SecretBox
  version: string
  baseUrl: () => string
  config: Pick<Config, 'home' | 'role' | 'databaseUrl' | 'secretKey'>
  /** Whether writes to the database have failed because its disk is full, and still do. */
  isDiskFull: () => Promise<boolean>
  /** How steps on local servers run. */
  localIsolation: () => Promise<LocalIsolation>
  /** For which version the pages were built; null when they were not. */
  pagesVersion: () => Promise<string | null>
}

/** The machine of the process that answers, and its settings. Messages name settings, not paths. */
export function machineChecks(deps: MachineDeps): Check[] {
  const { config, version } = deps
  return [
    { name: 'home', run: () => checkHome(config.home) },
    { name: 'disk', run: () => checkDisk(deps) },
    { name: 'secret_key', needsDatabase: true, run: () => checkKey(deps) },
    {
      name: 'local_steps',
      async run() {
        if (config.role === 'api') return ok('This process runs no steps.')
        return ISOLATION[await deps.localIsolation()]
      },
    },
    { name: 'base_url', run: async () => judgeBaseUrl(deps.baseUrl()) },
    { name: 'pages', run: async () => judgePages(await deps.pagesVersion(), version) },
  ]
}

const MISSING = failed(
  'The folder of GANTRY_HOME does not exist, or its disk is not mounted.',
  'Mount the disk, or restore the folder from a backup; then restart Gantry.',
)

async function checkHome(home: string): Promise<Finding> {
  try {
    await access(home, constants.R_OK | constants.W_OK | constants.X_OK)
    return ok('GANTRY_HOME exists, and this process can write there.')
  } catch (error) {
    return isMissing(error)
      ? MISSING
      : failed(
          'This process cannot write to the folder of GANTRY_HOME.',
          'Give it to the account that Gantry runs under, with the mode 700.',
        )
  }
}

const isMissing = (error: unknown) =>
  ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')

async function checkDisk({ config, isDiskFull }: MachineDeps): Promise<Finding> {
  if (await isDiskFull())
    return failed('The disk of the database is full: a write failed.', 'See the check database.')
  try {
    const { bavail, blocks, bsize } = await statfs(config.home)
    return judgeDisk(bavail * bsize, blocks * bsize, config.databaseUrl === undefined)
  } catch (error) {
    if (!isMissing(error)) throw error
    return warning('Not checked: the folder of GANTRY_HOME is missing.', 'See the check home.')
  }
}

const GIB = 1024 ** 3

/** Pure. Everything is stored on the disk of an embedded database, which must not become full. */
export function judgeDisk(free: number, total: number, isEmbedded: boolean): Finding {
  const share = total > 0 ? free / total : 0
  const holds = isEmbedded ? 'the database, the repositories and the key' : 'the repositories and the key'
  const message = `${(free / GIB).toFixed(1)} GiB (${Math.floor(share * 100)}%) are free in GANTRY_HOME, which holds ${holds}.`
  const remedy = 'Free some space, or move GANTRY_HOME to a larger disk.'
  if (free < (isEmbedded ? GIB : GIB / 4)) return failed(message, remedy)
  return free < 2 * GIB && share < 0.1 ? warning(message, remedy) : ok(message)
}

/** Pure. A URL that others cannot reach is never fine, even where one person uses Gantry alone: hooks stay silent. */
export function judgeBaseUrl(baseUrl: string): Finding {
  const unfit = unreached(baseUrl)
  if (unfit) return warning(`${unfit.problem} Hook URLs and links begin with it.`, unfit.remedy)
  if (baseUrl.startsWith('http:'))
    return warning(
      `${baseUrl} is not encrypted: tokens and hook calls can be read on the way.`,
      'Put a proxy with HTTPS in front of Gantry, and set GANTRY_URL to its URL.',
    )
  return ok(`Hook URLs and links begin with ${baseUrl}.`)
}

/** Pure. */
export function judgePages(built: string | null, running: string): Finding {
  const remedy = 'Restart Gantry with npm start, which builds them.'
  if (built === null) return warning('The pages are not built: only the API works.', remedy)
  return built === running
    ? ok(`The pages are those of version ${running}.`)
    : warning(`The pages are those of version ${built}, and Gantry runs ${running}.`, remedy)
}

const ISOLATION: Record<LocalIsolation, Finding> = {
  isolated: ok("Steps on local servers are isolated from Gantry's files and processes."),
  unsafe: warning(
    "Steps on local servers can reach Gantry's files and processes: GANTRY_UNSAFE_LOCAL_STEPS is set, and the kernel allows no isolation.",
    'Deploy over SSH instead, or see "Local steps" in docs/operations.md.',
  ),
  refused: warning(
    'The kernel allows no isolation of local steps, so local servers are disabled.',
    'Deploy over SSH, or see "Local steps" in docs/operations.md.',
  ),
}

async function checkKey({ db, box, config }: MachineDeps): Promise<Finding> {
  if (!(await bounded(db, (trx) => isSameKey(trx, box))))
    return failed(
      'The secrets in the database were encrypted with another key.',
      'Provide the key of the first start: GANTRY_SECRET_KEY, or secret.key in GANTRY_HOME.',
    )
  if (config.secretKey !== undefined) return ok('The key in GANTRY_SECRET_KEY decrypts the secrets.')
  const state = await stat(keyFile(config.home)).catch(() => undefined)
  if (!state)
    return failed(
      'The key file secret.key is missing from GANTRY_HOME: this process has the key only in memory.',
      'Restore the file from a backup before you restart Gantry.',
    )
  return (state.mode & 0o077) === 0
    ? ok('The key in GANTRY_HOME decrypts the secrets. Keep a copy of it with your backups.')
    : warning(
        'Other accounts of this machine may read secret.key in GANTRY_HOME.',
        'Run chmod 600 on it, and consider rotating the key.',
      )
}
