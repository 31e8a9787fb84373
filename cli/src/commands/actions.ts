import type { Gantry } from '@gantry/client'
import { type Action, type ActionListItem, kindOf, pathOf, sourceOf, stateOf, styleOf } from '../actions.ts'
import { examples, type Register, run } from '../command.ts'
import { printDetails } from '../details.ts'
import { usage } from '../failure.ts'
import { findNamed } from '../names.ts'
import { readChecks } from '../runs/checks-gate.ts'
import { readAction } from '../runs/find.ts'
import { plain, type Screen } from '../screen.ts'
import { type Column, printTable } from '../table.ts'
import { ago, took } from '../times.ts'
import { collect } from '../walk.ts'
import { showOfAction } from './list-and-show.ts'

type ListOptions = { json?: true; limit: string; status?: string; pipeline?: string }

const columns = (isTerminal: boolean): Column<ActionListItem>[] => [
  { title: 'run', text: ({ id }) => `#${id}` },
  { title: 'status', text: stateOf, style: styleOf },
  { title: 'what', text: kindOf },
  { title: 'where', text: pathOf },
  { title: 'source', text: sourceOf },
  { title: 'by', text: ({ triggered_from }) => triggered_from.name ?? '' },
  { title: 'started', text: ({ created_at }) => (isTerminal ? ago(created_at) : created_at) },
  { title: 'took', text: (action) => took(action) },
]

export const actions: Register = (program) => {
  const group = program.command('actions').alias('runs').description('runs of pipelines')
  const list = group
    .command('ls')
    .description('list runs, newest first')
    .option('--status <status>', 'only runs with this status, for example failed or in-progress')
    .option('--pipeline <name>', 'only runs of this pipeline')
    .option('--limit <number>', 'how many', '20')
    .option('--json', 'print JSON')
    .action(
      run(async ({ connect, screen }, { json, limit, status, pipeline }: ListOptions) => {
        const count = parseLimit(limit)
        const { gantry } = await connect()
        const query = {
          per_page: Math.min(count, 100),
          ...(status !== undefined && { 'filter[status]': status as never }),
          ...(pipeline !== undefined && {
            'filter[pipeline_id]': String((await findNamed(gantry, ['pipeline'], pipeline)).id),
          }),
        }
        const rows = await collect(gantry.list('/actions', { params: { query } }), count)
        if (json) screen.json(rows)
        else
          printTable(
            screen,
            rows,
            columns(screen.isTerminal),
            'No runs yet. Start one with `gantry run <pipeline>`.',
          )
      }),
    )
  examples(
    list,
    ['gantry actions ls --status failed', 'what went wrong recently'],
    ['gantry actions ls --json | jq -r ".[].id"', 'the numbers of the newest runs'],
  )
  showOfAction(group, 'show', 'show a run with its servers and steps', {
    read: readAction,
    print: printAction,
  })
}

async function printAction(screen: Screen, action: Action, gantry: Gantry): Promise<void> {
  const { commit } = action.action_data
  printDetails(screen, [
    ['Run', `#${action.id} ${kindOf(action)} ${pathOf(action)}`],
    ['Status', stateOf(action), styleOf(action)],
    ['Checks', await readChecks(gantry, action)],
    ['Source', sourceOf(action)],
    ['Commit', commit?.message],
    ['Release', action.action_data.release_name],
    ['Started by', action.triggered_from.name],
    ['Comment', action.trigger_comment],
    ['Created', screen.isTerminal ? ago(action.created_at) : action.created_at],
    ['Took', took(action)],
    ['Page', action.url_web_permalink],
  ])
  for (const target of action.targets) {
    screen.print()
    screen.print(
      `${plain(target.resource_data.name)}: ${screen.style(styleOf(target) ?? 'bold', stateOf(target))}`,
    )
    printTable(
      screen,
      target.steps,
      [
        { title: 'step', text: ({ name }) => name },
        { title: 'status', text: (step) => stateOf(step), style: (step) => styleOf(step) },
        { title: 'took', text: (step) => took(step) },
      ],
      'No steps.',
    )
  }
}

function parseLimit(given: string): number {
  const limit = Number(given)
  if (!Number.isInteger(limit) || limit < 1) throw usage(`--limit takes a whole number, not "${given}".`)
  return limit
}
