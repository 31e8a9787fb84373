import type { Gantry } from '@gantry/client'
import { Argument } from 'commander'
import { findEntry, readCatalog } from '../catalog.ts'
import { examples, type Register, run } from '../command.ts'
import { complete, SCRIPTS, SHELLS } from '../completion.ts'
import { flagOf } from '../hooks/field-flags.ts'
import { readNames } from '../names.ts'
import { findPipeline } from '../runs/find.ts'
import { rollbackNames } from './releases.ts'

const TIMEOUT_MS = 1_500

export const completion: Register = (program) => {
  const command = program
    .command('completion')
    .description('print a script that completes commands and names in your shell')
    .addArgument(new Argument('<shell>', SHELLS.join(', ')).choices([...SHELLS]))
    .action(
      run(async ({ screen }, shell: (typeof SHELLS)[number]) => {
        screen.print(SCRIPTS[shell].trimEnd())
      }),
    )
  examples(
    command,
    ["echo 'source <(gantry completion bash)' >> ~/.bashrc", 'bash'],
    ["echo 'source <(gantry completion zsh)' >> ~/.zshrc", 'zsh, after compinit'],
    ['gantry completion fish > ~/.config/fish/completions/gantry.fish', 'fish'],
  )
  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .helpOption(false)
    .action(
      run(async (cli, given: string[]) => {
        const typed = given.at(-1) ?? ''
        const wanted = complete(program, given)
        const names = isAskedFor(wanted) ? await inTime(cli, (gantry) => namesFor(gantry, wanted)) : []
        const { words } = wanted
        for (const word of [...words, ...names]) if (word.startsWith(typed)) cli.screen.print(word)
      }),
    )
}

/** Silent: somebody who presses Tab wants suggestions or nothing. */
async function inTime(
  cli: Parameters<Parameters<typeof run>[0]>[0],
  read: (gantry: Gantry) => Promise<string[]>,
): Promise<string[]> {
  const tooLate = new Promise<never[]>((resolve) => setTimeout(resolve, TIMEOUT_MS, []).unref())
  const found = cli.connect().then(({ gantry }) => read(gantry))
  return Promise.race([found, tooLate]).catch(() => [])
}

type Completions = ReturnType<typeof complete>

const isAskedFor = ({ kinds, releasesOf, catalog, flagsOf }: Completions) =>
  kinds.length > 0 || Boolean(releasesOf || catalog || flagsOf)

/** What the instance knows. */
async function namesFor(
  gantry: Gantry,
  { kinds, releasesOf, catalog, flagsOf }: Completions,
): Promise<string[]> {
  if (releasesOf) return releasesTo(gantry, releasesOf)
  if (catalog) return (await readCatalog(gantry, catalog)).map(({ code }) => code.replaceAll('_', '-'))
  if (flagsOf)
    return findEntry(await readCatalog(gantry, flagsOf.catalog), flagsOf.code).fields.map(({ name }) =>
      flagOf(name),
    )
  return (await readNames(gantry, kinds)).map(({ path }) => path)
}

async function releasesTo(gantry: Gantry, pipeline: string): Promise<string[]> {
  const { resource_type, resource_id } = await findPipeline(gantry, pipeline, { isDeploy: true })
  return resource_type === 'application' ? rollbackNames(gantry, resource_id!) : []
}
