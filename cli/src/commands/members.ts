import { type Register, run } from '../command.ts'
import { printDetails } from '../details.ts'
import { EXIT } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import { printTable } from '../table.ts'
import { collect, eachAtOnce, organizationsOf } from '../walk.ts'
import { type ListOptions, list, type ShowOptions } from './list-and-show.ts'

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
        'No members that you can view.',
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
