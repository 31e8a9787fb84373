// Somebody at a terminal: bash, in which commands are typed one after the other, with `gantry` installed.
import { installCommand } from './cli.ts'
import { openTerminal } from './terminal.ts'
import { until } from './until.ts'

const PROMPT = '$'

export async function openTypedSession(
  t: { after(fn: () => Promise<void>): void },
  { env, ...options }: { env: Record<string, string>; cwd: string; columns?: number; rows?: number },
) {
  const terminal = await openTerminal(t, ['bash', '--norc', '--noprofile', '-i'], {
    ...options,
    env: { ...env, PATH: `${await installCommand(t)}:${process.env.PATH}`, PS1: `${PROMPT} `, HISTFILE: '' },
  })
  const screens: string[] = []
  let from = 0

  const since = () => terminal.history().slice(from)
  const hasEnded = () => since().endsWith(`\n${PROMPT}`)
  await until('bash is ready', 30_000, () => since() === PROMPT)

  /** Types it, and Enter. */
  function type(line: string): void {
    from = terminal.history().length - PROMPT.length
    terminal.type(line)
    terminal.press('enter')
  }

  /** When the command has ended: what was shown since it was typed, itself included. */
  async function done(withinMs = 60_000): Promise<string> {
    await until('the command has ended', withinMs, hasEnded).catch((error: Error) => {
      throw new Error(`${error.message}\n--- shown:\n${since()}\n---`)
    })
    const screen = since().slice(0, -PROMPT.length).trimEnd()
    screens.push(screen)
    return screen
  }

  return {
    /** What was shown for each command so far. */
    screens,
    type,
    done,
    press: terminal.press,
    answer(text: string): void {
      terminal.type(text)
      terminal.press('enter')
    },
    /** Until the command that was typed last shows this. */
    async sees(expected: string): Promise<void> {
      await until(`the terminal shows ${expected}`, 30_000, () => since().includes(expected)).catch(
        (error: Error) => {
          throw new Error(`${error.message}\n--- shown:\n${since()}\n---`)
        },
      )
    },
    async run(line: string): Promise<string> {
      type(line)
      return done()
    },
  }
}
