// How lists and details of what is set up are declared.
import type { Command } from 'commander'
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
