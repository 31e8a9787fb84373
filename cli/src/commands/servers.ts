import { slugifyAnyScript as slug } from '@gantry/client/slug'
import { type Register, run } from '../command.ts'
import { printDetails } from '../details.ts'
import { findNamed } from '../names.ts'
import { printTable } from '../table.ts'
import { collect, eachAtOnce, environmentsOf } from '../walk.ts'
import { type ListOptions, listInScope, type ShowOptions, show } from './list-and-show.ts'
import { registerCheck } from './server-check.ts'

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
        ['Worker', server.worker_name],
        ['Max concurrent runs', String(server.max_parallel_actions)],
      ])
    }),
  )
  registerCheck(group)
}

type Address = { provider_code: string; login_name: string | null; host: string | null; port: number | null }
const addressOf = ({ provider_code, login_name, host, port }: Address) =>
  provider_code === 'local'
    ? 'the machine Gantry runs on'
    : `${login_name ?? ''}@${host}${port === 22 ? '' : `:${port}`}`
