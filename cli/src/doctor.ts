// What can be wrong between this machine and an instance, and what to do about it.
import { type components, type Gantry, GantryError } from '@gantry/client'
import { EXIT } from './exit-codes.ts'
import { toFailure } from './failure.ts'
import { duration } from './times.ts'

export type Check = components['schemas']['Diagnostics']['checks'][number]

const MAX_SKEW_MS = 30_000
const SOON_MS = 7 * 86_400_000

/** One check after another: when the instance cannot be reached, the rest is not asked. */
export async function* examine(
  gantry: Gantry,
  { url, version, now = Date.now }: { url: string; version: string; now?: () => number },
): AsyncGenerator<Check> {
  const startedAt = now()
  const info = await attempt(gantry.get('/'))
  if (info.kind === 'failed')
    return yield failed('connection', info.message, info.hint ?? 'Check the address.')
  yield ok('connection', `${url} responds in ${now() - startedAt} ms.`)
  yield info.data.version === version
    ? ok('version', `Both are version ${version}.`)
    : warning(
        'version',
        `The instance runs ${info.data.version}, this is ${version}.`,
        `curl -fsSL ${url}/cli/install.sh | sh`,
      )
  // First, because it answers without the database; all other routes may take long then.
  const asked = now()
  const diagnostics = await attempt(gantry.get('/diagnostics'))
  const answered = now()
  const isAway = diagnostics.kind === 'ok' ? hasNoDatabase(diagnostics.data.checks) : diagnostics.code in AWAY
  if (isAway) yield warning('token', 'Not checked: it needs the database.', 'See what follows.')
  else {
    const me = await attempt(gantry.get('/users/me'))
    if (me.kind === 'failed')
      return yield failed('token', me.message, me.hint ?? 'Sign in with `gantry login`.')
    yield ok('token', `You are ${me.data.email}.`)
    yield* checkExpiry(gantry, now())
  }
  if (diagnostics.kind === 'failed') return yield explain(diagnostics)
  yield checkClock(Date.parse(diagnostics.data.time), asked, answered)
  yield* diagnostics.data.checks
}

/** What an instance says that cannot ask its database who is calling. */
const AWAY: Record<string, [message: string, remedy: string]> = {
  database_unreachable: [
    'The instance cannot reach its database.',
    'Check that PostgreSQL runs, that Gantry can connect to it, and that it has connections left (max_connections).',
  ],
  database_unresponsive: [
    'The database of the instance does not answer in time.',
    'Check the load, the disk and the network of the database server.',
  ],
  database_read_only: [
    'The database of the instance is read-only.',
    'Connect Gantry to the primary, or turn default_transaction_read_only off.',
  ],
  database_full: ['The disk of the database is full.', 'Free space on the disk of the database server.'],
  pool_exhausted: [
    'All database connections of the instance are in use.',
    'End what holds them, or raise GANTRY_DATABASE_CONNECTIONS.',
  ],
  lock_wait: [
    'The instance waits for a database lock.',
    'End the transaction that holds it; the log names it.',
  ],
}

/** Diagnostics answers then, too: to administrators whom the instance knows from before. */
const hasNoDatabase = (checks: readonly Check[]) =>
  checks.some(({ name, status }) => name === 'database' && status === 'failed')

function explain({ code, exit, message, hint }: Failed): Check {
  const away = AWAY[code]
  if (away) {
    const [what, remedy] = away
    return failed(
      'instance',
      what,
      `${remedy} More is shown for a token that was used in the last ten minutes.`,
    )
  }
  return exit === EXIT.notAllowed
    ? warning('instance', 'Only instance administrators see more.', 'Ask one to run `gantry doctor`.')
    : failed('instance', message, hint ?? 'The log of the instance says more.')
}

function checkClock(there: number, asked: number, answered: number): Check {
  const skew = Math.max(asked - there, there - answered, 0)
  return skew <= MAX_SKEW_MS
    ? ok('your clock', 'This machine and the instance agree on the time.')
    : warning(
        'your clock',
        `The clocks differ by ${duration(skew / 1_000)}.`,
        'Set up time synchronization on both; signatures with a timestamp fail otherwise.',
      )
}

/** The tokens of the account, if this one may list them: which of them expire soon. */
async function* checkExpiry(gantry: Gantry, now: number): AsyncGenerator<Check> {
  const tokens = await attempt(gantry.get('/users/personal-access-tokens'))
  if (tokens.kind === 'failed') return
  for (const { name, expires_at } of tokens.data) {
    const left = expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(expires_at) - now
    if (left > 0 && left < SOON_MS)
      yield warning(
        'token',
        `The token "${name}" expires in ${duration(left / 1_000)}.`,
        'Create another with `gantry tokens create`, or sign in again.',
      )
  }
}

type Failed = { kind: 'failed'; code: string; message: string; hint: string | undefined; exit: number }
type Attempt<Data> = { kind: 'ok'; data: Data } | Failed

async function attempt<Data>(call: Promise<Data>): Promise<Attempt<Data>> {
  try {
    return { kind: 'ok', data: await call }
  } catch (error) {
    const { message, hint, exit } = toFailure(error)
    const code = error instanceof GantryError ? error.code : ''
    return { kind: 'failed', code, message, hint, exit }
  }
}

const ok = (name: string, message: string): Check => ({ name, status: 'ok', message, remedy: null })
const warning = (name: string, message: string, remedy: string): Check => ({
  name,
  status: 'warning',
  message,
  remedy,
})
const failed = (name: string, message: string, remedy: string | null): Check => ({
  name,
  status: 'failed',
  message,
  remedy,
})
