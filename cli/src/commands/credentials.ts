import { type Register, run } from '../command.ts'
import { printDetails } from '../details.ts'
import { findNamed } from '../names.ts'
import { printTable } from '../table.ts'
import { ago } from '../times.ts'
import { collect, eachAtOnce, organizationsOf } from '../walk.ts'
import { type ListOptions, list, type ShowOptions, show } from './list-and-show.ts'

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
        [
          'Token goes',
          credential.provider_auth_type === 'token'
            ? credential.token_targets === 'provider'
              ? 'to its provider only'
              : 'to any allowed address'
            : null,
        ],
        ['Other hosts', credential.ssh_hosts.join(', ') || null],
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
