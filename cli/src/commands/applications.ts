import { slugifyAnyScript as slug } from '@gantry/client/slug'
import { stateOf } from '../actions.ts'
import { type Register, run } from '../command.ts'
import { printDetails } from '../details.ts'
import { findNamed } from '../names.ts'
import { printTable } from '../table.ts'
import { ago } from '../times.ts'
import { collect, eachAtOnce, environmentsOf } from '../walk.ts'
import { type ListOptions, listInScope, type ShowOptions, show } from './list-and-show.ts'

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
        ['Submodules', application.submodules],
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
