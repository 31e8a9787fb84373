// The last lines of a log that may be long.

const KEPT_LINES = 20
const KEPT_CHARACTERS = 2_000

export type Tail = ReturnType<typeof createTail>

export function createTail() {
  let ended: string[] = []
  let open = ''
  return {
    append(text: string): void {
      const parts = (open + text).split('\n')
      open = parts.pop()!.slice(-KEPT_CHARACTERS)
      const fresh = parts.slice(-KEPT_LINES).map((line) => line.slice(0, KEPT_CHARACTERS))
      ended = [...ended, ...fresh].slice(-KEPT_LINES)
    },
    /** At most so many, the newest last. */
    lines: (count: number = KEPT_LINES) => (open === '' ? ended : [...ended, open]).slice(-count),
  }
}
