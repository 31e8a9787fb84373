import type { components } from '@gantry/client'
import { slugifyAnyScript as slug } from '@gantry/client/slug'
import { kindSuffix, stateOf, styleOf } from '../actions.ts'
import { type Register, run } from '../command.ts'
import { type Column, printTable } from '../table.ts'
import { ago, took } from '../times.ts'

type Run = components['schemas']['OverviewRun']
type Attention = components['schemas']['NeedsAttention']

const columns = (isTerminal: boolean): Column<Run>[] => [
  { title: 'run', text: ({ id }) => `#${id}` },
  { title: 'status', text: stateOf, style: styleOf },
  {
    title: 'what',
    text: ({ project, environment, resource_name, pipeline, deployment_type }) =>
      [project.name, environment.name, resource_name, pipeline.name].map(slug).join('/') +
      kindSuffix(deployment_type),
  },
  { title: 'by', text: ({ trigger_name }) => trigger_name ?? '' },
  { title: 'started', text: ({ created_at }) => (isTerminal ? ago(created_at) : created_at) },
  { title: 'took', text: (one) => took(one) },
]

/** Whatever else needs attention is in the other lists. */
const ATTENTION = [
  ['live_unknown', 'Live release unknown', ['server', 'application'], null],
  ['worker_offline', 'Waiting for a worker', ['server'], null],
  [
    'connection_lost',
    'Connection to the repository lost',
    ['hook', 'application'],
    '`gantry hook connect` repairs it.',
  ],
] as const

const attentionColumns = (
  subjects: readonly ('server' | 'application' | 'hook')[],
  isTerminal: boolean,
): Column<Attention>[] => [
  ...subjects.map((subject) => ({ title: subject, text: (item: Attention) => item[subject]?.name ?? '' })),
  { title: 'since', text: ({ since }) => (isTerminal ? ago(since) : since) },
  { title: 'reason', text: ({ detail }) => detail },
]

export const status: Register = (program) => {
  program
    .command('status')
    .description('what is running, what waits for you, what has failed, and what could not be delivered')
    .option('--json', 'print JSON')
    .action(
      run(async ({ connect, screen }, { json }: { json?: true }) => {
        const { gantry, url } = await connect()
        const overview = await gantry.get('/overview')
        if (json) return screen.json(overview)
        const { running, failures, deliveries, workers, needs_attention, waiting_for_you } = overview
        const heading = (text: string) => screen.print(screen.style('bold', text))
        heading(`Running at ${url}`)
        printTable(screen, running, columns(screen.isTerminal), 'Nothing is running.')
        screen.print()
        if (waiting_for_you.count > 0) {
          heading('Waiting for you')
          printTable(screen, waiting_for_you.items, columns(screen.isTerminal), '')
          screen.note('`gantry approve` shows what a run ships, and asks.')
          screen.print()
        }
        heading('Recent failures')
        printTable(screen, failures, columns(screen.isTerminal), 'No failures.')
        screen.print()
        for (const [kind, title, subjects, remedy] of ATTENTION) {
          const items = needs_attention.items.filter((item) => item.kind === kind)
          if (items.length === 0) continue
          heading(title)
          printTable(screen, items, attentionColumns(subjects, screen.isTerminal), '')
          if (remedy !== null) screen.note(remedy)
          screen.print()
        }
        heading('Undeliverable')
        printTable(
          screen,
          deliveries.failing,
          [
            { title: 'hook', text: ({ name }) => name },
            { title: 'failures', text: ({ failures_in_a_row }) => `${failures_in_a_row} in a row` },
            {
              title: 'since',
              text: ({ failing_since }) => (screen.isTerminal ? ago(failing_since) : (failing_since ?? '')),
            },
            {
              title: 'state',
              text: ({ disabled_reason, disabled_at }) =>
                disabled_at ? `off: ${disabled_reason}` : 'retrying',
            },
          ],
          'Nothing: everything was delivered.',
        )
        if (workers.alive === 0)
          screen.note('No worker is online: nothing runs until one starts. `gantry doctor` says more.')
      }),
    )
}
