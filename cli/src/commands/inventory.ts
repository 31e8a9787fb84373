// Lists and details of what is set up: pipelines, applications, servers, hooks, credentials, members.
import type { Command } from 'commander'
import { stateOf } from '../actions.ts'
import { type Register, run } from '../command.ts'
import { printDetails } from '../details.ts'
import { EXIT } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import { findNamed, type Kind, readNames, slug } from '../names.ts'
import { printTable } from '../table.ts'
import { ago } from '../times.ts'
import { collect, eachAtOnce, environmentsOf, organizationsOf, type Scope } from '../walk.ts'

type ListOptions = Scope & { json?: true }
type ShowOptions = { json?: true }

const list = (group: Command, description: string) =>
  group.command('ls').description(description).option('--json', 'print JSON')

const listInScope = (group: Command, description: string) =>
  list(group, description)
    .option('--project <name>', 'only those of this project')
    .option('--environment <name>', 'only those of this environment')

const EXAMPLES: Record<string, string> = {
  '<pipeline>': 'shop/production/web/deploy',
  '<application>': 'shop/production/web',
  '<server>': 'shop/production/web-1',
  '<hook>': 'web/deploy/github',
  '<credential>': 'GitHub',
}

const show = (group: Command, description: string, argument: string) =>
  group
    .command('show')
    .description(description)
    .argument(
      argument,
      `a name such as ${EXAMPLES[argument]}, the end or beginning of one, or its id as '#7'`,
    )
    .option('--json', 'print JSON')

export const pipelines: Register = (program) => {
  const group = program.command('pipelines').description('what can be run')
  list(group, 'list pipelines').action(
    run(async ({ connect, screen }, { json }: ListOptions) => {
      const { gantry } = await connect()
      const rows = await readNames(gantry, ['pipeline'])
      if (json) return screen.json(rows)
      printTable(
        screen,
        rows,
        [
          { title: 'pipeline', text: ({ path }) => path },
          { title: 'id', text: ({ id }) => `#${id}` },
        ],
        'No pipelines yet. `gantry init` writes a gantry.yaml with one, `gantry apply` sets it up.',
      )
    }),
  )
  show(group, 'show a pipeline with its steps', '<pipeline>').action(
    run(async ({ connect, screen }, given: string, { json }: ShowOptions) => {
      const { gantry } = await connect()
      const { id, path } = await findNamed(gantry, ['pipeline'], given)
      const pipeline = await gantry.get('/pipelines/{id}', { params: { path: { id: Number(id) } } })
      if (json) return screen.json(pipeline)
      printDetails(screen, [
        ['Pipeline', `${path} (#${pipeline.id})`],
        ['Operation', pipeline.operation_human_readable],
        ['When busy', `${pipeline.queue_policy}, ${pipeline.max_parallel_actions} at a time`],
        [
          'Rollout',
          pipeline.rollout &&
            `${pipeline.rollout.batch} at a time, up to ${pipeline.rollout.max_failed} may fail`,
        ],
      ])
      screen.print()
      printTable(
        screen,
        pipeline.steps,
        [
          { title: '', text: ({ order }) => String(order) },
          { title: 'step', text: ({ name }) => name },
          { title: 'command', text: ({ command, built_in }) => (built_in ? '(built in)' : (command ?? '')) },
        ],
        'No steps yet.',
      )
    }),
  )
}

export const applications: Register = (program) => {
  const group = program.command('applications').description('what is deployed')
  listInScope(group, 'list applications').action(
    run(async ({ connect, screen }, { json, ...scope }: ListOptions) => {
      const { gantry } = await connect()
      const environments = await environmentsOf(gantry, scope)
      const rows = await eachAtOnce(environments, async ({ id, name, project }) => {
        const params = { path: { id } }
        const found = await collect(gantry.list('/environments/{id}/applications', { params }))
        return found.map((application) => ({ application, path: [project.name, name, application.name] }))
      })
      if (json) return screen.json(rows.map(({ application }) => application))
      printTable(
        screen,
        rows,
        [
          { title: 'application', text: ({ path }) => path.map(slug).join('/') },
          { title: 'id', text: ({ application }) => `#${application.id}` },
          {
            title: 'live',
            text: ({ application: { last_deployments } }) =>
              last_deployments.live?.action_data.commit?.hash?.slice(0, 7) ?? '',
          },
          {
            title: 'latest',
            text: ({
              application: {
                last_deployments: { latest },
              },
            }) => (latest ? `#${latest.id} ${stateOf(latest)}` : 'never deployed'),
          },
          { title: 'repository', text: ({ application }) => application.repository },
        ],
        'No applications.',
      )
    }),
  )
  show(group, 'show an application', '<application>').action(
    run(async ({ connect, screen }, given: string, { json }: ShowOptions) => {
      const { gantry } = await connect()
      const { id, path } = await findNamed(gantry, ['application'], given)
      const application = await gantry.get('/applications/{id}', { params: { path: { id: Number(id) } } })
      if (json) return screen.json(application)
      const { latest, live } = application.last_deployments
      printDetails(screen, [
        ['Application', `${path} (#${application.id})`],
        ['Repository', application.repository],
        ['Branch', application.default_branch],
        ['Language', application.programming_language_human_readable],
        ['Install', application.install_dependencies_command],
        ['Build', application.build_command],
        [
          'Live',
          live && `#${live.id} ${live.action_data.commit?.hash?.slice(0, 7) ?? ''} ${ago(live.completed_at)}`,
        ],
        ['Latest', latest && `#${latest.id} ${stateOf(latest)} ${ago(latest.created_at)}`],
        ['Releases', `the last ${application.deployments_keep} are kept`],
      ])
    }),
  )
}

