// CPU time by process, from /proc: what a call costs, however busy the machine is with other work.
import { readdir, readFile } from 'node:fs/promises'

/** The processes that a call keeps busy. `postgres` is the postmaster: its children count. */
export type Processes = { server: number; caller: number; postgres: number }

/** In microseconds. */
export type CpuTimes = { nodeMain: number; nodeOther: number; postgres: number; caller: number }

export async function readCpuTimes({ server, caller, postgres }: Processes): Promise<CpuTimes> {
  const threads = await threadTimes(server)
  const nodeMain = threads.get(server) ?? 0
  return {
    nodeMain,
    nodeOther: sum([...threads.values()]) - nodeMain,
    postgres: await familyTime(postgres),
    caller: await processTime(caller),
  }
}

/** How much each took per call. */
export function cpuPerCall(before: CpuTimes, after: CpuTimes, calls: number): CpuTimes {
  const each = (part: keyof CpuTimes) => Math.round((after[part] - before[part]) / calls)
  return {
    nodeMain: each('nodeMain'),
    nodeOther: each('nodeOther'),
    postgres: each('postgres'),
    caller: each('caller'),
  }
}

export async function parentOf(pid: number): Promise<number> {
  return Number((await statFields(pid))[1])
}

const TICK_US = 10_000

/** A process with its children, those that have ended included. */
export async function familyTime(pid: number): Promise<number> {
  const pids = [pid, ...(await childrenOf(pid))]
  const ended = (await statFields(pid)).slice(13, 15)
  return sum(await Promise.all(pids.map(processTime))) + sum(ended.map(Number)) * TICK_US
}

async function childrenOf(pid: number): Promise<number[]> {
  const all = (await readdir('/proc').catch(() => [])).map(Number).filter(Number.isInteger)
  const parents = await Promise.all(all.map(parentOf))
  return all.filter((_, index) => parents[index] === pid)
}

export async function processTime(pid: number): Promise<number> {
  return sum([...(await threadTimes(pid)).values()])
}

/** Empty for a process that has ended, and where there is no /proc. */
async function threadTimes(pid: number): Promise<Map<number, number>> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => [])
  const times = await Promise.all(
    threads.map(async (thread) => {
      const text = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0')
      return [Number(thread), Number(text.split(' ', 1)[0]) / 1_000] as const
    }),
  )
  return new Map(times)
}

/** Of /proc/<pid>/stat, from the state on. */
async function statFields(pid: number): Promise<string[]> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
