// Writes docs/cli.md from the commands themselves: node --conditions=gantry-source scripts/cli-reference.ts
// With --print, prints it instead.
import { writeFile } from 'node:fs/promises'
import { examplesOf } from '#cli/command.ts'
import { createProgram } from '#cli/program.ts'

type Command = ReturnType<typeof createProgram>

const FILE = new URL('../docs/cli.md', import.meta.url)

const INTRODUCTION = `# Command line

\`gantry\` drives Gantry from a terminal and from CI. Every instance hands out the matching one; it needs Node.js 20 or later:

\`\`\`bash
curl -fsSL https://gantry.example.com/cli/install.sh | sh
gantry login https://gantry.example.com
\`\`\`

In a checkout, \`npm run gantry -- status\` and \`npx --no gantry status\` do the same without installing anything.
Jobs for GitHub Actions, GitLab CI and Woodpecker that wait for a deploy are in [CI](ci.md).

<!-- This page is generated from the commands: node --conditions=gantry-source scripts/cli-reference.ts -->

## Names

Commands take names instead of ids: \`shop/production/web\` is the project, the environment and the application or server; a
pipeline adds its own name. Any end (\`web/deploy\`) or beginning (\`shop/prod\`) does while it names one only, and an unknown
name lists the nearest. An application or a server means its pipeline when it has only one. Runs go by their number,
\`42\`, or by a pipeline for its newest run. \`'#7'\` is what has the id 7; quote it, because shells take \`#\` for the beginning of
a comment. Where two organizations use one name, begin with the organization (\`acme/shop/production\`), or give type and id
(\`environment-7\`).

Groups of commands have a singular and a plural name: \`gantry hook create\` and \`gantry hooks create\` are the same, and
\`gantry runs ls\` lists what \`gantry actions ls\` does.

## Output

Results go to stdout, everything else to stderr. On a terminal lists are tables that fit it; in a pipe each item is one
line, tab-separated and complete. \`--json\` prints what the API returns. Colors appear on terminals only, and never with
\`NO_COLOR\` or \`--no-color\`.

\`--watch\` shows every step of a run live on a terminal, and one line per change elsewhere; \`--wait\` is silent until the run
finishes. Both end with the URL of the run, and survive lost connections and restarts of the instance. A failed run names the step and quotes the end of
its log. Ctrl-C ends the watching, not the run.

\`--ref\` takes what looks like a hash for a commit, what looks like a version for a tag, and everything else for a branch;
\`heads/2.1\` and \`tags/nightly\` decide otherwise.

## Exit codes

| code | meaning |
|---|---|
| 0 | the run completed; the command succeeded; there was nothing to roll back |
| 1 | the run failed; a check of doctor failed |
| 2 | wrong usage |
| 3 | the run was canceled or skipped |
| 4 | not signed in, or not allowed |
| 5 | the instance cannot be reached |
| 6 | refused by the server: not found, conflict, invalid, too many requests |
| 130 | interrupted; a run that was started continues |

## Environment

| variable | meaning |
|---|---|
| \`GANTRY_URL\`, \`GANTRY_TOKEN\` | the instance and a personal access token; they win over contexts |
| \`GANTRY_CONFIG_DIR\` | where contexts are kept, instead of \`~/.config/gantry\` (mode 0600) |
| \`NO_COLOR\`, \`FORCE_COLOR\` | never, or always, print colors |
`

const page = `${INTRODUCTION}\n${renderCommands(createProgram())}`
if (process.argv.includes('--print')) process.stdout.write(page)
else await writeFile(FILE, page)

function renderCommands(program: Command): string {
  const leaves = leavesOf(program)
  const table = leaves.map(
    (command) => `| [\`${nameOf(command)}\`](#${anchorOf(command)}) | ${command.description()} |`,
  )
  const index = ['## Commands', '', '| command | what it does |', '|---|---|', ...table, '']
  return [...index, ...leaves.map(renderCommand)].join('\n')
}

function leavesOf(command: Command): Command[] {
  const children = command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== 'help')
  return children.flatMap((child) => (child.commands.length > 0 ? leavesOf(child) : [child]))
}

function renderCommand(command: Command): string {
  const { registeredArguments, options } = command
  const rows = [
    ...registeredArguments.map((argument) => {
      const name = argument.required ? `<${argument.name()}>` : `[${argument.name()}]`
      return [argument.variadic ? name.replace(/.$/, '...$&') : name, argument.description]
    }),
    ...options
      .filter(({ hidden }) => !hidden)
      .map(({ flags, description, defaultValue }) => [
        flags,
        typeof defaultValue === 'string' ? `${description} (default ${defaultValue})` : description,
      ]),
  ].map(
    ([name, description]) =>
      `| \`${name!.replaceAll('|', '\\|')}\` | ${description!.replaceAll(/[|<]/g, '\\$&')} |`,
  )
  const examples = examplesOf(command).flatMap(({ command: line, what }) => [`# ${what}`, line])
  return [
    `### ${nameOf(command)}`,
    '',
    `${capitalize(command.description())}.`,
    '',
    ...(rows.length > 0 ? ['| argument | meaning |', '|---|---|', ...rows, ''] : []),
    ...(examples.length > 0 ? ['```bash', ...examples, '```', ''] : []),
  ].join('\n')
}

function nameOf(command: Command): string {
  return command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name()
}

function anchorOf(command: Command): string {
  return nameOf(command).replaceAll(' ', '-')
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
