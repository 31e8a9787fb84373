// How lists and details of what is set up are declared.
import type { Gantry } from '@gantry/client'
import type { Command } from 'commander'
import { run } from '../command.ts'
import { ACTION, findActionId } from '../runs/find.ts'
import type { Screen } from '../screen.ts'
import type { Scope } from '../walk.ts'

export type ListOptions = Scope & { json?: true }
export type ShowOptions = { json?: true }

export const list = (group: Command, description: string) =>
  group.command('ls').description(description).option('--json', 'print JSON')

export const listInScope = (group: Command, description: string) =>
  list(group, description)
    .option('--project <name>', 'only those of this project')
    .option('--environment <name>', 'only those of this environment')

const EXAMPLES: Record<string, string> = {
  '<pipeline>': 'shop/production/web/deploy',
  '<application>': 'shop/production/web',
  '<server>': 'shop/production/web-1',
  '<hook>': 'web/deploy/github',
  '<credential>': 'GitHub',
}

export const show = (group: Command, description: string, argument: string) =>
  group
    .command('show')
    .description(description)
    .argument(
      argument,
      `a name such as ${EXAMPLES[argument]}, the end or beginning of one, or ${argument === '<hook>' ? 'its id' : "its id as '#7'"}`,
    )
    .option('--json', 'print JSON')

/** Shows something about one run: `gantry changes 42`. */
export const showOfAction = <Found>(
  group: Command,
  name: string,
  description: string,
  {
    read,
    print,
  }: {
    read(gantry: Gantry, actionId: number): Promise<Found>
    print(screen: Screen, found: Found, gantry: Gantry): void | Promise<void>
  },
) =>
  group
    .command(name)
    .description(description)
    .argument('<action>', ACTION)
    .option('--json', 'print JSON')
    .action(
      run(async ({ connect, screen }, given: string, { json }: ShowOptions) => {
        const { gantry } = await connect()
        const found = await read(gantry, await findActionId(gantry, given))
        if (json) screen.json(found)
        else await print(screen, found, gantry)
      }),
    )
