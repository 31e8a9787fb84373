import { basename } from 'node:path'
import { expandEntry } from '@gantry/client'
import { InvalidArgumentError } from 'commander'
import { askText, type Choice, choose, confirm } from '../ask.ts'
import { findEntry, type Sender } from '../catalog.ts'
import { examples, type Register, run } from '../command.ts'
import { usage } from '../failure.ts'
import type { Answers, Server } from '../init/build-document.ts'
import { detectCommands } from '../init/detect-commands.ts'
import { type Origin, parseOrigin, readGit } from '../init/git.ts'
import { organizationsOf } from '../walk.ts'
import { allowOverwrite, writeText } from '../write-file.ts'

type Options = {
  file: string
  organization?: string
  project?: string
  environment: string
  application?: string
  repository?: string
  branch?: string
  private?: true
  server?: Server
  root: string
  sender?: string
  yes?: true
  force?: true
}

export const init: Register = (program) => {
  const command = program
    .command('init')
    .description('write a gantry.yaml for the application in this folder; asks a few questions')
    .option('-f, --file <file>', 'the file to write', 'gantry.yaml')
    .option('--organization <name>', 'the organization; by default your only one')
    .option('--project <name>', 'the project; by default the name of the repository')
    .option('--environment <name>', 'the environment to deploy to', 'production')
    .option('--application <name>', 'the application; by default the name of the repository')
    .option('--repository <address>', 'where the source is; by default the remote of git')
    .option('--branch <name>', 'the branch to deploy; by default the one of the remote')
    .option('--private', 'the repository needs a token')
    .option(
      '--server <server>',
      'user@host[:port] for SSH, or local: the machine Gantry runs on',
      parseServer,
    )
    .option('--root <folder>', 'the folder on the server that applications are deployed to', '/srv')
    .option('--sender <code>', 'what calls the webhook: github, gitlab, gitea, …, or none')
    .option('-y, --yes', 'ask nothing: take the options and what is detected')
    .option('--force', 'overwrite the file')
    .action(
      run(async (cli, options: Options) => {
        const { screen } = cli
        const { gantry, url } = await cli.connect()
        await allowOverwrite(cli, options.file, options.force === true)
        const organizations = (await organizationsOf(gantry)).map(({ name }) => name)
        const asks = screen.isInteractive && !options.yes
        const answers = await collectAnswers(options, {
          asks,
          organizations,
          senders: await gantry.get('/catalog/senders'),
        })
        const { buildDocument } = await import('../init/build-document.ts')
        await writeText(options.file, buildDocument(answers, url))
        screen.note(`Wrote ${options.file}. Look through it, then run \`gantry apply\`.`)
      }),
    )
  examples(
    command,
    ['gantry init', 'in the folder of the source'],
    ['gantry init --yes --server deploy@web-1.example.com --sender github', 'without questions'],
  )
}

function parseServer(given: string): Server {
  if (given === 'local') return { kind: 'local' }
  const match = /^([^@\s]+)@(\[[0-9a-f:]+\]|[^@:\s]+)(?::(\d{1,5}))?$/i.exec(given)
  if (!match) throw new InvalidArgumentError('Use local, or user@host for SSH.')
  return {
    kind: 'ssh',
    login: match[1]!,
    host: match[2]!.replace(/^\[|\]$/g, ''),
    port: Number(match[3] ?? 22),
  }
}

type Known = { asks: boolean; organizations: readonly string[]; senders: readonly Sender[] }

/** Asks for what the options leave open; without questions, takes what is detected. */
async function collectAnswers(options: Options, { asks, organizations, senders }: Known): Promise<Answers> {
  const folder = process.cwd()
  const git = await readGit(folder)
  const ask = async (message: string, given: string | undefined, detected: string | null, option: string) => {
    if (given !== undefined) return given
    if (asks) return askText(message, detected ?? '')
    if (detected !== null) return detected
    throw usage(`${message}?`, `Use ${option}.`)
  }
  const repository = await ask('Repository', options.repository, git.repository, '--repository')
  const origin = parseOrigin(repository)
  const name = origin.name ?? basename(folder)
  const branch = await ask('Branch to deploy', options.branch, git.branch ?? 'main', '--branch')
  const organization = await chooseOrganization(options.organization, organizations, { asks, origin })
  const project = await ask('Project', options.project, name, '--project')
  const environment = asks ? await askText('Environment', options.environment) : options.environment
  const server = options.server ?? (await chooseServer(asks))
  const root = asks ? await askText('Folder on the server', options.root) : options.root
  const mayBePrivate = !origin.isSsh && origin.host !== null
  return {
    organization,
    project,
    environment,
    application: options.application ?? name,
    repository,
    branch,
    isPrivate: options.private ?? (asks && mayBePrivate && (await confirm('Is the repository private?'))),
    server,
    root,
    hook: await chooseHook(options.sender, senders, { asks, origin, branch }),
    commands: await detectCommands(folder),
  }
}

async function chooseOrganization(
  given: string | undefined,
  known: readonly string[],
  { asks, origin }: { asks: boolean; origin: Origin },
): Promise<string> {
  if (given !== undefined) return given
  if (known.length === 1) return known[0]!
  if (known.length === 0) {
    const suggested = origin.owner ?? 'Acme'
    return asks ? askText('Organization, which `gantry apply` creates', suggested) : suggested
  }
  if (!asks) throw usage('Which organization?', `Use --organization: ${known.join(', ')}.`)
  return choose(
    'Organization',
    known.map((name) => ({ value: name, label: name })),
  )
}

async function chooseServer(asks: boolean): Promise<Server> {
  if (!asks) throw usage('Where to deploy to?', 'Use --server user@host, or --server local.')
  const kind = await choose('Where to deploy to', [
    { value: 'ssh', label: 'A server over SSH' },
    { value: 'local', label: 'The machine Gantry runs on', hint: 'instance administrators only' },
  ])
  if (kind === 'local') return { kind: 'local' }
  for (;;) {
    const server = toServer(await askText('Server, as user@host or user@host:port'))
    if (server) return server
  }
}

function toServer(text: string): Server | null {
  try {
    return parseServer(text)
  } catch {
    return null
  }
}

/** The sender that the repository's host is, where it is known. */
const SENDER_OF_HOST: Record<string, string> = {
  'github.com': 'github',
  'gitlab.com': 'gitlab',
  'bitbucket.org': 'bitbucket',
  'codeberg.org': 'forgejo',
}

async function chooseHook(
  given: string | undefined,
  senders: readonly Sender[],
  { asks, origin, branch }: { asks: boolean; origin: Origin; branch: string },
): Promise<Answers['hook']> {
  const detected = SENDER_OF_HOST[origin.host ?? ''] ?? 'none'
  const code = given ?? (asks ? await chooseSender(senders, detected) : detected)
  if (code === 'none') return null
  const { fields, hook } = findEntry(senders, code)
  const values = fields.map(({ name, default_value, hidden }) => {
    // Secrets are filled in when the file is applied.
    if (hidden) return [name, `\${WEBHOOK_${name.toUpperCase()}}`]
    return [name, name === 'branch' ? branch : (default_value ?? '')]
  })
  return expandEntry(hook, Object.fromEntries(values)) as NonNullable<Answers['hook']>
}

function chooseSender(senders: readonly Sender[], detected: string): Promise<string> {
  const choices: Choice[] = senders.map(({ code, name }) => ({ value: code, label: name }))
  return choose('What starts a deploy', [...choices, { value: 'none', label: 'Manual only' }], detected)
}
