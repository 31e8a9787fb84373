import { slugifyAnyScript as slug } from '@gantry/client/slug'
import type { Command } from 'commander'
import { askSecret, askText } from '../ask.ts'
import type { Cli } from '../cli.ts'
import { examples, type Register, run } from '../command.ts'
import { readEnvFile } from '../env-file.ts'
import { EXIT } from '../exit-codes.ts'
import { Failure, usage } from '../failure.ts'
import { findNamed, nearest } from '../names.ts'
import { readInput } from '../stdin.ts'
import { printTable } from '../table.ts'
import { ago } from '../times.ts'
import { collect } from '../walk.ts'

type SetOptions = { hidden?: true; envFile?: string }

export const variables: Register = (program) => {
  const group = program.command('variables').description('environment variables of an application')
  const verb = (name: string, description: string): Command =>
    group
      .command(name)
      .description(description)
      .argument(
        '<application>',
        "a name such as shop/production/web, the end or beginning of one, or its id as '#7'",
      )

  verb('ls', 'list the variables of an application; hidden values are masked')
    .option('--json', 'print JSON')
    .action(
      run(async (cli, application: string, { json }: { json?: true }) => {
        const { rows } = await open(cli, application)
        if (json) return cli.screen.json(rows)
        printTable(
          cli.screen,
          rows.toSorted((one, other) => (one.name < other.name ? -1 : 1)),
          [
            { title: 'name', text: ({ name }) => name },
            { title: 'value', text: ({ value }) => value },
            { title: 'hidden', text: ({ hidden }) => (hidden ? 'hidden' : '') },
            {
              title: 'changed',
              text: ({ updated_at }) => (cli.screen.isTerminal ? ago(updated_at) : updated_at),
            },
          ],
          'No variables.',
        )
      }),
    )

  const set = verb('set', 'create or change variables; runs that start later get them')
    .argument('[variables...]', 'NAME=value; NAME alone asks for the value, or takes it from stdin')
    .option('--hidden', 'never show the values again, and mask them in logs')
    .option('--env-file <file>', 'take the values from a file of NAME=value lines; all, or those named')
    .action(
      run(async (cli, application: string, given: string[], { hidden, envFile }: SetOptions) => {
        const wanted = await collectValues(cli, given, { hidden, envFile })
        const { gantry, id, rows } = await open(cli, application)
        for (const [name, value] of wanted) {
          const existing = rows.find((row) => row.name === name)
          // A hidden one stays hidden.
          const body = { value, ...(hidden && { hidden }) }
          if (existing)
            await gantry.put('/applications/{id}/variables/{variable_id}', {
              params: { path: { id, variable_id: existing.id } },
              body,
            })
          else
            await gantry.post('/applications/{id}/variables', {
              params: { path: { id } },
              body: { name, ...body },
            })
          cli.screen.note(`${existing ? 'Changed' : 'Created'} ${name}.`)
        }
      }),
    )
  examples(
    set,
    ['gantry variables set shop/production/web NODE_ENV=production', 'shown to everyone who can edit'],
    ['gantry variables set web DATABASE_PASSWORD --hidden', 'asks for the value'],
    ['gantry variables set web --hidden --env-file .env', 'everything in a file'],
  )

  verb('unset', 'remove variables from an application')
    .argument('<names...>', 'their names')
    .action(
      run(async (cli, application: string, names: string[]) => {
        const { gantry, id, rows } = await open(cli, application)
        const found = names.map((name) => rows.find((row) => row.name === name) ?? unknown(name, rows))
        for (const { id: variable_id, name } of found) {
          const params = { path: { id, variable_id } }
          await gantry.delete('/applications/{id}/variables/{variable_id}', { params })
          cli.screen.note(`Removed ${name}.`)
        }
      }),
    )
}

async function open({ connect }: Cli, application: string) {
  const { gantry } = await connect()
  const id = Number((await findNamed(gantry, ['application'], application)).id)
  const rows = await collect(gantry.list('/applications/{id}/variables', { params: { path: { id } } }))
  return { gantry, id, rows }
}

function unknown(name: string, rows: readonly { name: string }[]): never {
  const near = nearest(
    rows.map((row) => ({ path: slug(row.name), name: row.name })),
    name,
  ).map((row) => row.name)
  throw new Failure(`There is no variable ${name}.`, {
    exit: EXIT.refused,
    hint: near.length > 0 ? `Did you mean: ${near.join(', ')}?` : 'The application has no variables.',
  })
}

/** Hidden values come from a file, a prompt or stdin: others can read the arguments of commands. */
async function collectValues(
  { screen }: Cli,
  given: readonly string[],
  { hidden, envFile }: SetOptions,
): Promise<Map<string, string>> {
  const file = envFile === undefined ? undefined : await readEnvFile(envFile)
  if (file && given.length === 0) return file
  const values = new Map<string, string>()
  const missing: string[] = []
  for (const text of given) {
    const at = text.indexOf('=')
    const name = at === -1 ? text : text.slice(0, at)
    if (at !== -1 && hidden)
      throw usage(
        `The value of ${name} is visible in your shell history and in process lists.`,
        `Leave it out: \`gantry variables set … ${name} --hidden\` asks for it, or takes it from stdin.`,
      )
    const value = at === -1 ? file?.get(name) : text.slice(at + 1)
    if (value === undefined) missing.push(name)
    else values.set(name, value)
  }
  if (values.size === 0 && missing.length === 0)
    throw usage('Name at least one variable.', 'For example NODE_ENV=production, or use --env-file.')
  if (file && missing.length > 0) throw usage(`${envFile} has no ${missing.join(', ')}.`)
  if (missing.length > 1 && !screen.isInteractive)
    throw usage(
      `The values of ${missing.join(', ')} are missing.`,
      'Only one can come from stdin. Use NAME=value, or --env-file.',
    )
  for (const name of missing) {
    const value = screen.isInteractive
      ? await (hidden ? askSecret(name) : askText(name))
      : (await readInput()).replace(/\r?\n$/, '')
    if (value === '') throw usage(`There is no value for ${name} on stdin.`, `${name}= sets an empty one.`)
    values.set(name, value)
  }
  return values
}
