// The runner room: doing the work of an action on its targets. One target is one job; scheduling says when
// it may begin and is told how it ended, executors reach the server, step-logs keep what it prints.

/** A step as it was when the run was planned. */
export type StepDefinition = {
  order: number
  name: string
  builtIn: boolean
  /** Null for built-in steps. */
  command: string | null
  runAsUser: string | null
  timeoutSeconds: number
  idempotent: boolean
}
