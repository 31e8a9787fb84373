import { examples, type Register } from '../command.ts'
import { NOTIFICATIONS } from '../runs/notifications.ts'
import { printTable } from '../table.ts'
import { showOfAction } from './list-and-show.ts'

export const notifications: Register = (program) => {
  const command = showOfAction(
    program,
    'notifications',
    'show who was notified about a run, and what services such as GitHub show',
    {
      read: (gantry, id) => gantry.get('/actions/{id}/notifications', { params: { path: { id } } }),
      print: (screen, found) => printTable(screen, found, NOTIFICATIONS, 'No notifications yet.'),
    },
  )
  examples(
    command,
    ['gantry notifications 42', 'whether all receivers got the result of run #42'],
    [
      'gantry notifications 42 --json | jq \'.[] | select(.state != "delivered")\'',
      'what is not delivered, with the reason',
    ],
  )
}
