// What a server serves, as commands print it and Gantry reads it.

import { isReleaseName } from './layout.ts'

/** Starts the line that is for Gantry and not for people: see prelude.sh. */
const LIVE = 'gantry-live '

/** Why `current` says nothing about a release. */
const BROKEN = ['not-a-link', 'dangling', 'outside'] as const

/** Which run activated a release, as it noted before the switch. Releases of Gantry before 0.2 left it empty. */
export type Mark =
  | { kind: 'run'; run: string; before: string | null }
  | { kind: 'empty' }
  | { kind: 'missing' }
  | { kind: 'malformed' }

export type LiveReading =
  | { kind: 'nothing' }
  | { kind: 'release'; name: string; mark: Mark }
  | { kind: 'broken'; why: (typeof BROKEN)[number] }

/** Undefined: the command did not get that far. The last line counts: a login shell may print anything before. */
export function parseLive(output: string): LiveReading | undefined {
  const line = output.split('\n').findLast((one) => one.startsWith(LIVE))
  const [kind, name = '', ...mark] = line?.slice(LIVE.length).split(' ') ?? []
  if (kind === 'nothing') return { kind }
  if (kind === 'broken') {
    const why = BROKEN.find((one) => one === name)
    return why && { kind, why }
  }
  return kind === 'release' && isReleaseName(name) ? { kind, name, mark: parseMark(mark) } : undefined
}

/** A mark that was cut off names no release. */
function parseMark([kind, run = '', before = '']: string[]): Mark {
  if (kind === 'empty' || kind === 'missing') return { kind }
  if (kind === 'run' && (before === 'none' || isReleaseName(before)))
    return { kind, run, before: before === 'none' ? null : before }
  return { kind: 'malformed' }
}

/** Passes on the output of a command without the line that is for Gantry. Call `end` when the command has ended. */
export function withoutLiveLine(write: (chunk: Buffer) => Promise<void> | void) {
  let held = Buffer.alloc(0)
  const all: Buffer[] = []
  const isOurs = (line: Buffer) => line.toString('latin1').startsWith(LIVE)
  return {
    async onOutput(chunk: Buffer): Promise<void> {
      all.push(chunk)
      const text = Buffer.concat([held, chunk])
      const end = text.lastIndexOf('\n') + 1
      held = text.subarray(end)
      await pass(text.subarray(0, end))
    },
    async end(): Promise<void> {
      if (held.length > 0 && !isOurs(held)) await write(held)
    },
    reading: () => parseLive(Buffer.concat(all).toString()),
  }

  async function pass(lines: Buffer): Promise<void> {
    const kept: Buffer[] = []
    for (let start = 0; start < lines.length; ) {
      const end = lines.indexOf('\n', start) + 1
      const line = lines.subarray(start, end)
      if (!isOurs(line)) kept.push(line)
      start = end
    }
    if (kept.length > 0) await write(Buffer.concat(kept))
  }
}
