import { type Register, run } from '../command.ts'
import { configFolder, readConfig, writeConfig } from '../config.ts'
import { usage } from '../failure.ts'
import { oneLine, printTable } from '../table.ts'

export const whoami: Register = (program) => {
  program
    .command('whoami')
    .description('show who you are signed in as, and where')
    .option('--json', 'print JSON')
    .action(
      run(async (cli, { json }: { json?: true }) => {
        const { gantry, url } = await cli.connect()
        const user = await gantry.get('/users/me')
        if (json) return cli.screen.json({ url, user })
        cli.screen.print(`${user.email} (${oneLine(user.name)}) at ${url}`)
      }),
    )
}

export const context: Register = (program) => {
  const group = program.command('context').description('switch between the instances that you use')
  group
    .command('ls')
    .description('list the instances you are signed in to; * marks the current one')
    .option('--json', 'print JSON')
    .action(
      run(async (cli, { json }: { json?: true }) => {
        const { current, contexts } = await readConfig(configFolder(cli.env))
        const rows = Object.entries(contexts).map(([name, { url, user, expires_at }]) => ({
          name,
          url,
          user,
          expires_at,
          current: name === current,
        }))
        if (json) return cli.screen.json(rows)
        printTable(
          cli.screen,
          rows,
          [
            { title: '', text: (row) => (row.current ? '*' : '') },
            { title: 'name', text: (row) => row.name },
            { title: 'address', text: (row) => row.url },
            { title: 'user', text: (row) => row.user },
          ],
          'No contexts. Sign in with `gantry login <url>`.',
        )
      }),
    )
  group
    .command('use')
    .description('send commands to another instance from now on')
    .argument('<name>', 'as `gantry context ls` shows it')
    .action(
      run(async (cli, name: string) => {
        const folder = configFolder(cli.env)
        const config = await readConfig(folder)
        const known = config.contexts[name]
        if (!known)
          throw usage(
            `There is no context "${name}".`,
            `Known: ${Object.keys(config.contexts).join(', ') || 'none'}.`,
          )
        await writeConfig(folder, { ...config, current: name })
        cli.screen.print(`Commands now go to ${known.url}.`)
      }),
    )
}
