import { Command } from 'commander'
import { type Register, run } from './command.ts'
import { context, whoami } from './commands/account.ts'
import { actions } from './commands/actions.ts'
import { api } from './commands/api.ts'
import { applications } from './commands/applications.ts'
import { approve, reject, waiting } from './commands/approve.ts'
import { changes } from './commands/changes.ts'
import { completion } from './commands/completion.ts'
import { credentials } from './commands/credentials.ts'
import { doctor } from './commands/doctor.ts'
import { apply, exportProject } from './commands/document.ts'
import { freeze, unfreeze } from './commands/freeze.ts'
import { hooks } from './commands/hooks.ts'
import { init } from './commands/init.ts'
import { insights } from './commands/insights.ts'
import { listen } from './commands/listen.ts'
import { login, logout } from './commands/login.ts'
import { members } from './commands/members.ts'
import { notifications } from './commands/notifications.ts'
import { pipelines } from './commands/pipelines.ts'
import { live, releases } from './commands/releases.ts'
import { rollback } from './commands/rollback.ts'
import { cancel, plan, retry, runPipeline } from './commands/run.ts'
import { servers } from './commands/servers.ts'
import { status } from './commands/status.ts'
import { tokens } from './commands/tokens.ts'
import { variables } from './commands/variables.ts'
import { logs, open, watch } from './commands/watch.ts'
import { workers } from './commands/workers.ts'
import { VERSION } from './version.ts'

/** In the order in which help lists them. */
const COMMANDS: [group: string, ...Register[]][] = [
  ['Runs', status, runPipeline, watch, logs, cancel, retry, rollback, plan, open, actions],
  ['Gates', waiting, approve, reject, freeze, unfreeze],
  ['Releases', live, releases, changes, insights],
  ['Resources', pipelines, applications, servers, credentials, members, variables, workers],
  ['gantry.yaml', init, apply, exportProject],
  ['Webhooks', hooks, listen, notifications],
  ['Account', login, logout, whoami, context, tokens, doctor],
  ['Scripting', api, completion],
]

/** Commands of their own that list something. */
const PLURALS = ['logs', 'releases', 'changes', 'notifications']

export function createProgram(): Command {
  const program = new Command('gantry')
    .description('Deploy with Gantry from the command line.')
    .version(`gantry ${VERSION}`, '-V, --version', 'print the version')
    .option('--context <name>', 'use this context (see `gantry context ls`)')
    .option('--no-color', 'print without colors')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    .configureHelp({ showGlobalOptions: false })
  for (const [group, ...commands] of COMMANDS) {
    program.commandsGroup(`${group}:`)
    for (const register of commands) register(program)
  }
  for (const command of program.commands) {
    const name = command.name()
    if (command.commands.length > 0) command.helpCommand(false)
    // `gantry hook` and `gantry hooks` are the same.
    if (command.commands.length > 0 || PLURALS.includes(name))
      command.alias(name.endsWith('s') ? name.slice(0, -1) : `${name}s`)
  }
  program.commandsGroup('Other:')
  program
    .command('version')
    .description('print the version')
    .action(run(async ({ screen }) => screen.print(`gantry ${VERSION}`)))
  program.addHelpText('after', '\nGuides: /docs/guides on your instance. API reference: /docs.')
  return program
}
