// Undoing a deploy: from what is live to an earlier release.
import { type components, type Gantry, GantryError } from '@gantry/client'
import { confirm } from '../ask.ts'
import type { Cli } from '../cli.ts'
import { examples, type Register, run } from '../command.ts'
import { Failure } from '../ending.ts'
import { EXIT } from '../exit-codes.ts'
import { findPipeline, newestAction } from '../runs/find.ts'
import type { RunRequest } from '../runs/input.ts'
import { addUntilOptions, type UntilOptions, waitForRun } from '../runs/until-end.ts'
import { cut, oneLine } from '../table.ts'

type Rollback = NonNullable<components['schemas']['RunPlan']['rollback']>
type Options = UntilOptions & { to?: string; comment?: string; yes?: true }

export const rollback: Register = (program) => {
  const command = program
    .command('rollback')
    .description('roll back to the previous release, or to the one you name; asks first')
    .argument('<pipeline>', 'a deploy pipeline, or an application that has only one')
    .option(
      '--to <release>',
      'the release, for example 20261115080000-1a2b3c4d, whatever is live; `gantry releases` lists them',
    )
    .option('--comment <text>', 'why, for people who look at the run later')
    .option('-y, --yes', 'do not ask; without a terminal it never asks')
  addUntilOptions(command).action(
    run(async (cli, given: string, options: Options) => {
      const { gantry } = await cli.connect()
      const { id, path } = await findPipeline(gantry, given, { isDeploy: true })
      try {
        await rollBack(cli, gantry, id, options)
      } catch (error) {
        if (!(error instanceof GantryError)) throw error
        if (error.code === 'nothing_to_roll_back') return printNothing(cli, error, path, options)
        if (error.code !== 'live_releases_differ' && error.code !== 'live_unknown') throw error
        throw new Failure(error.message, { exit: EXIT.refused, hint: naming(path) })
      }
    }),
  )
  examples(
    command,
    ['gantry rollback shop/production/web --watch', 'shows from which release to which, and asks'],
    ['gantry rollback web --yes --wait', 'without a question'],
  )
}

async function rollBack(cli: Cli, gantry: Gantry, pipelineId: number, options: Options): Promise<void> {
  const { screen } = cli
  const params = { path: { id: pipelineId } }
  const wanted = await wantedRollback(gantry, pipelineId, options)
  const { rollback: planned } = await gantry.post('/pipelines/{id}/plan', { params, body: wanted })
  // In a pipe, what is printed is the run.
  const write = screen.isTerminal && !options.json ? screen.print : screen.note
  for (const line of planned ? describe(planned) : []) write(cut(line, screen.columns))
  if (screen.isInteractive && !options.yes && !(await confirm('Roll back?')))
    throw new Failure('Nothing was changed.', { exit: EXIT.ended })
  const { comment } = options
  // What was shown is what starts.
  const body: RunRequest = {
    ...wanted,
    ...(planned && { release_name: planned.to.release_name }),
    ...(comment !== undefined && { trigger_comment: comment }),
  }
  await waitForRun(cli, gantry, await gantry.post('/pipelines/{id}/actions', { params, body }), options)
}

/** To a release that is named, whatever is live; otherwise it undoes the newest deploy that ran to an end. */
async function wantedRollback(gantry: Gantry, pipelineId: number, { to }: Options): Promise<RunRequest> {
  if (to !== undefined) return { type: 'rollback', release_name: to }
  const newest = await newestAction(gantry, {
    'filter[pipeline_id]': String(pipelineId),
    'filter[status]': 'completed,failed',
  })
  return { type: 'rollback', ...(newest !== undefined && { rollback_from: newest }) }
}

function describe({ from, to }: Rollback): string[] {
  const about = ({ release_name, action_id, commit_hash, commit_message }: Rollback['to']) =>
    [
      release_name,
      action_id !== null && `#${action_id}`,
      commit_hash?.slice(0, 8),
      oneLine(commit_message?.split('\n', 1)[0] ?? ''),
    ]
      .filter(Boolean)
      .join('  ')
  return [`From  ${from ? about(from) : 'whatever is live on each server'}`, `→ to  ${about(to)}`]
}

/** Not a failure: what is live stays. */
function printNothing({ screen }: Cli, error: GantryError, path: string, { json }: Options): void {
  const { code, message } = error
  if (json) screen.json({ code, message })
  else {
    screen.print(message)
    screen.note(naming(path))
  }
}

const naming = (path: string) =>
  `To choose a release: gantry rollback ${path} --to <release>; \`gantry releases\` lists them.`
