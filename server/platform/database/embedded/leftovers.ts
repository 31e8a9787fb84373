// Processes of an earlier run on this data folder. The caller holds the lock of the home, so no live Gantry owns
// them. They are stopped, not adopted: a new server is our child (its exit is noticed), dies with us, and has the
// settings of this start; a fast shutdown takes well below a second.

import { execFile } from 'node:child_process'
import { readdir, readFile, readlink, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'

const FAST_SHUTDOWN_MS = 30_000
const LOST_BACKENDS_MS = 500
const IMMEDIATE_SHUTDOWN_MS = 10_000

export async function stopLeftovers(data: string, print: (message: string) => void): Promise<void> {
  const named = await namedProcess(data)
  if (named === undefined) return
  const running = await serverProcesses(data, named)
  if (running.includes(named)) {
    print(`stopping a PostgreSQL server left over from a killed Gantry (process ${named})`)
    signal(named, 'SIGINT')
  }
  // Backends whose server was killed notice it when they next wait; a busy one may not for hours.
  const patience = running.includes(named) ? FAST_SHUTDOWN_MS : LOST_BACKENDS_MS
  const lingering = await waitUntilGone(data, named, patience)
  for (const pid of lingering) signal(pid, 'SIGQUIT')
  const stuck = await waitUntilGone(data, named, IMMEDIATE_SHUTDOWN_MS)
  if (stuck.length > 0) throw new Error(`PostgreSQL processes on ${data} do not exit: ${stuck.join(', ')}`)
  // PostgreSQL removes these itself unless their process id is in use again, which is likely in a container. Here no
  // server can be using this folder: we hold the home's lock and found no process in it.
  if (process.platform !== 'linux') return
  for (const name of ['postmaster.pid', '.s.PGSQL.5432.lock']) await rm(join(data, name), { force: true })
}

/** 0 when the file exists but contains no process id; undefined after a clean shutdown. */
async function namedProcess(data: string): Promise<number | undefined> {
  const text = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : Number.parseInt(text, 10) || 0
}

async function waitUntilGone(data: string, named: number, patience: number): Promise<number[]> {
  const deadline = performance.now() + patience
  for (;;) {
    const running = await serverProcesses(data, named)
    if (running.length === 0 || performance.now() > deadline) return running
    await pause(10)
  }
}

/** PostgreSQL processes that run in this folder: a process id from a file proves nothing, it may be reused. */
async function serverProcesses(data: string, named: number): Promise<number[]> {
  if (process.platform !== 'linux') return (await isPostgres(named)) ? [named] : []
  const running: number[] = []
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const folder = await readlink(`/proc/${name}/cwd`).catch(() => undefined)
    if (folder !== data) continue
    const command = await readFile(`/proc/${name}/comm`, 'utf8').catch(() => '')
    if (command.trim() === 'postgres') running.push(Number(name))
  }
  return running
}

async function isPostgres(pid: number): Promise<boolean> {
  if (pid === 0) return false
  const ps = promisify(execFile)('ps', ['-p', `${pid}`, '-o', 'comm='])
  return ps.then(({ stdout }) => stdout.trim().endsWith('postgres')).catch(() => false)
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
