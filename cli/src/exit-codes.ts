/** What the exit status of `gantry` says; docs/cli.md lists them. */
export const EXIT = {
  completed: 0,
  failed: 1,
  usage: 2,
  /** The run was canceled or skipped. */
  ended: 3,
  notAllowed: 4,
  unreachable: 5,
  /** The server refused: not found, conflict, stale, invalid, too many requests. */
  refused: 6,
  interrupted: 130,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]
