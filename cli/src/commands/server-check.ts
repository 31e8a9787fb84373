import type { Command } from 'commander'
import { run } from '../command.ts'
import { printDetails } from '../details.ts'
import { EXIT } from '../exit-codes.ts'
import { findNamed } from '../names.ts'
import { plain } from '../screen.ts'

type Options = { pinHostKey?: true; json?: true }

export function registerCheck(group: Command): void {
  group
    .command('check')
    .description('connect to a server and see whether pipelines can run there')
    .argument(
      '<server>',
      "a name such as shop/production/web-1, the end or beginning of one, or its id as '#7'",
    )
    .option('--pin-host-key', 'pin the key that the host presents, if none is pinned yet')
    .option('--json', 'print JSON')
    .action(
      run(async (cli, given: string, { pinHostKey, json }: Options) => {
        const { gantry } = await cli.connect()
        const { id, path } = await findNamed(gantry, ['server'], given)
        const check = await gantry.post('/servers/{id}/check', {
          params: { path: { id: Number(id) } },
          body: { pin_host_key: pinHostKey ?? false },
        })
        if (!check.ok) cli.exitCode = EXIT.failed
        if (json) return cli.screen.json(check)
        cli.screen.print(
          `${check.ok ? cli.screen.style('green', '✓') : cli.screen.style('red', '✗')} ${path}: ${plain(check.message)}`,
        )
        printDetails(cli.screen, [
          ['User', check.user],
          [
            'Host key',
            check.host_key_fingerprint && `${check.host_key_fingerprint}${check.pinned ? ' (pinned)' : ''}`,
          ],
          [
            'Free disk',
            check.free_disk_bytes === null ? null : `${(check.free_disk_bytes / 2 ** 30).toFixed(1)} GiB`,
          ],
        ])
      }),
    )
}
