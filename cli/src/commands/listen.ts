import { examples, type Register, run } from '../command.ts'
import { Interrupted, usage } from '../failure.ts'
import { forward } from '../hooks/forward.ts'
import { findNamed } from '../names.ts'
import { plain } from '../screen.ts'

type Options = { forward?: string; json?: true }

export const listen: Register = (program) => {
  const command = program
    .command('listen')
    .description(
      'show the deliveries of an outgoing webhook as they happen, and forward them to this machine',
    )
    .argument(
      '<hook>',
      'a name such as shop/production/web/deploy/chat, the end or beginning of one, or its id',
    )
    .option('--forward <url>', 'send each one here too, with a valid signature')
    .option('--json', 'print one line of JSON per delivery')
    .action(
      run(async (cli, given: string, options: Options) => {
        const { screen, signal } = cli
        const target = options.forward === undefined ? null : parseTarget(options.forward)
        const { gantry } = await cli.connect()
        const { id, path } = await findNamed(gantry, ['outgoing_hook'], given)
        const events = gantry.followDeliveries(String(id), {
          signal,
          onConnect: () =>
            screen.note(`Listening to ${path}${target ? `, forwarding to ${target}` : ''}. Ctrl-C stops.`),
          onReconnect: ({ delayMs }) =>
            screen.note(`The connection was lost. Trying again in ${Math.ceil(delayMs / 1_000)} s.`),
        })
        try {
          for await (const { data } of events) {
            const response = target && (await forward(target, data, signal))
            if (options.json) {
              process.stdout.write(`${JSON.stringify(target ? { ...data, response } : data)}\n`)
              continue
            }
            const run = data.action_id === null ? '' : `  #${data.action_id}`
            const time = new Date(data.created_at).toLocaleTimeString('en-GB')
            screen.print(`${screen.style('dim', time)}  ${plain(data.event ?? 'delivery')}${run}`)
            if (data.is_truncated) screen.print('  The body is larger than 64 KiB; this is its beginning.')
            if (!response) continue
            const isGood = response.status !== null && response.status < 300
            const answer = response.status ?? response.error
            screen.print(
              `  ${screen.style(isGood ? 'green' : 'red', `→ ${answer}`)} (${response.duration_ms} ms)`,
            )
          }
          screen.note(`${path} was removed.`)
        } catch (error) {
          if (!signal.aborted) throw error
          screen.note(`Stopped. ${path} continues to notify its receiver; no delivery is lost.`)
          throw new Interrupted()
        }
      }),
    )
  examples(
    command,
    ['gantry listen web/deploy/chat', 'show them'],
    ['gantry listen web/deploy/chat --forward http://localhost:3000/hooks', 'try a receiver on this machine'],
  )
}

function parseTarget(given: string): string {
  const text = /^[a-z]+:\/\//i.test(given) ? given : `http://${given}`
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw usage(`"${given}" is not an address.`, 'For example: --forward http://localhost:3000/hooks')
  return url.href
}
