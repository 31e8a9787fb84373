import { Argument } from 'commander'
import { examples, type Register, run } from '../command.ts'
import { complete, SCRIPTS, SHELLS } from '../completion.ts'
import { readNames } from '../names.ts'

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
        const { words, kinds } = complete(program, given)
        const names = kinds.length === 0 ? [] : await namesOf(cli, kinds)
        for (const word of [...words, ...names]) if (word.startsWith(typed)) cli.screen.print(word)
      }),
    )
}

/** Silent: somebody who presses Tab wants suggestions or nothing. */
async function namesOf(
  cli: Parameters<Parameters<typeof run>[0]>[0],
  kinds: Parameters<typeof readNames>[1],
) {
  const tooLate = new Promise<never[]>((resolve) => setTimeout(resolve, TIMEOUT_MS, []).unref())
  const found = cli.connect().then(({ gantry }) => readNames(gantry, kinds))
  return (await Promise.race([found, tooLate]).catch(() => [])).map(({ path }) => path)
}
