import { type Register, run } from '../command.ts'
import { printDetails } from '../details.ts'
import {
  connectionText,
  isTroubled,
  pollText,
  repositoryText,
  withRepositoryState,
} from '../hooks/repository-state.ts'
import { findNamed, type Kind, readNames } from '../names.ts'
import { waitText } from '../runs/notifications.ts'
import { printTable } from '../table.ts'
import { registerConnect } from './hook-connect.ts'
import { registerCreate } from './hook-create.ts'
import { registerRequests } from './hook-requests.ts'
import { registerSecrets } from './hook-secrets.ts'
import { registerTest } from './hook-test.ts'
import { type ListOptions, list, type ShowOptions, show } from './list-and-show.ts'

const HOOKS: Kind[] = ['incoming_hook', 'outgoing_hook']

export const hooks: Register = (program) => {
  const group = program
    .command('hooks')
    .description('webhooks, in both directions: create, test and replay them')
  list(group, 'list webhooks, and whether they are connected to their repository or poll it').action(
    run(async ({ connect, screen }, { json }: ListOptions) => {
      const { gantry } = await connect()
      const names = await readNames(gantry, [...HOOKS, 'environment'])
      const rows = await withRepositoryState(gantry, names)
      if (json) return screen.json(rows)
      printTable(
        screen,
        rows,
        [
          { title: 'hook', text: ({ path }) => path },
          { title: 'direction', text: ({ type }) => (type === 'incoming_hook' ? 'incoming' : 'outgoing') },
          { title: 'id', text: ({ id }) => String(id) },
          {
            title: 'repository',
            text: (hook) => repositoryText(hook),
            style: (hook) => (isTroubled(hook) ? 'red' : undefined),
          },
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
        ['Waiting', waitText({ ...hook, receiver: hostOf(hook.target_url) })],
        ['Connection', connectionText(hook.connection)],
        ['Polling', pollText(hook.poll)],
        ['URL', hook.url ?? hook.target_url],
        ['Token leaves to', hook.token_origins.join(', ') || null],
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
  registerCreate(group)
  registerConnect(group)
  registerTest(group)
  registerRequests(group)
  registerSecrets(group)
}

function hostOf(url: string | null): string | null {
  return url !== null && URL.canParse(url) ? new URL(url).host : null
}
