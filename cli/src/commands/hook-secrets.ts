// Replacing and setting the secret of a webhook.
import type { Command } from 'commander'
import { askSecret } from '../ask.ts'
import { examples, run } from '../command.ts'
import { usage } from '../failure.ts'
import { findHook, HOOK } from '../hooks/find-hook.ts'
import { readInput } from '../stdin.ts'
import { parseSeconds } from '../times.ts'

export function registerSecrets(group: Command): void {
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
