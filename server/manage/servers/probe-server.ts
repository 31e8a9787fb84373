import type { Executor } from '#adapters/executors/executor.ts'
import { readScript } from '#platform/scripts.ts'

const PROBE = readScript('./probe-server.sh', import.meta.url)

/** What the account of a server finds there. */
export type Probe = {
  user: string | null
  freeDiskBytes: number | null
  rootDirectoryWritable: boolean
}

export type ProbeResult = ({ kind: 'probed' } & Probe) | { kind: 'failed'; message: string }

const MAX_OUTPUT = 16 * 1024

export async function probeServer(
  executor: Executor,
  rootDirectory: string,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<ProbeResult> {
  let output = ''
  const end = await executor.run({
    command: PROBE,
    environment: { GANTRY_ROOT: rootDirectory },
    workingFolder: null,
    runAsUser: null,
    onOutput: (chunk) => {
      if (output.length < MAX_OUTPUT) output += chunk.toString('utf8')
    },
    signal,
    timeoutMs,
    graceMs: 1_000,
  })
  switch (end.kind) {
    case 'exited':
      return { kind: 'probed', ...parseProbe(output) }
    case 'unreachable':
    case 'impossible':
      return { kind: 'failed', message: end.message }
    case 'signalled':
      return { kind: 'failed', message: `the server killed the probe command (${end.signal})` }
    case 'timed-out':
    case 'cancelled':
      return { kind: 'failed', message: 'a short command did not finish in time' }
  }
}

/** A login shell may have printed something first. */
export function parseProbe(output: string): Probe {
  const user = /^user (.+)$/m.exec(output)?.[1]
  const kibibytes = /^disk .*\s(\d+)\s+\d+%\s/m.exec(output)?.[1]
  return {
    user: user === undefined ? null : user.replace(/\p{C}+/gu, '').slice(0, 100),
    freeDiskBytes: kibibytes === undefined ? null : Number(kibibytes) * 1024,
    rootDirectoryWritable: /^writable$/m.test(output),
  }
}
