import { expandEntry, type Gantry, GantryError, reachProblem } from '@gantry/client'
import { slugifyAnyScript as slug } from '@gantry/client/slug'
import type { Command } from 'commander'
import { choose } from '../ask.ts'
import {
  collectFields,
  type Entry,
  findEntry,
  instructionsFor,
  nameFlag,
  parseField,
  type Receiver,
  readCatalog,
} from '../catalog.ts'
import type { Cli } from '../cli.ts'
import { every, examples, run } from '../command.ts'
import { printDetails } from '../details.ts'
import { Failure, usage } from '../failure.ts'
import { flagOf, readFlags } from '../hooks/field-flags.ts'
import { chooseNamed, type Named, readNames } from '../names.ts'
import { type FoundPipeline, findPipeline } from '../runs/find.ts'
import { collect } from '../walk.ts'

type Options = {
  from?: string
  to?: string
  pipeline?: string
  credential?: string
  name?: string
  field?: string[]
  json?: true
}

export function registerCreate(group: Command): void {
  const create = group
    .command('create')
    .description('create a webhook; prints its URL, its secret and where to enter them')
    .argument(
      '[pipeline]',
      'a pipeline such as shop/production/web/deploy, or an application that has only one',
    )
    .option('--pipeline <name>', 'the pipeline, instead of the argument')
    .option('--from <sender>', 'calls of this sender start the pipeline: github, gitlab, gitea, slack, …')
    .option(
      '--to <receiver>',
      'this receiver is notified about runs: github-status, slack-message, generic, …',
    )
    .option(
      '--credential <name>',
      'with --to: the credential whose token is sent; by default that of the application',
    )
    .option('--name <name>', 'the name of the hook; by default that of the service')
    .option(
      '--field <name=value>',
      `a setting of the service, such as branch=main; - is stdin. Each is a flag, too: --branch main, --channel '#deploys', ${flagOf('context')} deploy/production`,
      every,
    )
    .option('--json', 'print JSON')
    .allowUnknownOption()
    .allowExcessArguments()
    .action(run((cli, _pipeline: string | undefined, options: Options) => createHook(cli, options)))
  examples(
    create,
    ['gantry hook create shop/production/web/deploy --from github', 'pushes to main deploy'],
    ['gantry hook create web/deploy --from linear --state Done', 'other settings'],
    ['gantry hook create --to github-status --pipeline web/deploy', 'commit statuses at GitHub'],
    [
      "gantry hook create --to slack-message --pipeline web/deploy --credential slack-bot --channel '#deploys'",
      'one message per run, which is updated',
    ],
    ['gantry hook create web/deploy --to slack-webhook --webhook-url - < url.txt', 'without a credential'],
  )
}

async function createHook(cli: Cli, options: Options): Promise<void> {
  const { from, to, json } = options
  const { words, flags } = readFlags(cli.args)
  if (from !== undefined && to !== undefined)
    throw usage('A hook has one direction.', 'Use --from or --to, not both.')
  if (options.credential !== undefined && to === undefined)
    throw usage('--credential goes with --to.', 'Incoming hooks send no token.')
  const { gantry } = await connectFor(cli, to)
  const catalog = await readCatalog(gantry, to === undefined ? 'senders' : 'receivers')
  const entry = findEntry(catalog, to ?? from ?? (await chooseSender(cli, catalog)))
  const given = [...(options.field ?? []).map(parseField), ...flags.map((flag) => nameFlag(entry, flag))]
  const pipeline = await findPipeline(gantry, await pipelineOf(cli, gantry, options, words))
  const fields = await collectFields(cli, entry, given)
  const body = {
    ...expandEntry(entry.hook, fields),
    ...(options.name !== undefined && { name: options.name }),
  }
  const params = { path: { id: pipeline.id } }
  const created = isReceiver(entry)
    ? await saveOutgoing(cli, gantry, { entry, pipeline, body, credential: options.credential })
    : await gantry.post('/pipelines/{id}/hooks/incoming', { params, body: body as never })
  if (json) return cli.screen.json(created)
  const { url, target_url, secret } = created
  const ownSecret = 'secret_source' in entry && entry.secret_source === 'sender'
  printDetails(cli.screen, [
    ['Hook', `${pipeline.path}/${slug(created.name)} (${created.id})`],
    ['URL', url ?? target_url],
    ['Secret', ownSecret ? null : secret],
  ])
  const problem = url === null ? undefined : reachProblem(url)
  if (problem) cli.screen.note(`Warning: ${problem}`)
  cli.screen.note(`\nAt ${entry.name}:`)
  for (const line of instructionsFor(entry, { ...fields, url, secret })) cli.screen.note(line)
  if (ownSecret && fields.secret === undefined)
    cli.screen.note(`Then enter the secret that it shows: gantry hook secret ${created.id}`)
  else if (secret !== null && !ownSecret) cli.screen.note("Copy the secret now; it won't be shown again.")
}

