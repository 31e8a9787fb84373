// Senders and receivers that the instance knows, each with the hook that it needs: see GET /catalog/senders.
import { type components, entrySteps, type Gantry } from '@gantry/client'
import { askSecret, askText } from './ask.ts'
import type { Cli } from './cli.ts'
import { usage } from './failure.ts'
import { type Flag, flagOf, quoted } from './hooks/field-flags.ts'
import { nearest } from './names.ts'
import { plain } from './screen.ts'
import { readInput } from './stdin.ts'

type Schemas = components['schemas']
export type Sender = Schemas['CatalogSender']
export type Receiver = Schemas['CatalogReceiver']
export type Entry = Sender | Receiver
type Field = Entry['fields'][number]

export type Catalog = 'senders' | 'receivers'

export const readCatalog = (gantry: Gantry, catalog: Catalog): Promise<Entry[]> =>
  gantry.get(catalog === 'senders' ? '/catalog/senders' : '/catalog/receivers')

export function findEntry<One extends Entry>(entries: readonly One[], given: string): One {
  const wanted = given.toLowerCase().replaceAll('-', '_')
  const exact = entries.find(({ code }) => code === wanted)
  const started = entries.filter(({ code }) => code.startsWith(wanted))
  const found = exact ?? (started.length === 1 ? started[0] : undefined)
  if (found) return found
  const [near] = nearest(
    entries.map(({ code }) => ({ path: code })),
    given,
  )
  throw usage(
    `Unknown: "${given}".`,
    `Did you mean ${near?.path}? Known: ${entries.map(({ code }) => code).join(', ')}.`,
  )
}

/** What to do at the service, with the URL and the secret of the hook; lines that need what is missing stay generic. */
export function instructionsFor(entry: Entry, values: Record<string, string | null>): string[] {
  return entrySteps(entry, values).map((step, index) => `  ${index + 1}. ${plain(step)}`)
}

/** A value of a field; `as` is how it was given: `--channel`, or `--field channel`. */
export type GivenField = { name: string; value: string; as: string }

/** `--field name=value`. */
export function parseField(text: string): GivenField {
  const at = text.indexOf('=')
  // Never the text, which may be a secret.
  if (at < 1) throw usage('--field takes name=value.')
  const name = text.slice(0, at)
  return { name, value: text.slice(at + 1), as: `--field ${name}` }
}

/** `--environment-url https://…` is the value of the field `environment_url`, if the entry has one. */
export function nameFlag({ fields, code }: Entry, [flag, value]: Flag): GivenField {
  const field = fields.find(({ name }) => flagOf(name) === flag)
  if (!field) throw usage(`${code} has no option ${flag}.`, listOptions(fields, code))
  if (value === undefined) throw usage(`${flag} needs a value.`)
  return { name: field.name, value, as: flag }
}

const listOptions = (fields: readonly Field[], code: string) =>
  `Options of ${code}: ${fields.map(({ name }) => flagOf(name)).join(', ') || 'none'}.`

/**
 * The values of the fields: given as flags, asked for on a terminal, or the defaults. Hidden ones are not taken from
 * the command line, where others can read them: `-` takes one from stdin.
 */
export async function collectFields(
  { screen }: Pick<Cli, 'screen'>,
  { fields, code }: Entry,
  given: readonly GivenField[],
): Promise<Record<string, string>> {
  const values = await readFields(fields, code, given)
  for (const field of fields) {
    const { name, label, description, required, default_value, example, hidden } = field
    if (values[name] !== undefined) continue
    if (screen.isInteractive) {
      const question = `${label}: ${description}`
      const isOptional = !required
      const answer = hidden
        ? await askSecret(question, { isOptional })
        : await askText(question, default_value ?? '', { isOptional })
      if (answer !== '') values[name] = answer
    } else if (default_value !== null) values[name] = default_value
    else if (required)
      throw usage(
        `${label} is missing. ${description}`,
        hidden
          ? `Pass it on stdin with ${flagOf(name)} -`
          : `For example: ${flagOf(name)} ${quoted(example ?? '…')}`,
      )
  }
  return values
}

async function readFields(fields: readonly Field[], code: string, given: readonly GivenField[]) {
  const values: Record<string, string> = {}
  for (const { name, value, as } of given) {
    const field = fields.find((one) => one.name === name)
    if (!field) throw usage(`${code} has no field "${name}".`, listOptions(fields, code))
    if (values[name] !== undefined) throw usage(`${field.label} was given twice.`)
    if (field.hidden && value !== '-')
      throw usage(
        `${field.label} is a secret, which others can read on the command line.`,
        `Pass it on stdin with ${as.startsWith('--field') ? `${as}=-` : `${as} -`}`,
      )
    values[name] = value === '-' ? (await readInput()).trim() : value
  }
  return values
}
