import { examples, type Register, run } from '../command.ts'
import { printChanges } from '../runs/changes.ts'
import { ACTION, findActionId } from '../runs/find.ts'

export const changes: Register = (program) => {
  const command = program
    .command('changes')
    .description('show what a deploy ships: commits and files since what was live')
    .argument('<action>', ACTION)
    .option('--json', 'print JSON')
    .action(
      run(async ({ connect, screen }, given: string, { json }: { json?: true }) => {
        const { gantry } = await connect()
        const params = { path: { action_id: await findActionId(gantry, given) } }
        const found = await gantry.get('/actions/{action_id}/changes', { params })
        if (json) screen.json(found)
        else printChanges(screen, found)
      }),
    )
  examples(
    command,
    ['gantry changes 42', 'what run #42 brought to each server'],
    ["gantry changes 42 --json | jq '.comparisons[0].commits.items[].subject'", 'for release notes'],
  )
}
