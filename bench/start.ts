import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import type { Bench, Figure } from './bench.ts'
import { alternate, median, medianRatio, ROUNDS } from './measure.ts'
import type { Workbench } from './workbench.ts'

const ROUNDS_OF = { full: ROUNDS, smoke: 1 }
const READY_WITHIN_MS = 60_000
const ENDED_WITHIN_MS = 20_000

/** From `npm start` to the line that prints the URL, against an `npm start` that does nothing. */
export const start: Bench = async (workbench, size) => {
  const root = new URL('..', import.meta.url).pathname
  await assertInstalled(root)
  const empty = await makeEmptyPackage(workbench)
  const used = await workbench.makeFolder()
  await timeStart(root, used)

  const seconds = await alternate(ROUNDS_OF[size], {
    existing: () => timeStart(root, used),
    first: async () => timeStart(root, await workbench.makeFolder()),
    nothing: () => timeNothing(empty),
  })
  const figure = (name: string, ours: number[], limit: number): Figure => ({
    name,
    value: median(ours),
    unit: 's',
    ratio: medianRatio(ours, seconds.nothing),
    floor: 'npm-start-of-nothing',
    goal: { of: 'ratio', is: 'at most', limit },
    details: { seconds: ours, nothing: seconds.nothing },
  })
  return [figure('start', seconds.existing, 6.5), figure('start-first', seconds.first, 14)]
}

/** `npm start` would install first, which is not what this measures. */
async function assertInstalled(root: string): Promise<void> {
  const wanted = createHash('sha256')
    .update(await readFile(join(root, 'package-lock.json')))
    .update(await readFile(join(root, 'package.json')))
    .digest('hex')
  const stamp = await readFile(join(root, 'node_modules', '.gantry-installed'), 'utf8').catch(() => '')
  if (stamp !== wanted) throw new Error('node_modules is not what package-lock.json says: run npm run bench')
}

async function makeEmptyPackage(workbench: Workbench): Promise<string> {
  const folder = await workbench.makeFolder()
  await writeFile(join(folder, 'package.json'), JSON.stringify({ scripts: { start: 'node -e 0' } }))
  return folder
}

async function timeStart(root: string, home: string): Promise<number> {
  const begin = performance.now()
  const child = npmStart(root, { PORT: '0', GANTRY_HOME: home, LOG_LEVEL: 'warn' })
  const said: string[] = []
  child.stderr!.setEncoding('utf8').on('data', (text: string) => said.push(text))
  try {
    const killTimer = setTimeout(() => killGroup(child, 'SIGKILL'), READY_WITHIN_MS)
    let seconds: number | undefined
    for await (const line of createInterface({ input: child.stdout! })) {
      said.push(line)
      if (!line.startsWith('gantry ready')) continue
      seconds = (performance.now() - begin) / 1_000
      break
    }
    clearTimeout(killTimer)
    if (seconds === undefined) throw new Error(`gantry did not get ready: ${said.join('\n')}`)
    child.stdout!.resume()
    child.kill('SIGTERM')
    const code = await endOf(child)
    if (code !== 0)
      throw new Error(`npm start ended with ${code} instead of 0 after SIGTERM: ${said.join('\n')}`)
    return seconds
  } finally {
    await clearGroup(child)
  }
}

async function timeNothing(folder: string): Promise<number> {
  const begin = performance.now()
  const child = npmStart(folder, {})
  child.stdout!.resume()
  child.stderr!.resume()
  const code = await endOf(child)
  if (code !== 0) throw new Error(`npm start of nothing ended with ${code}`)
  return (performance.now() - begin) / 1_000
}

/** In its own process group, so that all of it can be killed if it hangs. */
function npmStart(cwd: string, environment: Record<string, string>): ChildProcess {
  const { DATABASE_URL: _, GANTRY_ROLE: __, ...inherited } = process.env
  const outside = Object.entries(inherited).filter(([name]) => !name.startsWith('npm_'))
  return spawn('npm', ['start', '--no-update-notifier'], {
    cwd,
    env: { ...Object.fromEntries(outside), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
}

async function endOf(child: ChildProcess): Promise<number | string> {
  const killTimer = setTimeout(() => killGroup(child, 'SIGKILL'), ENDED_WITHIN_MS)
  const [code, signal] = await once(child, 'exit')
  clearTimeout(killTimer)
  return code ?? signal
}

/** Normally every process has exited; what a failure left behind gets SIGTERM, then SIGKILL. */
async function clearGroup(child: ChildProcess): Promise<void> {
  const deadline = performance.now() + ENDED_WITHIN_MS
  while (killGroup(child, performance.now() < deadline ? 'SIGTERM' : 'SIGKILL')) await pause(100)
}

/** False when no process is left. */
function killGroup(child: ChildProcess, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(-child.pid!, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}