const isReceiver = (entry: Entry): entry is Receiver => 'credential_provider' in entry

/** `--context` is the instance, as for every command; the context of a status is a field. */
async function connectFor(cli: Cli, to: string | undefined) {
  return cli.connect().catch((error: unknown) => {
    if (to === undefined || cli.context === undefined || !(error instanceof Failure)) throw error
    throw usage(error.message, `${error.hint ?? ''} The context of a status is ${flagOf('context')}.`.trim())
  })
}

async function pipelineOf(
  { screen }: Cli,
  gantry: Gantry,
  { pipeline }: Options,
  words: readonly string[],
): Promise<string> {
  const [given, ...more] = pipeline === undefined ? words : [pipeline, ...words]
  if (more.length > 0) throw usage(`A hook belongs to one pipeline: ${given}, or ${more.join(', ')}?`)
  if (given !== undefined) return given
  if (!screen.isInteractive)
    throw usage('Which pipeline?', 'For example: --pipeline shop/production/web/deploy')
  const pipelines = await readNames(gantry, ['pipeline'])
  if (pipelines.length === 0)
    throw usage('There is no pipeline yet.', 'Create one in the dashboard, or with `gantry apply`.')
  return choose(
    'Which pipeline',
    pipelines.map(({ id, path }) => ({ value: `#${id}`, label: path })),
  )
}

function chooseSender({ screen }: Cli, catalog: readonly Entry[]): Promise<string> {
  if (!screen.isInteractive)
    throw usage(
      'Which sender or receiver?',
      `Use --from, or --to for notifications. Senders: ${catalog.map(({ code }) => code).join(', ')}.`,
    )
  return choose(
    'What calls the webhook',
    catalog.map(({ code, name }) => ({ value: code, label: name })),
  )
}

type Outgoing = { entry: Receiver; pipeline: FoundPipeline; body: object; credential: string | undefined }

/** The instance knows whether the credential of the application fits; if not, another one has to be named. */
async function saveOutgoing(cli: Cli, gantry: Gantry, { entry, pipeline, body, credential }: Outgoing) {
  if (credential !== undefined && entry.credential_provider === null)
    throw usage(`${entry.code} sends no token of a credential.`, 'Leave out --credential.')
  const save = (credential_id?: number) =>
    gantry.post('/pipelines/{id}/hooks/outgoing', {
      params: { path: { id: pipeline.id } },
      body: { ...body, ...(credential_id !== undefined && { credential_id }) } as never,
    })
  if (credential !== undefined) return save(await findCredential(gantry, pipeline, credential))
  return save().catch(async (error: unknown) => {
    if (entry.credential_provider === null || !isAboutCredential(error)) throw error
    return save(await chooseCredential(cli, gantry, entry, pipeline))
  })
}

async function findCredential(gantry: Gantry, { organization }: Named, given: string): Promise<number> {
  const all = await readNames(gantry, ['credential'])
  const own = all.filter((one) => one.organization.id === organization.id)
  return Number(chooseNamed(own, ['credential'], given).id)
}

/** It does not fit the receiver, or has no token. */
function isAboutCredential(error: unknown): boolean {
  if (!(error instanceof GantryError) || error.code !== 'invalid') return false
  const fields = Object.keys(error.errors)
  return fields.length > 0 && fields.every((field) => field === 'credential_id' || field === 'settings')
}

async function chooseCredential(
  { screen }: Cli,
  gantry: Gantry,
  { name, credential_provider }: Receiver,
  { organization }: Named,
): Promise<number> {
  const params = { path: { id: organization.id } }
  const all = await collect(gantry.list('/organizations/{id}/credentials', { params })).catch(() => [])
  const fitting = all
    .filter(
      ({ provider, provider_auth_type }) =>
        provider.code === credential_provider && provider_auth_type === 'token',
    )
    .sort((one, other) => (one.name < other.name ? -1 : 1))
  if (screen.isInteractive && fitting.length > 0)
    return Number(
      await choose(
        `Credential: whose token is sent to ${name}`,
        fitting.map(({ id, name: label }) => ({ value: String(id), label })),
      ),
    )
  throw usage(
    `The credential of the application does not fit: ${name} needs a dedicated credential.`,
    fitting.length > 0
      ? `Name it with --credential: ${fitting.map((one) => one.name).join(', ')}.`
      : `Add a credential of ${name} with a token in the dashboard, or with \`gantry apply\`; then name it with --credential.`,
  )
}
