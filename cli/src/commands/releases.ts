// What is live on the servers of an application, and which releases are there to go back to.
import type { components, Gantry } from '@gantry/client'
import { examples, type Register, run } from '../command.ts'
import { Failure, usage } from '../ending.ts'
import { EXIT } from '../exit-codes.ts'
import { findNamed } from '../names.ts'
import { type Column, printTable } from '../table.ts'
import { ago } from '../times.ts'

type LiveRelease = components['schemas']['LiveRelease']
type Release = components['schemas']['Release']
type Commit = LiveRelease['commit']

const APPLICATION = 'an application such as shop/production/web'

export const live: Register = (program) => {
  const command = program
    .command('live')
    .description('show what each server of an application serves, and where a commit is live')
    .argument('<application>', APPLICATION)
    .option('--contains <commit>', 'say on which servers this commit is live: at least 7 digits of its hash')
    .option('--json', 'print JSON')
    .action(
      run(async (cli, given: string, { contains, json }: { contains?: string; json?: true }) => {
        if (contains !== undefined && !/^[0-9a-f]{7,64}$/i.test(contains))
          throw usage(`"${contains}" is not a commit.`, 'Give at least 7 digits of its hash.')
        const { gantry } = await cli.connect()
        const { id } = await findNamed(gantry, ['application'], given)
        const servers = await gantry.get('/applications/{id}/live', {
          params: { path: { id: Number(id) }, query: { ...(contains && { contains }) } },
        })
        if (json) cli.screen.json(servers)
        else {
          printTable(cli.screen, servers, liveColumns(contains !== undefined), 'No servers.')
          for (const { server, unknown_reason } of servers)
            if (unknown_reason !== null)
              cli.screen.note(`${server?.name ?? 'A server'}: ${unknown_reason} Gantry keeps asking it.`)
        }
        if (contains !== undefined) assertLive(contains, servers)
      }),
    )
  examples(
    command,
    ['gantry live shop/production/web', 'what each server serves'],
    ['gantry live web --contains 1a2b3c4', 'exits with 0 if the commit is live on all servers, else with 1'],
  )
}

const liveColumns = (isAsked: boolean): Column<LiveRelease>[] => [
  { title: 'server', text: ({ server }) => server?.name ?? '' },
  ...(isAsked ? [{ title: 'contains', text: containsOf } satisfies Column<LiveRelease>] : []),
  { title: 'release', text: releaseOf },
  { title: 'run', text: ({ action }) => (action ? `#${action.id}` : '') },
  { title: 'since', text: ({ since }) => ago(since) },
  { title: 'commit', text: ({ commit }) => subjectOf(commit) },
]

/** Of a server where it is unknown, what may be live. */
function releaseOf({ state, release_name, last_known, candidate }: LiveRelease): string {
  if (state === 'nothing') return 'nothing live'
  if (state === 'known') return release_name ?? ''
  const names = [last_known, candidate].flatMap((one) => one?.release_name ?? [])
  return names.length === 0 ? 'unknown' : `unknown: ${names.join(' or ')}`
}

const UNKNOWN: Record<NonNullable<LiveRelease['contains_reason']>, string> = {
  nothing_live: 'no: nothing is live',
  live_unknown: 'unknown live release',
  unknown_commit: 'unknown: no deploy has fetched this commit',
  ambiguous_commit: 'unknown: several commits begin like this',
  unknown_live_commit: 'unknown: the live commit is not in the mirror',
  shallow_history: 'unknown: the history is incomplete',
  no_mirror: 'unknown: the instance has no mirror of the repository',
  timeout: 'unknown: looking it up took too long',
}

function containsOf({ contains, contains_reason }: LiveRelease): string {
  if (contains !== null) return contains ? 'yes' : 'no'
  return contains_reason === null ? '' : (UNKNOWN[contains_reason] ?? contains_reason)
}

function assertLive(commit: string, servers: readonly LiveRelease[]): void {
  const count = servers.filter(({ contains }) => contains).length
  if (count === servers.length && count > 0) return
  throw new Failure(`${commit} is live on ${count} of ${servers.length} servers.`, { exit: EXIT.failed })
}

export const releases: Register = (program) => {
  const command = program
    .command('releases')
    .description('list the releases on each server of an application')
    .argument('<application>', APPLICATION)
    .option('--json', 'print JSON')
    .action(
      run(async ({ connect, screen }, given: string, { json }: { json?: true }) => {
        const { gantry } = await connect()
        const { id } = await findNamed(gantry, ['application'], given)
        const servers = await readReleases(gantry, Number(id))
        if (json) return screen.json(servers)
        const rows = servers.flatMap(({ server, releases }) =>
          releases.map((release) => ({ ...release, server })),
        )
        printTable(
          screen,
          rows,
          [
            { title: 'server', text: ({ server }) => server?.name ?? '' },
            { title: 'release', text: ({ release_name }) => release_name },
            { title: 'state', text: (release) => stateOf(release) },
            { title: 'size', text: ({ size_bytes }) => sizeOf(size_bytes) },
            { title: 'run', text: ({ action }) => (action ? `#${action.id}` : '') },
            { title: 'commit', text: ({ commit }) => subjectOf(commit) },
          ],
          'No releases.',
        )
      }),
    )
  examples(
    command,
    ['gantry releases shop/production/web', 'what is on the servers'],
    ['gantry rollback web --to 20261115080000-1a2b3c4d', 'roll back to one of them'],
  )
}

/** The names that a rollback of the application can take, newest first. */
export async function rollbackNames(gantry: Gantry, applicationId: number): Promise<string[]> {
  const servers = await readReleases(gantry, applicationId)
  const names = servers.flatMap(({ releases }) =>
    releases.filter(({ can_roll_back }) => can_roll_back).map(({ release_name }) => release_name),
  )
  return [...new Set(names)].sort().reverse()
}

const readReleases = (gantry: Gantry, id: number) =>
  gantry.get('/applications/{id}/releases', { params: { path: { id } } })

function stateOf({ live, was_live, reverted }: Release): string {
  if (live) return 'live'
  if (reverted) return 'reverted'
  return was_live ? 'was live' : 'never live'
}

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB']

/** 1536 → '1.5 KiB' */
export function sizeOf(bytes: number | null): string {
  if (bytes === null) return ''
  let size = bytes / 1_024
  let unit = 0
  while (size >= 1_024 && unit < UNITS.length - 1) {
    size /= 1_024
    unit += 1
  }
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${UNITS[unit]}`
}

const subjectOf = (commit: Commit) =>
  commit ? `${commit.hash.slice(0, 7)} ${commit.message?.split('\n', 1)[0] ?? ''}`.trimEnd() : ''
