import { confirm } from '../ask.ts'
import { examples, type Register, run } from '../command.ts'
import { describeChanges, summaryOf } from '../document/diff.ts'
import { documentFailure } from '../document/problems.ts'
import { EXIT } from '../exit-codes.ts'
import { Failure, usage } from '../failure.ts'
import { findProject } from '../find-project.ts'
import { plain, type Screen } from '../screen.ts'
import { readFileOrInput } from '../stdin.ts'
import { allowOverwrite, writeText } from '../write-file.ts'

type ApplyOptions = {
  file: string
  envFile?: string
  dryRun?: true
  prune?: true
  yes?: true
  json?: true
}

export const apply: Register = (program) => {
  const command = program
    .command('apply')
    .description('make the instance match a gantry.yaml; shows what changes, and asks')
    .option('-f, --file <file>', 'the file; - is stdin', 'gantry.yaml')
    .option(
      '--env-file <file>',
      'take the values of its placeholders from this file, then from the environment',
    )
    .option('--dry-run', 'only show what would change')
    .option('--prune', 'also remove what is in the project but not in the file')
    .option('-y, --yes', 'do not ask')
    .option('--json', 'print JSON; needs --yes or --dry-run')
    .action(
      run(async (cli, { file, envFile, dryRun, prune, yes, json }: ApplyOptions) => {
        const { screen } = cli
        if (!yes && !dryRun && (json || !screen.isInteractive))
          throw usage(
            'Confirming needs a terminal.',
            'Use --yes to apply without confirming, or --dry-run to see what would change.',
          )
        const document = await readFileOrInput(file, 'Write one with `gantry init`, or name one with -f.')
        const { gantry } = await cli.connect()
        const { collectValues } = await import('../document/values.ts')
        const values = await collectValues(cli, { text: document, file }, envFile)
        const send = (dry_run: boolean) =>
          gantry
            .post('/apply', { body: { document, values, dry_run, prune: prune === true } })
            .catch((error: unknown) => {
              throw documentFailure(error, file)
            })

        const first = await send(!yes || dryRun === true)
        if (json) return screen.json(first)
        printChanges(screen, first)
        if (dryRun || first.changes.length === 0) return
        if (!yes && !(await confirm('Apply these changes?')))
          throw new Failure('Nothing was changed.', { exit: EXIT.ended })
        const applied = yes ? first : await send(false)
        const { printNewHooks, printNewKeys, printNextStep } = await import('../document/after-apply.ts')
        screen.note(`Applied: ${summaryOf(applied.changes, { isDone: true })}`)
        await printNewHooks(screen, gantry, applied)
        await printNewKeys(screen, gantry, applied, document)
        printNextStep(screen, applied)
      }),
    )
  examples(
    command,
    ['gantry apply', 'shows what changes, and asks'],
    ['gantry apply --env-file production.env --yes', 'in CI, with secrets from a file'],
    ['gantry apply --dry-run --prune', 'what would be removed'],
  )
}

type Applied = {
  dry_run: boolean
  changes: Parameters<typeof describeChanges>[0]
  stopped_hooks: { name: string; origins: string[] }[]
}

function printChanges(screen: Screen, { dry_run, changes, stopped_hooks }: Applied): void {
  for (const { text, style } of describeChanges(changes))
    screen.print(style ? screen.style(style, text) : text)
  for (const { name, origins } of stopped_hooks)
    screen.note(`Stops the hook ${name}, which sends the token to ${origins.join(' and ')}.`)
  if (changes.length === 0) screen.note('Nothing to change.')
  else if (dry_run) screen.note(summaryOf(changes, { isDone: false }))
}

type ExportOptions = { output?: string; force?: true }

export const exportProject: Register = (program) => {
  const command = program
    .command('export')
    .description('write a project as a gantry.yaml, with placeholders for secrets')
    .argument('[project]', 'its name, or that of an organization with one project')
    .option('-o, --output <file>', 'write it to this file')
    .option('--force', 'overwrite the file')
    .action(
      run(async (cli, given: string | undefined, { output, force }: ExportOptions) => {
        const { gantry } = await cli.connect()
        const { name: project, organization } = await findProject(gantry, given)
        if (output !== undefined) await allowOverwrite(cli, output, force === true)
        const params = { path: { id: organization.id }, query: { project } }
        const text = await gantry.get('/organizations/{id}/export', { params, parseAs: 'text' })
        if (output === undefined) return cli.screen.print(plain(text.trimEnd()))
        await writeText(output, text)
        cli.screen.note(
          `Wrote ${output}. Commands and headers are in it as they are: review it before you share it.`,
        )
      }),
    )
  examples(command, ['gantry export shop -o gantry.yaml', 'to keep it next to the source'])
}
