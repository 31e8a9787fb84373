// How a command ends early. Separate from failure.ts, so that pure modules do not import the client.
import { EXIT, type ExitCode } from './exit-codes.ts'

/** Ends the command: `message` says what is wrong, `hint` what to do about it. */
export class Failure extends Error {
  readonly exit: ExitCode
  readonly hint: string | undefined

  constructor(message: string, { exit, hint }: { exit: ExitCode; hint?: string }) {
    super(message)
    this.exit = exit
    this.hint = hint
  }
}

/** Ctrl-C, or SIGTERM: says nothing more than the command has said already. */
export class Interrupted extends Error {}

export const usage = (message: string, hint?: string) => new Failure(message, { exit: EXIT.usage, hint })
