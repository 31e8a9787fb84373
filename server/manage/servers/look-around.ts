import type { Executor } from '#adapters/executors/executor.ts'

/** What an account finds on a server. */
export type Surroundings = {
  user: string | null
  freeDiskBytes: number | null
  rootDirectoryWritable: boolean
}

export type Looked = { kind: 'looked'; surroundings: Surroundings } | { kind: 'failed'; message: string }

const MOST_OUTPUT = 16 * 1024

// A folder that is not there yet is made by the first run, if the folder above allows it.
const LOOK = `
folder=$GANTRY_ROOT
while [[ ! -e $folder && $folder != / ]]; do folder=$(dirname -- "$folder"); done
printf 'user %s\\n' "$(id -un 2>/dev/null || id -u)"
printf 'disk %s\\n' "$(df -Pk -- "$folder" 2>/dev/null | tail -n 1)"
[[ -d $folder && -w $folder && -x $folder ]] && echo writable
exit 0`

export async function lookAround(
  executor: Executor,
  rootDirectory: string,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<Looked> {
  let output = ''
  const end = await executor.run({
    command: LOOK,
    environment: { GANTRY_ROOT: rootDirectory },
    workingFolder: null,
    runAsUser: null,
    onOutput: (chunk) => {
      if (output.length < MOST_OUTPUT) output += chunk.toString('utf8')
    },
    signal,
    timeoutMs,
    graceMs: 1_000,
  })
  switch (end.kind) {
    case 'exited':
      return { kind: 'looked', surroundings: readOutput(output) }
    case 'unreachable':
    case 'impossible':
      return { kind: 'failed', message: end.message }
    case 'signalled':
      return { kind: 'failed', message: `commands are ended there (${end.signal})` }
    case 'timed-out':
    case 'cancelled':
      return { kind: 'failed', message: 'a small command did not end in time' }
  }
}

/** Pure. A login shell may have printed things of its own before. */
export function readOutput(output: string): Surroundings {
  const user = /^user (.+)$/m.exec(output)?.[1]
  const kibibytes = /^disk .*\s(\d+)\s+\d+%\s/m.exec(output)?.[1]
  return {
    user: user === undefined ? null : user.replace(/\p{C}+/gu, '').slice(0, 100),
    freeDiskBytes: kibibytes === undefined ? null : Number(kibibytes) * 1024,
    rootDirectoryWritable: /^writable$/m.test(output),
  }
}