export const servers: Register = (program) => {
  const group = program.command('servers').description('where pipelines run')
  listInScope(group, 'list servers').action(
    run(async ({ connect, screen }, { json, ...scope }: ListOptions) => {
      const { gantry } = await connect()
      const environments = await environmentsOf(gantry, scope)
      const rows = await eachAtOnce(environments, async ({ id, name, project }) => {
        const found = await collect(gantry.list('/environments/{id}/servers', { params: { path: { id } } }))
        return found.map((server) => ({ server, path: [project.name, name, server.name] }))
      })
      if (json) return screen.json(rows.map(({ server }) => server))
      printTable(
        screen,
        rows,
        [
          { title: 'server', text: ({ path }) => path.map(slug).join('/') },
          { title: 'id', text: ({ server }) => `#${server.id}` },
          { title: 'address', text: ({ server }) => addressOf(server) },
          { title: 'root', text: ({ server }) => server.root_directory },
        ],
        'No servers.',
      )
    }),
  )
  show(group, 'show a server', '<server>').action(
    run(async ({ connect, screen }, given: string, { json }: ShowOptions) => {
      const { gantry } = await connect()
      const { id, path } = await findNamed(gantry, ['server'], given)
      const server = await gantry.get('/servers/{id}', { params: { path: { id: Number(id) } } })
      if (json) return screen.json(server)
      printDetails(screen, [
        ['Server', `${path} (#${server.id})`],
        ['Address', addressOf(server)],
        ['Host key', server.host_key_fingerprint],
        ['Root', server.root_directory],
        ['Runs at once', String(server.max_parallel_actions)],
      ])
    }),
  )
}

type Address = { provider_code: string; login_name: string | null; host: string | null; port: number | null }
const addressOf = ({ provider_code, login_name, host, port }: Address) =>
  provider_code === 'local'
    ? 'the machine Gantry runs on'
    : `${login_name ?? ''}@${host}${port === 22 ? '' : `:${port}`}`

const HOOKS: Kind[] = ['incoming_hook', 'outgoing_hook']

export const hooks: Register = (program) => {
  const group = program.command('hooks').description('webhooks, in both directions')
  list(group, 'list webhooks').action(
    run(async ({ connect, screen }, { json }: ListOptions) => {
      const { gantry } = await connect()
      const rows = await readNames(gantry, HOOKS)
      if (json) return screen.json(rows)
      printTable(
        screen,
        rows,
        [
          { title: 'hook', text: ({ path }) => path },
          { title: 'direction', text: ({ type }) => (type === 'incoming_hook' ? 'incoming' : 'outgoing') },
          { title: 'id', text: ({ id }) => String(id) },
        ],
        'No webhooks yet. `gantry hook create` makes one.',
      )
    }),
  )
  show(group, 'show a webhook', '<hook>').action(
    run(async ({ connect, screen }, given: string, { json }: ShowOptions) => {
      const { gantry } = await connect()
      const { id, path, type } = await findNamed(gantry, HOOKS, given)
      const params = { path: { hook_id: String(id) } }
      const hook =
        type === 'incoming_hook'
          ? await gantry.get('/hooks/incoming/{hook_id}', { params })
          : await gantry.get('/hooks/outgoing/{hook_id}', { params })
      if (json) return screen.json(hook)
      printDetails(screen, [
        ['Hook', `${path} (${hook.id})`],
        ['Direction', hook.type],
        ['State', hook.active ? 'on' : `off${hook.disabled_reason ? `: ${hook.disabled_reason}` : ''}`],
        ['URL', hook.url ?? hook.target_url],
        [
          'Signed',
          hook.requires_secret === null
            ? null
            : hook.requires_secret
              ? `yes, ${hook.secret_header_name}`
              : 'no',
        ],
        [
          'Trigger when',
          Object.keys(hook.trigger_when).length > 0 ? JSON.stringify(hook.trigger_when) : null,
        ],
      ])
    }),
  )
}

