// The service as `npm start` runs it: role `all`, its own settings of memory, its log in a file.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { ConnectionSettings } from '#platform/database/connect.ts'
import { bundle } from '../scripts/build-server.mjs'
import { startSettings } from './child.ts'
import type { Workbench } from './workbench.ts'

export type Service = { pid: number; port: number; url: string }

const RUN_BUNDLE = fileURLToPath(new URL('../scripts/run-bundle.mjs', import.meta.url))
const READY_WITHIN_MS = 60_000
const ENDED_WITHIN_MS = 20_000
const HURRY_EVERY_MS = 200

export async function startService(
  workbench: Workbench,
  settings: ConnectionSettings,
  more: Record<string, string> = {},
): Promise<Service> {
  if (bundle === undefined) throw new Error('The server was not bundled: see above.')
  const { environment, flags } = startSettings()
  const logFile = join(await workbench.makeFolder(), 'service.log')
  const log = openSync(logFile, 'a')
  const child = spawn(process.execPath, [...flags, RUN_BUNDLE, bundle], {
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      GANTRY_HOME: await workbench.makeFolder(),
      GANTRY_SAMPLE: 'false',
      DATABASE_URL: urlOf(settings),
      ...environment,
      ...more,
    },
    stdio: ['ignore', 'pipe', log],
  })
  closeSync(log)
  workbench.defer(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    // Again: what still runs needs no time to end.
    const hurryTimer = setInterval(() => child.kill('SIGTERM'), HURRY_EVERY_MS)
    const killTimer = setTimeout(() => child.kill('SIGKILL'), ENDED_WITHIN_MS)
    await ended
    clearInterval(hurryTimer)
    clearTimeout(killTimer)
  })
  const killTimer = setTimeout(() => child.kill('SIGKILL'), READY_WITHIN_MS)
  for await (const line of createInterface({ input: child.stdout! })) {
    const url = /^gantry ready at (\S+)/.exec(line)?.[1]
    if (url === undefined) continue
    clearTimeout(killTimer)
    child.stdout!.resume()
    return { pid: child.pid!, port: Number(new URL(url).port), url }
  }
  throw new Error(`The service did not start: ${await readFile(logFile, 'utf8')}`)
}

function urlOf(settings: ConnectionSettings): string {
  const { host, user, database } = settings as Record<'host' | 'user' | 'database', string>
  return `postgresql:///${database}?host=${encodeURIComponent(host)}&user=${user}`
}
