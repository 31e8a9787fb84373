// The linters and generators of other people, run on the OpenAPI document.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openTestApp } from './harness.ts'

const run = promisify(execFile)
const INSTALL = fileURLToPath(new URL('../../scripts/openapi-tools.mjs', import.meta.url))
/** No tool may look for updates, report its use, or download what the lock file does not name. */
const ENVIRONMENT = {
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  npm_config_offline: 'true',
  REDOCLY_TELEMETRY: 'off',
  REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
  DO_NOT_TRACK: '1',
}

/** A folder with the document as `openapi.json`, in which the tools are installed. */
export async function openToolFolder(t: { after: (fn: () => Promise<unknown>) => void }) {
  const { app } = await openTestApp(t)
  const folder = await mkdtemp(join(tmpdir(), 'gantry-generated-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const { stdout: tools } = await run(process.execPath, [INSTALL])
  await symlink(join(tools.trim(), 'node_modules'), join(folder, 'node_modules'))
  const document = app.swagger()
  await writeFile(join(folder, 'openapi.json'), JSON.stringify(document))

  const options = { cwd: folder, env: ENVIRONMENT, maxBuffer: 32 * 1024 * 1024 }
  return {
    folder,
    document,
    /** A program of the tools; its output, whatever its exit code. */
    tool: async (program: string, ...args: string[]): Promise<string> => {
      const script = join(folder, 'node_modules/.bin', program)
      const { stdout } = await run(script, args, options).catch((failure: { stdout: string }) => failure)
      return stdout
    },
    /** A command as a person types it; fails with what it printed. */
    type: async (command: string): Promise<void> => {
      await run('bash', ['-c', command], options).catch((failure: { stdout: string; stderr: string }) => {
        throw new Error(`${command}\n${failure.stdout}${failure.stderr}`)
      })
    },
  }
}
