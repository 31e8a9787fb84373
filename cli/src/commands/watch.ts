// Commands that look at runs: progress, logs, and their pages.
import { examples, type Register, run } from '../command.ts'
import { openBrowser } from '../open-browser.ts'
import { ACTION, findActionId, findActiveId, readAction } from '../runs/find.ts'
import { type LogOptions, printLogs } from '../runs/logs.ts'
import { pageFor } from '../runs/pages.ts'
import { awaitEnd } from '../runs/until-end.ts'

export const watch: Register = (program) => {
  const command = program
    .command('watch')
    .description('show the progress of a run until it finishes')
    .argument('[action]', `${ACTION}; by default the newest one that is running`)
    .option('--json', 'print the run as JSON when it finishes')
    .action(
      run(async (cli, given: string | undefined, { json }: { json?: true }) => {
        const { gantry } = await cli.connect()
        const id = given === undefined ? await findActiveId(gantry) : await findActionId(gantry, given)
        await awaitEnd(cli, gantry, await readAction(gantry, id), { isQuiet: false, json })
      }),
    )
  examples(command, ['gantry watch', 'what is running now'], ['gantry watch web/deploy', 'its newest run'])
}

export const logs: Register = (program) => {
  const command = program
    .command('logs')
    .description('print the logs of a run')
    .argument('<action>', ACTION)
    .option('-f, --follow', 'keep printing until the run finishes')
    .option('--step <name>', 'only this step')
    .option('--server <name>', 'only this server')
    .option('--failed', 'only steps that failed')
    .action(
      run(async (cli, given: string, options: LogOptions) => {
        const { gantry } = await cli.connect()
        const action = await readAction(gantry, await findActionId(gantry, given))
        await printLogs(cli, gantry, action, options)
      }),
    )
  examples(
    command,
    ['gantry logs 42 --failed', 'why it failed'],
    ['gantry logs web/deploy -f --step migrate', 'one step of the newest run, as it is printed'],
  )
}

export const open: Register = (program) => {
  const command = program
    .command('open')
    .description('open a page of the dashboard, and print its address')
    .argument('[name]', 'a run such as 42, a pipeline, an application or a hook; by default the first page')
    .action(
      run(async ({ connect, screen, env }, given: string | undefined) => {
        const { gantry, url } = await connect()
        const page = `${url}/app${given === undefined ? '' : await pageFor(gantry, given)}`
        screen.print(page)
        if (screen.isTerminal) await openBrowser(env, page)
      }),
    )
  examples(command, ['gantry open 42', 'the page of a run'])
}
