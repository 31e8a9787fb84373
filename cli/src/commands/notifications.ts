import { examples, type Register, run } from '../command.ts'
import { ACTION, findActionId } from '../runs/find.ts'
import { NOTIFICATIONS } from '../runs/notifications.ts'
import { printTable } from '../table.ts'

export const notifications: Register = (program) => {
  const command = program
    .command('notifications')
    .description('show who was notified about a run, and what services such as GitHub show')
    .argument('<action>', ACTION)
    .option('--json', 'print JSON')
    .action(
      run(async ({ connect, screen }, given: string, { json }: { json?: true }) => {
        const { gantry } = await connect()
        const params = { path: { id: await findActionId(gantry, given) } }
        const found = await gantry.get('/actions/{id}/notifications', { params })
        if (json) screen.json(found)
        else printTable(screen, found, NOTIFICATIONS, 'No notifications yet.')
      }),
    )
  examples(
    command,
    ['gantry notifications 42', 'whether everybody knows how run #42 ended'],
    [
      'gantry notifications 42 --json | jq \'.[] | select(.state != "delivered")\'',
      'what is not delivered, with the reason',
    ],
  )
}
