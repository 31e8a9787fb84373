// Shared by the tests of both executors.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { later } from '#test/support/later.ts'
import { LOCAL_SETTINGS } from '#test/support/local-settings.ts'
import type { CommandEnd, CommandRequest, Executor } from './executor.ts'
import { type Containment, type LocalExecutor, type LocalOptions, openLocalExecutor } from './local.ts'
import type { SshOptions } from './ssh-connect.ts'

export type Ran = { end: CommandEnd; output: string }

/** Runs one command and collects what it prints. */
export async function run(
  executor: Executor,
  command: string,
  more: Partial<CommandRequest> = {},
): Promise<Ran> {
  const chunks: Buffer[] = []
  const end = await executor.run({
    command,
    environment: {},
    workingFolder: null,
    runAsUser: null,
    onOutput: (chunk) => void chunks.push(chunk),
    signal: new AbortController().signal,
    timeoutMs: 60_000,
    graceMs: 5_000,
    ...more,
  })
  return { end, output: Buffer.concat(chunks).toString() }
}

/** Aborts as soon as the command has printed `word`. */
export function cancelAt(word: string): Pick<CommandRequest, 'onOutput' | 'signal'> & { output(): string } {
  const controller = new AbortController()
  let seen = ''
  return {
    signal: controller.signal,
    onOutput(chunk) {
      seen += chunk
      if (seen.includes(word)) controller.abort()
    },
    output: () => seen,
  }
}

/** Without isolation only where it is asked for. */
export async function openLocal(
  options: Partial<LocalOptions> & { containment?: Containment | undefined },
): Promise<LocalExecutor> {
  const unsafe = options.containment === 'guard'
  const { home, socket } = LOCAL_SETTINGS
  const local = await openLocalExecutor({ excludedUid: null, home, socket, unsafe, ...options })
  if ('kind' in local) throw new Error(local.message)
  return local
}

export async function until(condition: () => boolean, withinMs = 30_000): Promise<void> {
  for (const deadline = Date.now() + withinMs; !condition(); await pause(10)) {
    if (Date.now() > deadline) throw new Error(`not in time: ${condition}`)
  }
}

/**
 * Bash that starts processes named $TOKEN which try hard to outlive it, waits until all of them run, and prints
 * `up`. Each needs more than the one before to be found.
 */
export const START_DAEMONS = `
sleeper='exec -a "$0" sleep 1000'
bash -c "$sleeper" "$TOKEN" &
setsid bash -c "$sleeper" "$TOKEN" &
nohup bash -c "$sleeper" "$TOKEN" >/dev/null 2>&1 &
(setsid bash -c "trap '' TERM HUP; $sleeper" "$TOKEN" </dev/null >/dev/null 2>&1 &)
(exec >/dev/null 2>&1; setsid bash -c "setsid bash -c '$sleeper' \\$0 & exit" "$TOKEN" &)
count() { local n=0 f; for f in /proc/[0-9]*/cmdline; do { read -r -d '' f <"$f"; } 2>/dev/null; [ "$f" = "$TOKEN" ] && n=$((n + 1)); done; [ $n -ge 5 ]; }
until count; do sleep 0.02; done
echo up
`

/** Processes with this name, as START_DAEMONS starts them. */
export function processesNamed(token: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => commandLineOf(pid).startsWith(`${token}\0`))
}

export function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    return ''
  }
}

/** Of the main thread. */
export function childrenOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1')
    return children.trim().split(' ').map(Number).filter(Boolean)
  } catch {
    return []
  }
}

export function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)])
}

export type VictimPlan = { token: string } & (
  | { kind: 'local'; containment: Containment }
  | { kind: 'ssh'; server: Omit<SshOptions, 'onNewHostKey'> }
)

/** A process like Gantry, running START_DAEMONS: resolves when they are up. */
export async function startVictim(
  t: { after(fn: () => Promise<void>): void },
  plan: VictimPlan,
): Promise<{ pid: number; kill(): Promise<void> }> {
  const script = fileURLToPath(new URL('./test-victim.ts', import.meta.url))
  const victim = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(victim, 'exit')
  const kill = async () => {
    victim.kill('SIGKILL')
    await ended
  }
  later(t, kill)
  victim.stdin.end(JSON.stringify(plan))
  const said = await Promise.race([once(victim.stdout, 'data'), ended])
  if (String(said[0]) !== 'up\n') throw new Error(`the victim printed ${said}`)
  return { pid: victim.pid!, kill }
}
