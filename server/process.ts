import { pino } from 'pino'
import { ConfigError, readConfig } from '#platform/config.ts'
import { startEmbeddedPostgres } from '#platform/database/embedded/start.ts'
import { openLogStream } from '#platform/log-stream.ts'
import { describeRun, type EndedRun, openTerminalLog } from '#platform/terminal-log.ts'

// The process: reads the environment, handles signals, sets the exit code. Messages for people go to standard
// output; the log, one JSON object per line, goes to standard error. At a terminal, where the first password has to stay
// in sight, it is warnings and one line per run, as text.

const STOP_LIMIT_MS = 15_000
/** From the second signal on: steps are interrupted and handed over, which takes three seconds. */
const STOP_NOW_LIMIT_MS = 6_000

async function serve(): Promise<void> {
  const config = readConfig(process.env)
  const isQuiet = process.stderr.isTTY === true && !process.env.LOG_LEVEL
  const log = pino(
    { level: isQuiet ? 'warn' : config.logLevel, serializers: { err: plainError } },
    isQuiet ? openTerminalLog(console.error) : openLogStream(2),
  )
  // The secrets have been read; child processes must not inherit them.
  for (const name of ['GANTRY_SECRET_KEY', 'GANTRY_ADMIN_PASSWORD', 'DATABASE_URL']) delete process.env[name]
  // An unhandled rejection is a bug to log, not a reason to abort all running work.
  process.on('unhandledRejection', (error) => log.error({ err: error }, 'unhandled rejection'))

  const requested = Promise.withResolvers<string>()
  const hurry = new AbortController()
  let isStopping = false
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      requested.resolve(signal)
      if (isStopping && !hurry.signal.aborted) {
        console.log(`gantry stopping now (${signal})`)
        hurry.abort()
        exitAfter(STOP_NOW_LIMIT_MS)
      }
      isStopping = true
    })
  const print = (message: string) => console.log(message)
  const embedded = config.databaseUrl === undefined ? await launchDatabase(config.home, print) : undefined
  const { startService } = await import('./service.ts')
  const onRun = isQuiet ? (run: EndedRun, url: string) => console.error(describeRun(run, url)) : undefined
  const service = await startService(config, { log, print, onRun }, embedded?.started)
  console.log(service.url === undefined ? 'gantry worker ready' : `gantry ready at ${service.url}`)
  if (service.healthUrl !== undefined) console.log(`health at ${service.healthUrl}/readyz`)
  if (service.url !== undefined) console.log(`dashboard at ${service.url}/app`)
  const signal = await requested.promise
  console.log(`gantry stopping (${signal})`)
  exitAfter(config.drainSeconds * 1_000 + STOP_LIMIT_MS)
  await service.stop(hurry.signal)
  console.log('gantry stopped')
  process.exit(0)
}

/** Resolves when PostgreSQL is starting, which takes about as long as loading the rest of Gantry. */
async function launchDatabase(home: string, print: (message: string) => void) {
  const launched = Promise.withResolvers<void>()
  const started = startEmbeddedPostgres({ home, print, onLaunch: launched.resolve })
  await Promise.race([launched.promise, started])
  // The service reports a failure, once it is loaded.
  started.catch(() => {})
  return { started }
}

/** When it hangs while it stops. */
function exitAfter(ms: number): void {
  setTimeout(() => process.exit(1), ms).unref()
}

/** No `detail` of a database error: it quotes values. */
function plainError(error: Error & { code?: string }) {
  return { type: error.name, message: error.message, code: error.code, stack: error.stack }
}

/** Runs until a signal ends it; never returns normally. */
export async function runProcess(): Promise<void> {
  try {
    await serve()
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    console.error(error instanceof ConfigError ? message : `gantry could not start: ${message}`)
    process.exit(1)
  }
}
