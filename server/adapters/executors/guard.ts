// A guard is a small bash of the account under which commands run, on the same machine, with a line to Gantry. It
// finds the processes of a command by the mark in their environment, so also those that have left its process
// group. When the line ends or falls silent it ends every command of this Gantry by itself: that is how nothing
// survives the death of Gantry, or of the line.
//
// A process that wipes its environment, leaves the process group and loses its parents is not found. Where the
// system has no /proc, the process groups are all there is.

import type { Readable, Writable } from 'node:stream'
import { onLines } from './lines.ts'
import { MARK_VARIABLE } from './preamble.ts'

export type Guard = {
  /**
   * Signals every process with this mark and, when it is known, the command's process group. Resolves with the
   * number of processes found; signal 0 only counts. Rejects when the guard is gone.
   */
  signal(name: 'TERM' | 'KILL' | '0', mark: string, group: number | undefined): Promise<number>
  /** The process group to end when the line does. */
  watch(group: number): void
  forget(group: number): void
  /** Resolves when the guard has ended. */
  gone: Promise<void>
  /** For when no command needs it any more. It leaves the others alone: root's guard would find them all. */
  close(): void
}

export type GuardSettings = {
  /** What the marks of all commands of this executor begin with. */
  marks: string
  /** Null: only the end of the line counts, as on one machine. */
  silence: { seconds: number; beatMs: number } | null
}

// A process gets SIGTERM once, so not as a member of its group as well; its handler would run twice.
// Like the bootstrap, this has no single quote, backslash, exclamation mark or newline.
export const GUARD = [
  'trap "" HUP INT TERM PIPE; read -r marks silence; echo ready $marks; exec 2>/dev/null;',
  'hit() { n=0; for p in $(grep -lsF "$2" /proc/[0-9]*/environ); do',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: bash
  'p=${p#/proc/}; p=${p%/environ}; n=$((n + 1)); kill -s $1 $p; if [ $1 = KILL ]; then kill -s KILL -- -$p; fi; done; };',
  'while read -r $silence id word mark group; do case $word in beat) ;; bye) exit ;;',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: bash
  'watch) groups="$groups $group " ;; forget) groups=${groups/ $group /} ;;',
  `*) hit $word ${MARK_VARIABLE}=$mark; if [ $n = 0 ]; then kill -s $word -- -$group; fi; echo $id $n ;;`,
  'esac; done; for group in $groups; do kill -s KILL -- -$group; done;',
  `for pause in 0 0 0 0 1 1 1 1 1 1; do hit KILL ${MARK_VARIABLE}=$marks;`,
  'if [ $n = 0 ]; then break; fi; sleep $pause; done',
].join(' ')

/** Resolves when the guard is at work; when its output ends before that, with what was said instead. */
export async function openGuard(
  input: Writable,
  output: Readable,
  settings: GuardSettings,
): Promise<Guard | string> {
  const { marks, silence } = settings
  const waiting = new Map<number, { resolve(count: number): void; reject(error: Error): void }>()
  const ready = Promise.withResolvers<boolean>()
  const gone = Promise.withResolvers<void>()
  let requests = 0
  let isGone = false
  let noise = ''

  const hear = (line: string) => {
    // A login shell may print things of its own first.
    if (line === `ready ${marks}`) ready.resolve(true)
    else if (requests === 0) noise = `${noise} ${line}`.slice(-500)
    const [id, count] = line.split(' ').map(Number)
    waiting.get(id!)?.resolve(count!)
    waiting.delete(id!)
  }
  input.on('error', () => {})
  output.on('error', () => {})
  onLines(output, hear)
  output.on('close', () => {
    isGone = true
    ready.resolve(false)
    gone.resolve()
    for (const { reject } of waiting.values()) reject(new Error('the guard is gone'))
  })
  const send = (...words: (string | number)[]) => input.write(`${words.join(' ')}\n`)
  send(marks, silence ? `-t ${silence.seconds}` : '')
  if (!(await ready.promise)) return noise.trim()

  const beat = silence && setInterval(() => send(0, 'beat'), silence.beatMs)
  gone.promise.then(() => clearInterval(beat ?? undefined))
  return {
    signal(name, mark, group) {
      if (isGone) return Promise.reject(new Error('the guard is gone'))
      const id = ++requests
      const answer = Promise.withResolvers<number>()
      waiting.set(id, answer)
      send(id, name, mark, group ?? '')
      return answer.promise
    },
    watch: (group) => void send(0, 'watch', '-', group),
    forget: (group) => void send(0, 'forget', '-', group),
    gone: gone.promise,
    close: () => void input.end('0 bye\n'),
  }
}
