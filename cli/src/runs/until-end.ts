// What --watch and --wait do with a run that has started, and how the command ends.
import type { Gantry } from '@gantry/client'
import type { Command } from 'commander'
import { Option } from 'commander'
import type { Action } from '../actions.ts'
import type { Cli } from '../cli.ts'
import { Interrupted } from '../ending.ts'
import { followRun } from './follow-run.ts'
import { reportEnd } from './outcome.ts'

export type UntilOptions = { watch?: true; wait?: true; json?: true }

/** The options of every command that starts a run. */
export function addUntilOptions(command: Command): Command {
  return command
    .addOption(new Option('--watch', 'show its progress until it finishes').conflicts('wait'))
    .addOption(new Option('--wait', 'wait until it finishes; the exit code says how it ended'))
    .option('--json', 'print the run as JSON')
}

/** Says which run has started; with --watch or --wait also how it ends, which decides the exit code. */
export async function waitForRun(
  cli: Cli,
  gantry: Gantry,
  started: Action,
  { watch, wait, json }: UntilOptions,
): Promise<void> {
  const { screen } = cli
  const isWaiting = watch || wait
  if (!json) screen.print([`#${started.id}`, started.url_web_permalink].join(screen.isTerminal ? '  ' : '\t'))
  else if (!isWaiting) screen.json(started)
  if (isWaiting) await awaitEnd(cli, gantry, started, { isQuiet: wait === true, json })
}

/** Results on stdout, unless that is for JSON. */
export async function awaitEnd(
  cli: Cli,
  gantry: Gantry,
  action: Action,
  { isQuiet, json }: { isQuiet: boolean; json?: true | undefined },
): Promise<void> {
  const { screen, signal } = cli
  const write = json || isQuiet ? screen.note : screen.print
  let ended: Action
  try {
    ended = isQuiet
      ? await gantry.wait(action.id, { signal })
      : await followRun(cli, gantry, action, { write, isLive: !json })
  } catch (error) {
    if (signal.aborted) {
      screen.note(`Interrupted. The run continues; \`gantry cancel ${action.id}\` stops it.`)
      throw new Interrupted()
    }
    screen.note(`#${action.id} may still be running: \`gantry watch ${action.id}\` follows it.`)
    throw error
  }
  if (json) screen.json(ended)
  await reportEnd(cli, gantry, ended, write)
}
