import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from './until.ts'

/** A place in a step's command where it waits until it is let go. */
export type Gate = {
  command: string
  /** A file that whoever waits here has open, with everything that it started. */
  held: string
  /** How often a step came here. */
  entered(): Promise<number>
  reached(times?: number): Promise<void>
  /** How often one was let go. */
  left(): Promise<number>
  open(): Promise<void>
  shut(): Promise<void>
}

export function createGate(notes: string, name: string): Gate {
  const path = join(notes, name)
  const linesOf = async (file: string) =>
    (await readFile(file, 'utf8').catch(() => '')).split('\n').length - 1
  const entered = () => linesOf(`${path}.entered`)
  return {
    command: [
      `echo "$GANTRY_ACTION_ID" >> '${path}.entered'`,
      `exec 8>> '${path}.held'`,
      `until [ -e '${path}.open' ]; do sleep 0.05; done`,
      `echo "$GANTRY_ACTION_ID" >> '${path}.left'`,
    ].join('; '),
    held: `${path}.held`,
    entered,
    left: () => linesOf(`${path}.left`),
    async reached(times = 1) {
      await until(`the step reached ${name}`, 60_000, async () => (await entered()) >= times)
    },
    open: () => writeFile(`${path}.open`, ''),
    shut: () => rm(`${path}.open`),
  }
}
