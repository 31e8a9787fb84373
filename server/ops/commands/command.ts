import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Config, ConfigError, readConfig } from '#platform/config.ts'

export type CommandContext = {
  config: Config
  gantryVersion: string
  say: (message: string) => void
  /** Aborted by the first SIGINT or SIGTERM. */
  signal: AbortSignal
}

/** A mistake in how the command was called: its message is said as it is. */
export class UsageError extends Error {}

/** A file as the caller names it: npm changes the working folder, and says where it was called. */
export function fileOf(path: string): string {
  return resolve(process.env.INIT_CWD ?? '', path)
}

/** A command beside the service: the same environment in, an exit code out, and nothing left when it is stopped. */
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
    // Secrets have been read; nothing that we start shall inherit them.
    for (const secret of ['GANTRY_SECRET_KEY', 'GANTRY_ADMIN_PASSWORD', 'DATABASE_URL']) {
      delete process.env[secret]
    }
    const { version } = JSON.parse(await readFile(new URL('../../../package.json', import.meta.url), 'utf8'))
    await work({
      config,
      gantryVersion: version,
      say: (message) => console.log(message),
      signal: stopping.signal,
    })
    process.exit(0)
  } catch (error) {
    const fault = stopping.signal.aborted ? stopping.signal.reason : error
    const message = fault instanceof Error ? fault.message : String(fault)
    const isPlain = fault instanceof ConfigError || fault instanceof UsageError
    console.error(isPlain ? message : `gantry ${name}: ${message}`)
    process.exit(1)
  }
}
