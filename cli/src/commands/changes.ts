import { examples, type Register } from '../command.ts'
import { printChanges } from '../runs/changes.ts'
import { showOfAction } from './list-and-show.ts'

export const changes: Register = (program) => {
  const command = showOfAction(
    program,
    'changes',
    'show what a deploy ships: commits and files since what was live',
    {
      read: (gantry, action_id) =>
        gantry.get('/actions/{action_id}/changes', { params: { path: { action_id } } }),
      print: printChanges,
    },
  )
  examples(
    command,
    ['gantry changes 42', 'what run #42 brought to each server'],
    ["gantry changes 42 --json | jq '.comparisons[0].commits.items[].subject'", 'for release notes'],
  )
}