export const credentials: Register = (program) => {
  const group = program.command('credentials').description('tokens and keys for repositories and servers')
  list(group, 'list credentials').action(
    run(async ({ connect, screen }, { json }: ListOptions) => {
      const { gantry } = await connect()
      const rows = await eachAtOnce(await organizationsOf(gantry), ({ id }) =>
        collect(gantry.list('/organizations/{id}/credentials', { params: { path: { id } } })),
      )
      if (json) return screen.json(rows)
      printTable(
        screen,
        rows,
        [
          { title: 'credential', text: ({ name }) => name },
          { title: 'id', text: ({ id }) => `#${id}` },
          { title: 'kind', text: ({ provider_type_human_readable }) => provider_type_human_readable },
          { title: 'organization', text: ({ organization }) => organization.name },
          { title: 'last used', text: ({ last_action }) => (last_action ? `#${last_action.id}` : '') },
        ],
        'No credentials.',
      )
    }),
  )
  show(group, 'show a credential; never its secret', '<credential>').action(
    run(async ({ connect, screen }, given: string, { json }: ShowOptions) => {
      const { gantry } = await connect()
      const { id } = await findNamed(gantry, ['credential'], given)
      const credential = await gantry.get('/credentials/{id}', { params: { path: { id: Number(id) } } })
      if (json) return screen.json(credential)
      printDetails(screen, [
        ['Credential', `${credential.name} (#${credential.id})`],
        ['Organization', credential.organization.name],
        [
          'Kind',
          `${credential.provider_type_human_readable}, ${credential.provider_auth_type_human_readable}`,
        ],
        ['Address', credential.base_url],
        ['Public key', credential.public_key],
        ['Fingerprint', credential.public_key_fingerprint],
        [
          'Last used',
          credential.last_action && `#${credential.last_action.id} ${ago(credential.last_action.created_at)}`,
        ],
      ])
    }),
  )
}

export const members: Register = (program) => {
  const group = program.command('members').description('who belongs to your organizations')
  const read = async (gantry: Parameters<typeof organizationsOf>[0]) =>
    eachAtOnce(await organizationsOf(gantry), async (organization) => {
      const params = { path: { id: organization.id } }
      const found = await collect(gantry.list('/organizations/{id}/members', { params }))
      return found.map((member) => ({ ...member, organization: organization.name }))
    })
  list(group, 'list members').action(
    run(async ({ connect, screen }, { json }: ListOptions) => {
      const rows = await read((await connect()).gantry)
      if (json) return screen.json(rows)
      printTable(
        screen,
        rows,
        [
          { title: 'email', text: ({ user }) => user.email },
          { title: 'name', text: ({ user }) => user.name },
          { title: 'organization', text: ({ organization }) => organization },
          {
            title: 'roles',
            text: ({ grants }) => [...new Set(grants.map(({ role_name }) => role_name))].join(', '),
          },
        ],
        'No members that you may see.',
      )
    }),
  )
  group
    .command('show')
    .description('show a member and their roles')
    .argument('<email>', 'the email address, or the beginning of it')
    .option('--json', 'print JSON')
    .action(
      run(async ({ connect, screen }, given: string, { json }: ShowOptions) => {
        const rows = await read((await connect()).gantry)
        const found = rows.filter(({ user }) => user.email.toLowerCase().startsWith(given.toLowerCase()))
        if (new Set(found.map(({ user }) => user.id)).size !== 1) {
          const near = [...new Set((found.length > 0 ? found : rows).map(({ user }) => user.email))].slice(
            0,
            5,
          )
          throw new Failure(`"${given}" is not the address of exactly one member.`, {
            exit: EXIT.refused,
            hint: `Members: ${near.join(', ')}`,
          })
        }
        if (json) return screen.json(found)
        printDetails(screen, [
          ['Member', `${found[0]!.user.name} <${found[0]!.user.email}>`],
          ...found.map(
            ({ organization, grants }) =>
              [organization, grants.map(({ role_name }) => role_name).join(', ')] as const,
          ),
        ])
      }),
    )
}
