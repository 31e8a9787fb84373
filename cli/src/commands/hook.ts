import { askSecret } from '../ask.ts'
import { examples, type Register, run } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { usage } from '../failure.ts'
import { findHook, HOOK } from '../hooks/find-hook.ts'
import { plain } from '../screen.ts'
import { readInput } from '../stdin.ts'
import { printTable } from '../table.ts'
import { ago, parseSeconds } from '../times.ts'
import { collect } from '../walk.ts'
import { registerCreate } from './hook-create.ts'
import { registerTest } from './hook-test.ts'

export const hook: Register = (program) => {
  const group = program.command('hook').description('create, test and replay webhooks')

  registerCreate(group)
  registerTest(group)

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
            { title: 'run', text: ({ action_id }) => (action_id === null ? '' : `#${action_id}`) },
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

  group
    .command('rotate')
    .description('replace the secret of a webhook; prints the new one once')
    .argument('<hook>', HOOK)
    .option('--overlap <duration>', 'for how long the old one stays valid, such as 30m, 24h or 0', '24h')
    .option('--json', 'print JSON')
    .action(
      run(async ({ connect, screen }, given: string, options: { overlap: string; json?: true }) => {
        const overlap_seconds = parseSeconds(options.overlap)
        if (overlap_seconds === null)
          throw usage(`--overlap takes a duration such as 30m or 24h, not "${options.overlap}".`)
        const { gantry } = await connect()
        const { id, direction, path } = await findHook(gantry, given)
        const init = { params: { path: { hook_id: id } }, body: { overlap_seconds } }
        const rotated =
          direction === 'incoming'
            ? await gantry.post('/hooks/incoming/{hook_id}/rotate-secret', init)
            : await gantry.post('/hooks/outgoing/{hook_id}/rotate-secret', init)
        if (options.json) return screen.json(rotated)
        screen.print(rotated.secret ?? '')
        screen.note(`The new secret of ${path}. Copy it now; it won't be shown again.`)
        screen.note(
          overlap_seconds === 0
            ? 'The old one is no longer valid.'
            : `Enter it at the ${direction === 'incoming' ? 'sender' : 'receiver'} within ${options.overlap}; until then both are valid.`,
        )
      }),
    )

  const secret = group
    .command('secret')
    .description('set the secret that a sender has generated; asks for it, or reads stdin')
    .argument('<hook>', HOOK)
    .action(
      run(async (cli, given: string) => {
        const { gantry } = await cli.connect()
        const { id, direction, path } = await findHook(gantry, given)
        if (direction === 'outgoing')
          throw usage('Gantry generates the secrets of outgoing hooks.', 'See `gantry hook rotate`.')
        const value = cli.screen.isInteractive ? await askSecret(`Secret of ${path}`) : await readInput()
        const params = { path: { hook_id: id } }
        await gantry.put('/hooks/incoming/{hook_id}', { params, body: { secret: value.trim() } })
        cli.screen.note(`Calls to ${path} are now checked with this secret.`)
      }),
    )
  examples(secret, ['gantry hook secret web/deploy/stripe < secret.txt', 'the one that Stripe shows'])
}

const GOOD = ['accepted', 'duplicate', 'ping', 'ignored', 'delivered', 'superseded']
