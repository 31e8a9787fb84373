// How an application or an environment is delivered: how often, how fast, how well.
import type { components } from '@gantry/client'
import { examples, type Register, run } from '../command.ts'
import { printDetails } from '../details.ts'
import { usage } from '../ending.ts'
import { findNamed } from '../names.ts'
import { duration } from '../times.ts'

type Insights = components['schemas']['Insights']
type Options = { environment?: string; from?: string; to?: string; json?: true }

export const insights: Register = (program) => {
  const command = program
    .command('insights')
    .description('show deployment frequency, lead time, change failure rate and time to restore')
    .argument('[application]', 'an application such as shop/production/web')
    .option(
      '--environment <environment>',
      'the application in this environment; without an application, everything in it',
    )
    .option('--from <day>', 'the first day, in UTC, such as 2026-11-18; 30 days in all unless given')
    .option('--to <day>', 'the last day, in UTC; today unless given; at most 366 days in all')
    .option('--json', 'print JSON')
    .action(
      run(async ({ connect, screen }, application: string | undefined, options: Options) => {
        const { environment, from, to, json } = options
        if (application === undefined && environment === undefined)
          throw usage('Insights of what?', 'Name an application, or an environment with --environment.')
        const { gantry } = await connect()
        const query = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
        const ofApplication = application !== undefined
        const given = [environment, application].filter((one) => one !== undefined).join('/')
        const { id, path } = await findNamed(gantry, [ofApplication ? 'application' : 'environment'], given)
        const params = { params: { path: { id: Number(id) }, query } }
        const found = ofApplication
          ? await gantry.get('/applications/{id}/insights', params)
          : await gantry.get('/environments/{id}/insights', params)
        if (json) return screen.json(found)
        printDetails(screen, [[ofApplication ? 'Application' : 'Environment', path], ...describe(found)])
      }),
    )
  examples(
    command,
    ['gantry insights shop', 'the last 30 days of an application'],
    [
      'gantry insights --environment shop/production --from 2026-10-01 --to 2026-10-31',
      'a month of an environment',
    ],
    [
      "gantry insights shop --json | jq '.days[] | select(.reverts > 0)'",
      'the days on which Gantry reverted',
    ],
  )
  command.addHelpText('after', `\n${DEFINITIONS}`)
}

const DEFINITIONS = `Definitions:
  Deployment           a deploy, not a rollback, that activated a new commit on at least one server
  Lead time            from the commit to the last activation of its deployment
  Change failure rate  deployments that ended FAILED_REVERTED, FAILED_REVERT or FAILED_UNHEALTHY, that were
                       reverted on a server, or that were rolled back before the next one, out of all
  Time to restore      from the first activation of a failed deployment until its revert, a rollback or the
                       next healthy deployment was complete
  Half of all are at most p50, nine out of ten at most p90. Days are in UTC.`

function describe(found: Insights): [label: string, text: string][] {
  const { deployments, lead_time_seconds, change_failure, restore_seconds, days } = found
  const sum = (count: (day: Insights['days'][number]) => number) =>
    days.reduce((total, day) => total + count(day), 0)
  const open = restore_seconds.open > 0 ? `; ${restore_seconds.open} not restored yet` : ''
  return [
    ['Days', `${found.from} to ${found.to}`],
    ['Recorded since', found.history_since.slice(0, 10)],
    ['Deployments', `${deployments.count} (${deployments.per_day} per day)`],
    ['Lead time', percentiles(lead_time_seconds)],
    [
      'Change failure rate',
      change_failure.rate === null
        ? 'no deployments'
        : `${Math.round(change_failure.rate * 1_000) / 10} % (${change_failure.failed} of ${deployments.count})`,
    ],
    ['Time to restore', `${percentiles(restore_seconds)}${open}`],
    ['Rollbacks', String(sum((day) => day.rollbacks))],
    ['Reverts', String(sum((day) => day.reverts))],
  ]
}

function percentiles({ p50, p90, samples }: { p50: number | null; p90: number | null; samples: number }) {
  if (p50 === null || p90 === null) return 'no samples'
  return `p50 ${duration(p50)}, p90 ${duration(p90)} (${samples} ${samples === 1 ? 'sample' : 'samples'})`
}
