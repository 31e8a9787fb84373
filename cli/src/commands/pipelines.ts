import { type Register, run } from '../command.ts'
import { printDetails } from '../details.ts'
import { findNamed, readNames } from '../names.ts'
import { printTable } from '../table.ts'
import { type ListOptions, list, type ShowOptions, show } from './list-and-show.ts'

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
            `${pipeline.rollout.batch} at a time, up to ${pipeline.rollout.max_failed} may fail, then ${pipeline.rollout.on_failure}`,
        ],
        ['On failure', pipeline.operation === 'deploy' ? pipeline.on_failure : null],
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
