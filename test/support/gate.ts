import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from './until.ts'

/** A point in a step's command where it waits until the gate opens. */
export type Gate = {
  command: string
  /** A file that the waiting step has open, with everything it started. */
  held: string
  /** How often a step reached the gate. */
  entered(): Promise<number>
  reached(times?: number): Promise<void>
  /** How often a step passed the gate. */
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
