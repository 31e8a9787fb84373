// Commands that start, repeat and end runs.
import type { Command } from 'commander'
import { type Action, stateOf } from '../actions.ts'
import { every, examples, type Register, run } from '../command.ts'
import { printDetails } from '../details.ts'
import { printComparisons } from '../runs/changes.ts'
import { ACTION, findActionId, findPipeline } from '../runs/find.ts'
import { type RunOptions, toRequest } from '../runs/input.ts'
import { addUntilOptions, type UntilOptions, waitForRun } from '../runs/until-end.ts'
import { printTable } from '../table.ts'

const PIPELINE = 'a pipeline such as shop/production/web/deploy, or an application that has only one'

const addRunOptions = (command: Command) =>
  command
    .option(
      '--ref <ref>',
      'the branch, tag or commit to deploy, if not the default branch; heads/x is always a branch, tags/x a tag',
    )
    .option(
      '--var <name=value>',
      'a variable for the steps, which see it as GANTRY_VAR_<NAME>; repeatable',
      every,
    )
    .option('--server <name>', 'run on this server only; repeatable', every)

export const runPipeline: Register = (program) => {
  const command = addRunOptions(
    program
      .command('run')
      .description('start a pipeline: deploy, or whatever its steps do')
      .argument('<pipeline>', PIPELINE),
  ).option('--comment <text>', 'why, for people who look at the run later')
  addUntilOptions(command).action(
    run(async (cli, given: string, options: RunOptions & UntilOptions) => {
      const { gantry } = await cli.connect()
      const pipeline = await findPipeline(gantry, given)
      const body = await toRequest(gantry, pipeline, options)
      const started = await gantry.post('/pipelines/{id}/actions', {
        params: { path: { id: pipeline.id } },
        body,
      })
      await waitForRun(cli, gantry, started, options)
    }),
  )
  examples(
    command,
    ['gantry run shop/production/web --watch', 'deploy the default branch and watch it'],
    [
      'gantry run web --ref v2.1.0 --server web-1 --wait',
      'a tag, on one server; exits with 0 when it has completed',
    ],
    ['gantry run web/migrate --var dry=true --json', 'with a variable, for scripts'],
  )
}

export const retry: Register = (program) => {
  const command = program
    .command('retry')
    .description('start a run again, with the same commit and the current steps')
    .argument('<action>', ACTION)
  addUntilOptions(command).action(
    run(async (cli, given: string, options: UntilOptions) => {
      const { gantry } = await cli.connect()
      const id = await findActionId(gantry, given)
      const started = await gantry.post('/actions/{id}/retry', { params: { path: { id } } })
      await waitForRun(cli, gantry, started, options)
    }),
  )
}

export const cancel: Register = (program) => {
  program
    .command('cancel')
    .description('stop a run: running steps end, the others never start')
    .argument('<action>', ACTION)
    .option('--json', 'print the run as JSON')
    .action(
      run(async ({ connect, screen }, given: string, { json }: { json?: true }) => {
        const { gantry } = await connect()
        const id = await findActionId(gantry, given)
        const action = await gantry.post('/actions/{id}/cancel', { params: { path: { id } } })
        if (json) return screen.json(action)
        screen.print(
          action.completed_at === null ? `#${id} ${beingCanceled(action)}` : `#${id}: ${stateOf(action)}`,
        )
      }),
    )
}

function beingCanceled({ targets }: Action): string {
  const isLost = targets.some(({ status_reason_code }) => status_reason_code === 'RECONNECTING')
  return isLost
    ? 'is being canceled; a step whose connection was lost ends when its server is reached again, or with its lease.'
    : 'is being canceled; its running steps have ten seconds to end.'
}

export const plan: Register = (program) => {
  addRunOptions(
    program
      .command('plan')
      .description('show what a run would do and where, without starting it')
      .argument('<pipeline>', PIPELINE),
  )
    .option('--json', 'print JSON')
    .action(
      run(async ({ connect, screen }, given: string, { json, ...options }: RunOptions & { json?: true }) => {
        const { gantry } = await connect()
        const pipeline = await findPipeline(gantry, given)
        const body = await toRequest(gantry, pipeline, options)
        const planned = await gantry.post('/pipelines/{id}/plan', {
          params: { path: { id: pipeline.id }, query: { include: 'changes' } },
          body,
        })
        if (json) return screen.json(planned)
        const { source, targets, would_wait_human_readable } = planned
        printDetails(screen, [
          ['Pipeline', pipeline.path],
          ['Source', source && [source.source_type, source.source_ref].filter(Boolean).join(' ')],
          ['Starts', would_wait_human_readable ?? 'immediately'],
          // An older instance knows none.
          ['Gates', (planned.gates ?? []).map(describeGate).join(', ')],
          ['Variables', Object.keys(planned.variables).join(', ')],
        ])
        screen.print()
        printTable(
          screen,
          targets,
          [
            { title: 'server', text: ({ resource_data }) => resource_data.name },
            { title: 'batch', text: ({ batch }) => String(batch) },
            { title: 'kind', text: ({ resource_data }) => resource_data.provider_name_human_readable },
          ],
          'No servers.',
        )
        screen.print()
        printTable(
          screen,
          targets[0]?.steps ?? [],
          [
            { title: 'step', text: ({ name }) => name },
            { title: 'command', text: ({ command, built_in }) => command ?? (built_in ? '(built in)' : '') },
          ],
          'No steps.',
        )
        if (!planned.comparisons) return
        screen.print()
        printComparisons(screen, planned.comparisons)
      }),
    )
}

/** `freeze`, or `freeze until 2026-12-27T00:00:00.000Z`. */
type PlannedGate = { gate: string; state: string; until: string | null }

function describeGate({ gate, state, until }: PlannedGate): string {
  if (state === 'overridden') return `${gate} (overridden)`
  return until === null ? gate : `${gate} until ${until}`
}
