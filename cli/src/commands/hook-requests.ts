// What came in and went out: the recorded calls and deliveries of a webhook.
import type { Command } from 'commander'
import { kindSuffix } from '../actions.ts'
import { run } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { usage } from '../failure.ts'
import { findHook, HOOK } from '../hooks/find-hook.ts'
import { plain } from '../screen.ts'
import { printTable } from '../table.ts'
import { ago } from '../times.ts'
import { collect } from '../walk.ts'

export function registerRequests(group: Command): void {
  group
    .command('requests')
    .description('list the calls of an incoming hook, or the deliveries of an outgoing one')
    .argument('<hook>', HOOK)
    .option('--limit <number>', 'how many, newest first', '20')
    .option('--json', 'print JSON')
    .action(
      run(async ({ connect, screen }, given: string, { limit, json }: { limit: string; json?: true }) => {
        const count = Number(limit)
        if (!Number.isInteger(count) || count < 1)
          throw usage(`--limit takes a whole number, not "${limit}".`)
        const { gantry } = await connect()
        const { id, direction } = await findHook(gantry, given)
        const params = { path: { hook_id: id }, query: { per_page: Math.min(count, 100) } }
        const rows = await collect(
          direction === 'incoming'
            ? gantry.list('/hooks/incoming/{hook_id}/requests', { params })
            : gantry.list('/hooks/outgoing/{hook_id}/requests', { params }),
          count,
        )
        if (json) return screen.json(rows)
        printTable(
          screen,
          rows,
          [
            { title: 'request', text: (row) => row.id },
            {
              title: 'when',
              text: ({ created_at }) => (screen.isTerminal ? ago(created_at) : created_at),
            },
            {
              title: 'outcome',
              text: ({ outcome }) => outcome.replaceAll('_', ' '),
              style: ({ outcome }) => (GOOD.includes(outcome) ? undefined : 'red'),
            },
            { title: 'status', text: (row) => String(row.response_status_code ?? '') },
            {
              title: 'run',
              text: ({ action_id, deployment_type }) =>
                action_id === null ? '' : `#${action_id}${kindSuffix(deployment_type)}`,
            },
            { title: 'error', text: ({ error }) => error ?? '' },
          ],
          direction === 'incoming' ? 'No calls yet.' : 'No deliveries yet.',
        )
      }),
    )

  group
    .command('replay')
    .description('process a recorded call again, or send a recorded delivery again')
    .argument('<request>', 'its id, as `gantry hook requests` shows it')
    .option('--json', 'print JSON')
    .action(
      run(async (cli, id: string, { json }: { json?: true }) => {
        if (!/^[0-9a-f-]{36}$/i.test(id))
          throw usage(`"${id}" is not the id of a request.`, '`gantry hook requests <hook>` lists them.')
        const { gantry } = await cli.connect()
        const params = { path: { id } }
        const { type } = await gantry.get('/hook-requests/{id}', { params })
        const answer = await gantry.post('/hook-requests/{id}/replay', { params })
        const hasStarted = type === 'incoming' && answer.action_id !== null
        if (type === 'incoming' && !hasStarted) cli.exitCode = EXIT.ended
        if (json) return cli.screen.json(answer)
        cli.screen.print(plain(answer.message))
        if (hasStarted)
          cli.screen.note(`Run #${answer.action_id}. Follow it with \`gantry watch ${answer.action_id}\`.`)
      }),
    )
}

const GOOD = ['accepted', 'duplicate', 'ping', 'checks', 'ignored', 'delivered', 'superseded']
