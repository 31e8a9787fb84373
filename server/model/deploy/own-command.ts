/** Steps 3 and 4 are the application's own commands, to be run in the release's folder. */
export type OwnCommand = { kind: 'command'; command: string } | { kind: 'nothing'; line: string }

const ABSENT = {
  'install-dependencies': 'This application has no command that installs dependencies: nothing to do.',
  'build-application': 'This application has no build command: nothing to do.',
}

/** A command of several lines ends at the first that fails: what was built half must not go live. */
export function ownCommand(step: keyof typeof ABSENT, command: string | null): OwnCommand {
  if (command === null || command.trim() === '') return { kind: 'nothing', line: ABSENT[step] }
  return { kind: 'command', command: `set -e; ${command}` }
}
