import type { components, Gantry } from '@gantry/client'
import type { Command } from 'commander'
import { askSecret } from '../ask.ts'
import type { Cli } from '../cli.ts'
import { every, examples, run } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { exitCodeOf, Failure, usage } from '../failure.ts'
import { exitCodeOfVerdict, explainVerdict } from '../hooks/explain.ts'
import { findHook, HOOK } from '../hooks/find-hook.ts'
import { plain } from '../screen.ts'
import { readFileOrInput } from '../stdin.ts'

type Options = { file?: string; header?: string[]; send?: true; action?: string; json?: true }

export function registerTest(group: Command): void {
  const test = group
    .command('test')
    .description('show what a call would do, or what a delivery would look like; --send makes it')
    .argument('<hook>', HOOK)
    .option('-f, --file <payload.json>', 'the payload of the call; - is stdin')
    .option('-H, --header <name: value>', 'a header of the call, such as X-GitHub-Event: push', every)
    .option('--action <run>', 'outgoing hooks: report this run, such as 42')
    .option('--send', 'really send it: a signed call to the hook, or one delivery to the receiver')
    .option('--json', 'print JSON')
    .action(
      run(async (cli, given: string, options: Options) => {
        const { gantry } = await cli.connect()
        const { id, direction } = await findHook(gantry, given)
        await (direction === 'incoming' ? testCall : testDelivery)(cli, gantry, id, options)
      }),
    )
  examples(
    test,
    ['gantry hook test web/deploy/github -f push.json', 'which condition fails, which values variables get'],
    ['gantry hook test web/deploy/github -f push.json --send', 'signed like the sender would'],
    ['gantry hook test web/deploy/chat --send', 'one delivery of an outgoing hook'],
  )
}

async function testCall(cli: Cli, gantry: Gantry, hook_id: string, options: Options): Promise<void> {
  if (options.file === undefined)
    throw usage('A call has a payload.', 'Pass it with -f payload.json, or on stdin with -f -.')
  const { screen } = cli
  const text = await readFileOrInput(options.file)
  const payload = parsePayload(text, options.file)
  const headers = Object.fromEntries((options.header ?? []).map(parseHeader))
  const params = { path: { hook_id } }
  const [hook, dryRun] = await Promise.all([
    gantry.get('/hooks/incoming/{hook_id}', { params }),
    gantry.post('/hooks/incoming/{hook_id}/dry-run', {
      params,
      body: { headers, sign: true },
      // The payload as it is written: parsing rounds large numbers.
      bodySerializer: (given: object) => `${JSON.stringify(given).slice(0, -1)},"body":${text}}`,
    }),
  ])
  if (options.json && !options.send) screen.json(dryRun)
  if (!options.json) {
    const { conditions = [] } = hook.trigger_when as { conditions?: components['schemas']['HookCondition'][] }
    for (const { text, style } of explainVerdict(dryRun, conditions, payload))
      screen.print(style ? screen.style(style, text) : text)
  }
  if (!options.send) {
    cli.exitCode = exitCodeOfVerdict(dryRun.verdict)
    return
  }
  const call = await completeCall(cli, dryRun.signed_call!)
  const response = await post(hook.url!, call, cli.signal)
  const answer = await response.text()
  if (options.json) process.stdout.write(`${answer}\n`)
  else printAnswer(cli, response.status, answer)
  if (!response.ok) cli.exitCode = exitCodeOf({ status: response.status, code: '' })
}

type Call = { headers: Record<string, string>; body: string; masked_header: string | null }

/** Senders that put the secret itself into a header: only they and the account that set it up know it. */
async function completeCall({ screen }: Cli, { headers, body, masked_header }: Call) {
  if (masked_header === null) return { headers, body }
  if (!screen.isInteractive)
    throw usage(
      `The sender puts the secret itself into ${masked_header}, and Gantry does not show secrets.`,
      'Run it on a terminal, which asks for the secret, or let the sender send a test.',
    )
  const secret = await askSecret(`Secret of the hook, for the header ${masked_header}`)
  return { headers: { ...headers, [masked_header]: secret }, body }
}

async function post(
  url: string,
  { headers, body }: { headers: Record<string, string>; body: string },
  signal: AbortSignal,
) {
  try {
    return await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' })
  } catch (error) {
    if (signal.aborted) throw error
    throw new Failure(`${new URL(url).origin} is unreachable from here.`, {
      exit: EXIT.unreachable,
      hint: 'It is where the hook says that senders call it: the GANTRY_URL of the instance.',
    })
  }
}

function printAnswer({ screen }: Cli, status: number, text: string): void {
  const answer = parseAnswer(text)
  const line = `→ ${status} ${plain(answer.message ?? text.slice(0, 200))}`
  screen.print(screen.style(status < 400 ? 'green' : 'red', line))
  if (answer.action_id)
    screen.note(`Run #${answer.action_id}. Follow it with \`gantry watch ${answer.action_id}\`.`)
}

function parseAnswer(text: string): { message?: string; action_id?: number } {
  try {
    const { message, action_id } = JSON.parse(text)
    return {
      ...(typeof message === 'string' && { message }),
      ...(Number.isInteger(action_id) && { action_id }),
    }
  } catch {
    return {}
  }
}

async function testDelivery(cli: Cli, gantry: Gantry, hook_id: string, options: Options): Promise<void> {
  const { screen } = cli
  if (options.file !== undefined || options.header !== undefined)
    throw usage('What an outgoing hook sends is in its settings.', 'Leave -f and -H out.')
  const given = options.action === undefined ? undefined : Number(options.action.replace(/^#/, ''))
  const body = given === undefined ? {} : { action_id: given }
  const params = { path: { hook_id } }
  if (!options.send) {
    const preview = await gantry.post('/hooks/outgoing/{hook_id}/preview', { params, body })
    if (options.json) return screen.json(preview)
    const { method, url, headers, unmet_condition, receiver } = preview
    screen.print(plain(`${method} ${url}`))
    for (const [name, value] of Object.entries(headers)) screen.print(plain(`${name}: ${value}`))
    screen.print(`\n${plain(preview.body ?? '')}`)
    if (unmet_condition !== null)
      screen.note(`\nNot sent for this run: the condition on ${plain(unmet_condition)} is not met.`)
    if (!receiver.allowed) screen.note(`\n${plain(receiver.message)}`)
    screen.note('\nNothing was sent. --send sends it once.')
    return
  }
  const record = await gantry.post('/hooks/outgoing/{hook_id}/test', { params, body })
  const isDelivered = record.outcome === 'delivered'
  cli.exitCode = isDelivered ? EXIT.completed : EXIT.failed
  if (options.json) return screen.json(record)
  const answer = record.response_status_code ?? record.outcome.replaceAll('_', ' ')
  const line = `${isDelivered ? '✓' : '✗'} ${record.method} ${record.url} → ${answer} (${record.duration_ms ?? 0} ms)`
  screen.print(screen.style(isDelivered ? 'green' : 'red', plain(line)))
  if (record.error) screen.print(`  ${plain(record.error)}`)
}

function parsePayload(text: string, file: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw usage(`${file} is not JSON: ${(error as Error).message}.`)
  }
}

function parseHeader(given: string): [string, string] {
  const at = given.indexOf(':')
  if (at < 1) throw usage(`--header takes "name: value", not "${given}".`)
  return [given.slice(0, at).trim(), given.slice(at + 1).trim()]
}
