// Senders and receivers that the instance knows, each with the hook that it needs: see GET /catalog/senders.
import { type components, entrySteps } from '@gantry/client'
import { askSecret, askText } from './ask.ts'
import type { Cli } from './cli.ts'
import { usage } from './failure.ts'
import { nearest } from './names.ts'
import { plain } from './screen.ts'
import { readInput } from './stdin.ts'

type Schemas = components['schemas']
export type Sender = Schemas['CatalogSender']
export type Receiver = Schemas['CatalogReceiver']
export type Entry = Sender | Receiver
type Field = Entry['fields'][number]

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
    `"${given}" is not known here.`,
    `Did you mean ${near?.path}? Known: ${entries.map(({ code }) => code).join(', ')}.`,
  )
}

/** What to do at the service, with the URL and the secret of the hook; lines that need what is missing stay generic. */
export function instructionsFor(entry: Entry, values: Record<string, string | null>): string[] {
  return entrySteps(entry, values).map((step, index) => `  ${index + 1}. ${plain(step)}`)
}

/**
 * The values of the fields: given with `--field`, asked for on a terminal, or the defaults. Hidden ones are not taken
 * from the command line, where others can read them: `name=-` takes one from stdin.
 */
export async function collectFields(
  { screen }: Pick<Cli, 'screen'>,
  { fields, code }: Entry,
  given: readonly string[],
): Promise<Record<string, string>> {
  const values = await parseFields(fields, code, given)
  for (const field of fields) {
    const { name, label, description, required, default_value, example, hidden } = field
    if (values[name] !== undefined) continue
    if (screen.isInteractive) {
      const question = `${label}: ${description}`
      const answer = hidden
        ? await askSecret(question, { isOptional: !required })
        : required
          ? await askText(question, default_value ?? '')
          : (default_value ?? '')
      if (answer !== '') values[name] = answer
    } else if (default_value !== null) values[name] = default_value
    else if (required)
      throw usage(
        `${label} is missing. ${description}`,
        hidden ? `Pass it on stdin with --field ${name}=-` : `For example: --field ${name}=${example ?? '…'}`,
      )
  }
  return values
}

async function parseFields(fields: readonly Field[], code: string, given: readonly string[]) {
  const values: Record<string, string> = {}
  for (const text of given) {
    const at = text.indexOf('=')
    const name = text.slice(0, Math.max(at, 0))
    const field = fields.find((one) => one.name === name)
    if (!field)
      throw usage(
        // Never the value, which may be a secret.
        at < 1 ? '--field takes name=value.' : `${code} has no field "${name}".`,
        `Fields of ${code}: ${fields.map((one) => one.name).join(', ') || 'none'}.`,
      )
    const value = text.slice(at + 1)
    if (field.hidden && value !== '-')
      throw usage(
        `${field.label} is a secret, which others can read on the command line.`,
        `Pass it on stdin with --field ${name}=-`,
      )
    values[name] = value === '-' ? (await readInput()).trim() : value
  }
  return values
}
