// Connecting a webhook to its repository: Gantry creates it at the host, repairs it, or removes it there.
import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import { examples, run } from '../command.ts'
import { printDetails } from '../details.ts'
import { EXIT } from '../exit-codes.ts'
import { usage } from '../failure.ts'
import { findHook, HOOK } from '../hooks/find-hook.ts'
import { plain } from '../screen.ts'

const WAIT_MS = 60_000
const ASK_EVERY_MS = 500

type Options = { events?: string[]; json?: true }

export function registerConnect(group: Command): void {
  const connect = group
    .command('connect')
    .description("create the webhook at the repository's host, or repair it")
    .argument('<hook>', HOOK)
    .option(
      '--events <names...>',
      'the events to subscribe to, as the API of the host names them (default: pushes)',
    )
    .option('--json', 'print JSON')
    .action(
      run(async (cli, given: string, { events, json }: Options) => {
        const { gantry } = await cli.connect()
        const { id, path } = await findIncoming(gantry, given)
        const params = { path: { hook_id: id } }
        let hook = await gantry.post('/hooks/incoming/{hook_id}/connection', {
          params,
          body: events ? { events } : {},
        })
        const deadline = Date.now() + WAIT_MS
        while (hook.connection?.state === 'connecting' && Date.now() < deadline) {
          await delay(ASK_EVERY_MS)
          hook = await gantry.get('/hooks/incoming/{hook_id}', { params })
        }
        const { connection } = hook
        if (connection?.state !== 'connected') cli.exitCode = EXIT.failed
        if (json) return cli.screen.json(hook)
        if (!connection) return cli.screen.print(`${path} was disconnected meanwhile.`)
        const isConnected = connection.state === 'connected'
        const mark = isConnected ? cli.screen.style('green', '✓') : cli.screen.style('red', '✗')
        cli.screen.print(
          `${mark} ${path}: ${connection.state}${connection.problem ? `. ${plain(connection.problem)}` : ''}`,
        )
        printDetails(cli.screen, [
          ['Repository', `${plain(connection.repository)} (${connection.provider})`],
          ['Events', connection.events.join(', ')],
          ['Settings', connection.settings_url],
        ])
      }),
    )
  examples(connect, ['gantry hook connect web/deploy/push', "with the token of the application's credential"])

  group
    .command('disconnect')
    .description("remove the webhook at the repository's host; the hook stays")
    .argument('<hook>', HOOK)
    .action(
      run(async ({ connect, screen }, given: string) => {
        const { gantry } = await connect()
        const { id, path } = await findIncoming(gantry, given)
        await gantry.delete('/hooks/incoming/{hook_id}/connection', { params: { path: { hook_id: id } } })
        screen.note(`${path} is disconnected; its webhook is being removed at the host.`)
      }),
    )
}

async function findIncoming(gantry: Parameters<typeof findHook>[0], given: string) {
  const hook = await findHook(gantry, given)
  if (hook.direction === 'outgoing') throw usage('Only incoming hooks can be connected to a repository.')
  return hook
}
