// How lists and details of what is set up are declared.
import type { Command } from 'commander'
import type { Scope } from '../walk.ts'

export type ListOptions = Scope & { json?: true }
export type ShowOptions = { json?: true }

export const list = (group: Command, description: string) =>
  group.command('ls').description(description).option('--json', 'print JSON')

export const listInScope = (group: Command, description: string) =>
  list(group, description)
    .option('--project <name>', 'only of this project')
    .option('--environment <name>', 'only of this environment')

export const show = (group: Command, description: string, argument: string) =>
  group
    .command('show')
    .description(description)
    .argument(argument, 'a name such as shop/production/web, the beginning of one, or #id')
    .option('--json', 'print JSON')
