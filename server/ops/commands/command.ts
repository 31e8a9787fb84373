// The commands room: what the `npm run` commands share.
import { resolve } from 'node:path'
import { type Config, ConfigError, readConfig } from '#platform/config.ts'

export type CommandContext = {
  config: Config
  print: (message: string) => void
  /** Aborted by the first SIGINT or SIGTERM. */
  signal: AbortSignal
}

/** The command was called with wrong arguments: its message is printed as it is. */
export class UsageError extends Error {}

/** Resolves a path against the folder that npm was called in, because npm changes the working folder. */
export function fileOf(path: string): string {
  return resolve(process.env.INIT_CWD ?? '', path)
}

/** Runs a command with the environment of the service, sets the exit code, and leaves nothing behind when stopped. */
export async function runCommand(
  name: string,
  work: (context: CommandContext) => Promise<void>,
): Promise<void> {
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => stopping.abort(new Error(`stopped by ${signal}`)))
  }
  try {
    const config = readConfig(process.env)
    // The secrets have been read: child processes must not inherit them.
    for (const secret of ['GANTRY_SECRET_KEY', 'GANTRY_ADMIN_PASSWORD', 'DATABASE_URL']) {
      delete process.env[secret]
    }
    await work({ config, print: (message) => console.log(message), signal: stopping.signal })
    process.exit(0)
  } catch (error) {
    const cause = stopping.signal.aborted ? stopping.signal.reason : error
    const message = cause instanceof Error ? cause.message : String(cause)
    const isPlain = cause instanceof ConfigError || cause instanceof UsageError
    console.error(isPlain ? message : `gantry ${name}: ${message}`)
    process.exit(1)
  }
}
