import type { ChildProcess } from 'node:child_process'
import type { CommandEnd } from './executor.ts'

/** How a process of ours ended, told at its end and not at the end of its output. */
export function mainEnd(child: ChildProcess): Promise<CommandEnd> {
  return new Promise((resolve) => {
    child.once('error', (error) => {
      resolve({ kind: 'impossible', message: `the command could not be started: ${error.message}` })
    })
    child.once('exit', (code, signal) => {
      resolve(signal === null ? { kind: 'exited', code: code! } : { kind: 'signalled', signal })
    })
  })
}
