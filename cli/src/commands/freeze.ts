// Freezes: nothing starts in an environment, or in a whole organization.
import type { components, Gantry } from '@gantry/client'
import { choose, confirm } from '../ask.ts'
import type { Cli } from '../cli.ts'
import { examples, type Register, run } from '../command.ts'
import { Failure, usage } from '../ending.ts'
import { EXIT } from '../exit-codes.ts'
import { findUnambiguous, type Named } from '../names.ts'
import { plain } from '../screen.ts'
import { oneLine } from '../table.ts'
import { parseSeconds } from '../times.ts'

type Where = Named & { called: string }
type Freeze = components['schemas']['Freeze']
type FreezeOptions = { reason: string; name: string; until?: string; json?: true }
type UnfreezeOptions = { name?: string; yes?: true; json?: true }

const SCOPE =
  'an environment such as shop/production, also as acme/shop/production or environment-7, or an organization'

const findScope = (gantry: Gantry, given: string) =>
  findUnambiguous(gantry, ['environment', 'organization'], given)

export const freeze: Register = (program) => {
  const command = program
    .command('freeze')
    .description('stop the line: nothing starts there until you unfreeze it')
    .argument('<where>', SCOPE)
    .requiredOption('--reason <text>', 'why, for everyone whose runs wait')
    .option('--name <name>', 'what to call it', 'Stop the line')
    .option('--until <time>', 'when it ends by itself: 90m, 4h, 2d, or a time such as 2026-12-27T08:00:00Z')
    .option('--json', 'print JSON')
    .action(
      run(async ({ connect, screen }, given: string, { name, reason, until, json }: FreezeOptions) => {
        const now = Date.now()
        const ends_at = until === undefined ? null : endOf(until, now)
        const { gantry } = await connect()
        const where = await findScope(gantry, given)
        const body = { name, reason, starts_at: new Date(now).toISOString(), ends_at }
        const made = await beginNow(gantry, await create(gantry, where, body))
        if (json) return screen.json(made)
        const end = made.ends_at === null ? '' : ` until ${made.ends_at}`
        screen.print(`${where.called} is frozen${end}: nothing starts there.`)
        screen.note(`To end it: gantry unfreeze ${where.called}`)
      }),
    )
  examples(
    command,
    ['gantry freeze shop/production --reason "Incident 7"', 'nothing starts in this environment'],
    ['gantry freeze acme --reason "Year-end closing" --until 4h', 'for four hours, in a whole organization'],
  )
}

/** '4h' from now on, or the time itself. */
function endOf(until: string, now: number): string {
  const seconds = parseSeconds(until)
  const time = seconds === null ? Date.parse(until) : now + seconds * 1_000
  if (Number.isNaN(time))
    throw usage(`"${until}" is not a time.`, 'Give a time such as 2026-12-27T08:00:00Z, or 90m, 4h, 2d.')
  return new Date(time).toISOString()
}

type FreezeBody = { name: string; reason: string; starts_at: string; ends_at: string | null }

function create(gantry: Gantry, { type, id }: Named, body: FreezeBody): Promise<Freeze> {
  const params = { path: { id: Number(id) } }
  return type === 'organization'
    ? gantry.post('/organizations/{id}/freezes', { params, body })
    : gantry.post('/environments/{id}/freezes', { params, body })
}

/** Where the clock of this machine is ahead of the server's, it would begin late. */
async function beginNow(gantry: Gantry, made: Freeze): Promise<Freeze> {
  if (made.in_force || Date.parse(made.starts_at!) <= Date.parse(made.created_at)) return made
  const params = { path: { id: made.id } }
  return gantry.put('/freezes/{id}', { params, body: { starts_at: made.created_at } })
}

export const unfreeze: Register = (program) => {
  const command = program
    .command('unfreeze')
    .description('end a freeze: the runs that it held start by themselves; asks first')
    .argument('<where>', SCOPE)
    .option('--name <name>', 'which one, if there are several')
    .option('-y, --yes', 'do not ask; without a terminal it never asks')
    .option('--json', 'print the freeze as JSON')
    .action(
      run(async (cli, given: string, options: UnfreezeOptions) => {
        const { gantry } = await cli.connect()
        const where = await findScope(gantry, given)
        const found = await chooseFreeze(
          cli,
          where,
          (await inForce(gantry, where)).filter(isOf(where)),
          options,
        )
        const { screen } = cli
        if (screen.isInteractive && !options.yes && !(await confirm(`End ${describe(found)}?`)))
          throw new Failure('Nothing was changed.', { exit: EXIT.ended })
        await gantry.delete('/freezes/{id}', { params: { path: { id: found.id } } })
        if (options.json) return screen.json(found)
        const left = (await inForce(gantry, where)).map(describe)
        const after =
          left.length > 0 ? `Still frozen by ${left.join(', ')}.` : 'Held runs start by themselves.'
        screen.print(plain(`${describe(found)} is over. ${after}`))
      }),
    )
  examples(command, ['gantry unfreeze shop/production', 'ends the freeze of this environment'])
}

/** Those that hold runs there now; of an environment also those of its organization. */
async function inForce(gantry: Gantry, { type, id }: Named): Promise<Freeze[]> {
  const params = { path: { id: Number(id) } }
  const all: Freeze[] = []
  const list =
    type === 'organization'
      ? gantry.list('/organizations/{id}/freezes', { params })
      : gantry.list('/environments/{id}/freezes', { params })
  for await (const one of list) all.push(one)
  return all.filter(({ in_force }) => in_force)
}

const isOf =
  ({ type }: Named) =>
  ({ environment_id }: Freeze) =>
    type === 'organization' || environment_id !== null

const describe = ({ name, reason }: Freeze) => `"${oneLine(name)}" (${oneLine(reason)})`

async function chooseFreeze(
  { screen }: Cli,
  { called }: Where,
  found: readonly Freeze[],
  { name }: UnfreezeOptions,
): Promise<Freeze> {
  const named = name === undefined ? found : found.filter((one) => one.name === name)
  const [first] = named
  if (!first)
    throw new Failure(
      name === undefined
        ? `${called} itself is not frozen.`
        : `No freeze "${name}" is in force at ${called}.`,
      {
        exit: EXIT.refused,
      },
    )
  if (named.length === 1) return first
  if (!screen.isInteractive)
    throw new Failure(`${called} has ${named.length} freezes. Which one?`, {
      exit: EXIT.refused,
      hint: `Add --name:\n${named.map((one) => `  ${oneLine(one.name)}`).join('\n')}`,
    })
  const choices = named.map((one) => ({ value: String(one.id), label: describe(one) }))
  const id = await choose('Which freeze?', choices)
  return named.find((one) => String(one.id) === id)!
}
