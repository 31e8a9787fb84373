// What the cards of applications, the table of their servers and their insights say.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type {
  ActionMove,
  ApplicationCard,
  CardRun,
  Insights,
  LiveRelease,
  Release,
  ReleaseComparison,
} from '#web/base/api/types.ts'
import { toCommitLine } from '#web/pages/applications/commit-line.ts'
import { groupByServer } from '#web/pages/applications/server-releases.ts'
import { layOutChain } from '#web/pages/environments/chain.ts'
import { toMatrix } from '#web/pages/environments/matrix.ts'
import { gatesText, toSlots } from '#web/pages/environments/slots.ts'
import { applyMoves, groupByEnvironment } from '#web/pages/overview/cards.ts'
import { toStepDurations } from '#web/pages/pipelines/step-durations.ts'
import { driftText, nothingLiveText, onServers } from '#web/resources/applications/live-text.ts'
import { figuresOf, firstDay, recordedSince } from '#web/resources/insights/figures.ts'
import { shipsText } from '#web/resources/runs/ships-text.ts'

const AT = '2026-11-18T10:00:00.000Z'

function run(id: number, status: CardRun['status']): CardRun {
  return { id, status, started_at: null, completed_at: null, created_at: AT } as CardRun
}

function card(id: number, given: Partial<ApplicationCard> = {}): ApplicationCard {
  return {
    id,
    name: `shop-${id}`,
    environment: { id: 1, name: 'Production', type: 'production' },
    project: { id: 1, name: 'Web shop' },
    organization: { id: 1, name: 'Acme' },
    runs: [],
    running: [],
    live: [],
    servers: { count: 1, unknown: 0, nothing: 1 },
    drift: false,
    ...given,
  } as ApplicationCard
}

const move = (action_id: number, status: CardRun['status']) =>
  ({ action_id, status, status_reason_human_readable: status, occurred_at: AT }) as ActionMove

describe('cards of applications', () => {
  it('are grouped by environment, in the order of the list, and name the organization where there are several', () => {
    const staging = { id: 2, name: 'Staging', type: 'staging' }
    const cards = [card(3), card(1), card(2, { environment: staging })]
    assert.deepEqual(
      groupByEnvironment(cards).map((group) => [group.title, group.cards.map(({ id }) => id)]),
      [
        ['Web shop / Production', [3, 1]],
        ['Web shop / Staging', [2]],
      ],
    )
    const other = card(4, { organization: { id: 2, name: 'Other' }, environment: staging })
    assert.deepEqual(
      groupByEnvironment([card(1), other]).map(({ title }) => title),
      ['Acme / Web shop / Production', 'Other / Web shop / Staging'],
    )
  })

  it('follow events: a run starts and ends in place, and other cards stay the same objects', () => {
    const cards = [card(1, { runs: [run(7, 'queued'), run(6, 'completed')] }), card(2)]
    const started = applyMoves(cards, [move(7, 'in-progress')])
    assert.deepEqual([started[0]!.runs[0]!.status, started[0]!.runs[0]!.started_at], ['in-progress', AT])
    assert.deepEqual(
      started[0]!.running.map(({ id }) => id),
      [7],
    )
    assert.equal(started[1], cards[1])
    const ended = applyMoves(started, [move(7, 'in-progress'), move(7, 'failed')])
    assert.deepEqual([ended[0]!.runs[0]!.status, ended[0]!.runs[0]!.completed_at], ['failed', AT])
    assert.deepEqual(ended[0]!.running, [])
  })

  it('ignore events about runs that have ended, and about runs that they do not show', () => {
    const cards = [card(1, { runs: [run(6, 'completed')] })]
    assert.equal(applyMoves(cards, [move(6, 'in-progress')])[0]!.runs[0]!.status, 'completed')
    assert.equal(applyMoves(cards, [move(9, 'in-progress')])[0], cards[0])
  })

  it('say what is live, and where servers differ', () => {
    const live = [{ servers: 2 }, { servers: 1 }] as ApplicationCard['live']
    const servers = { count: 4, unknown: 1, nothing: 0 }
    assert.equal(driftText({ live, servers, drift: true }), '2 commits live, unknown on 1 server')
    assert.equal(driftText({ live: live.slice(0, 1), servers: { ...servers, unknown: 0 }, drift: false }), '')
    assert.equal(onServers(2, 3), 'on 2 of 3 servers')
    assert.equal(onServers(1, 1), 'on 1 server')
    assert.equal(nothingLiveText({ live, servers }), undefined)
    assert.equal(nothingLiveText({ live: [], servers }), 'Live release unknown')
    assert.equal(
      nothingLiveText({ live: [], servers: { count: 0, unknown: 0, nothing: 0 } }),
      'Not linked to a server yet',
    )
  })
})

describe('the servers of an application', () => {
  const live = (id: number, hash: string | null, state: LiveRelease['state'] = 'known') =>
    ({
      server: { id, name: `web-${id}` },
      state,
      commit: hash === null ? null : { hash, message: null, url: null },
      release_name: hash,
      since: AT,
    }) as LiveRelease

  it('drift where one serves another commit than most, or what it serves is unknown', () => {
    const servers = [
      live(1, 'aaa'),
      live(2, 'bbb'),
      live(3, 'aaa'),
      live(4, null, 'unknown'),
      live(5, null, 'nothing'),
    ]
    assert.deepEqual(
      groupByServer(servers, []).map(({ hasDrift }) => hasDrift),
      [false, true, false, true, false],
    )
  })

  it('have the live release first, then those to return to', () => {
    const release = (release_name: string, isLive: boolean) => ({ release_name, live: isLive }) as Release
    const stored = [
      {
        server: { id: 1, name: 'web-1' },
        releases: [release('new', false), release('now', true), release('old', false)],
      },
    ]
    const [group] = groupByServer([live(1, 'aaa')], stored)
    assert.equal(group!.live!.release_name, 'now')
    assert.deepEqual(
      group!.older.map(({ release_name }) => release_name),
      ['new', 'old'],
    )
  })
})

describe('what a deploy ships', () => {
  const comparison = (given: Partial<ReleaseComparison>) =>
    ({ state: 'compared', commits: { total: 0, items: [] }, ...given }) as ReleaseComparison

  it('is said in one line', () => {
    assert.equal(shipsText(comparison({ commits: { total: 2, items: [] } })), 'Ships 2 commits:')
    assert.equal(shipsText(comparison({})), 'Ships nothing new: this commit is live.')
    assert.equal(shipsText(comparison({ removed_commits: { total: 1, items: [] } })), 'Ships no new commit.')
    assert.equal(
      shipsText(
        comparison({ state: 'unavailable', commits: null, reason_human_readable: 'Not fetched yet' }),
      ),
      'Not fetched yet',
    )
  })
})

describe('insights', () => {
  const insights: Insights = {
    from: '2026-10-20',
    to: '2026-11-18',
    history_since: '2026-11-01T08:00:00.000Z',
    deployments: { count: 15, per_day: 0.5 },
    lead_time_seconds: { p50: 3_600, p90: 259_200, samples: 15 },
    change_failure: { failed: 2, rate: 0.1333 },
    restore_seconds: { p50: 90, p90: 120, samples: 1, open: 1 },
    days: [],
  }

  it('are four figures', () => {
    assert.deepEqual(
      figuresOf(insights).map(({ name, value, note }) => [name, value, note]),
      [
        ['Deployments', '15', '0.5 per day'],
        ['Lead time', '1 h 00 min', '9 of 10 at most 3 days'],
        ['Change failure rate', '13.3%', '2 of 15 deployments'],
        ['Time to restore', '1 min 30 s', '9 of 10 at most 2 min 00 s, 1 not restored yet'],
      ],
    )
  })

  it('say when there is nothing to count, and since when there is', () => {
    const none = figuresOf({
      ...insights,
      deployments: { count: 0, per_day: 0 },
      lead_time_seconds: { p50: null, p90: null, samples: 0 },
      change_failure: { failed: 0, rate: null },
      restore_seconds: { p50: null, p90: null, samples: 0, open: 0 },
    })
    assert.deepEqual(
      none.map(({ value }) => value),
      ['0', '–', '–', '–'],
    )
    assert.equal(recordedSince(insights), insights.history_since)
    assert.equal(recordedSince({ ...insights, from: '2026-11-01' }), undefined)
  })

  it('begin on a UTC day', () => {
    assert.equal(firstDay(30, new Date('2026-11-18T23:59:59.999Z')), '2026-10-20')
    assert.equal(firstDay(1, new Date('2026-11-18T00:00:00.000Z')), '2026-11-18')
  })
})

describe('pictures', () => {
  it('draw each pipeline to the right of those that it runs after, and only those of a chain', () => {
    const pipeline = (id: number, ...run_after: number[]) => ({ id, name: `p${id}`, run_after })
    const { nodes, columns, rows } = layOutChain([
      pipeline(4, 3, 2),
      pipeline(1),
      pipeline(2, 1),
      pipeline(3, 2),
      pipeline(5),
      pipeline(6, 1),
      pipeline(7, 99),
    ])
    assert.deepEqual(
      nodes.map(({ id, column, after }) => [id, column, after.map((one) => one.id)]),
      [
        [1, 0, []],
        [2, 1, [1]],
        [6, 1, [1]],
        [3, 2, [2]],
        [4, 3, [3, 2]],
      ],
    )
    assert.deepEqual([columns, rows], [4, 2])
    assert.deepEqual(layOutChain([]), { nodes: [], columns: 0, rows: 0 })
  })

  it('end, even if pipelines run after each other in a circle', () => {
    const circle = [
      { id: 1, name: 'a', run_after: [2] },
      { id: 2, name: 'b', run_after: [1] },
    ]
    assert.equal(layOutChain(circle).nodes.length, 2)
  })

  it('show the run in each slot, the free ones, and the queue, oldest first', () => {
    const waits = (id: number, status_reason_code: string) => ({
      id,
      status: 'waiting',
      status_reason_code,
      pipeline_id: 1,
    })
    const active = [
      { id: 9, status: 'queued', status_reason_code: 'QUEUED', pipeline_id: 1 },
      { id: 7, status: 'in-progress', status_reason_code: 'IN_PROGRESS', pipeline_id: 1 },
      { id: 6, status: 'in-progress', status_reason_code: 'IN_PROGRESS', pipeline_id: 2 },
      waits(12, 'WAITING_CONCURRENCY_PIPELINE'),
      waits(11, 'WAITING_CONCURRENCY_PIPELINE'),
      waits(10, 'WAITING_APPROVAL'),
      waits(8, 'WAITING_WORKER'),
    ] as unknown as Parameters<typeof toSlots>[1]
    const pipelines = [
      { id: 2, name: 'b', max_parallel_actions: 0 },
      { id: 1, name: 'a', max_parallel_actions: 4 },
      { id: 3, name: 'c', max_parallel_actions: 1 },
    ]
    const ids = (runs: readonly { id: number }[]) => runs.map(({ id }) => id)
    assert.deepEqual(
      toSlots(pipelines, active).map((one) => [
        one.pipeline.name,
        ids(one.running),
        one.free,
        ids(one.waiting),
      ]),
      [
        ['a', [7, 8, 9], 1, [11, 12]],
        ['b', [6], null, []],
      ],
    )
  })

  it('count the runs that are in no queue, because they wait at a gate', () => {
    assert.deepEqual(gatesText({ checks: '0', approval: '0', freeze: '0' }), [])
    assert.deepEqual(gatesText({ checks: '1', approval: '10000+', freeze: '0' }), [
      { gate: 'checks', text: '1 waits for checks' },
      { gate: 'approval', text: '10000+ wait for approval' },
    ])
  })

  it('have a cell for each server and application, with drift', () => {
    const on = (id: number, name: string, hash: string) =>
      ({ server: { id, name }, state: 'known', commit: { hash }, since: AT }) as LiveRelease
    const { servers, rows } = toMatrix(
      [
        { id: 1, name: 'shop' },
        { id: 2, name: 'blog' },
      ],
      [
        [on(1, 'web-2', 'aaaaaaaaaa'), on(2, 'web-1', 'aaaaaaaaaa'), on(3, 'web-3', 'bbbbbbbbbb')],
        [on(1, 'web-2', 'c')],
      ],
    )
    assert.deepEqual(
      servers.map(({ name }) => name),
      ['web-1', 'web-2', 'web-3'],
    )
    assert.deepEqual(
      rows.map(({ cells }) => cells.map((cell) => cell && [cell.text, cell.hasDrift])),
      [
        [
          ['aaaaaaaa', false],
          ['aaaaaaaa', false],
          ['bbbbbbbb', true],
        ],
        [undefined, ['c', false], undefined],
      ],
    )
  })

  it('tell the duration of each step by its slowest server, oldest run first', () => {
    const step = (name: string, seconds: number, status = 'completed') => ({
      name,
      status,
      started_at: AT,
      completed_at: new Date(Date.parse(AT) + seconds * 1_000).toISOString(),
    })
    const runs = [
      { id: 2, targets: [{ steps: [step('build', 4), step('test', 1, 'failed')] }] },
      { id: 1, targets: [{ steps: [step('build', 2)] }, { steps: [step('build', 3)] }] },
    ] as unknown as Parameters<typeof toStepDurations>[0]
    assert.deepEqual(
      toStepDurations(runs).map(({ id, seconds, median, last }) => [id, seconds, median, last]),
      [
        ['build', [3, 4], 3.5, 4],
        ['test', [null, null], null, null],
      ],
    )
  })

  it('put each commit on the line once: live where, reverted, waiting, skipped; also what went live long ago', () => {
    const deploy = (id: number, hash: string | null, status: string, reason = '') =>
      ({
        id,
        status,
        status_reason_code: reason,
        created_at: AT,
        action_data: { commit: hash && { hash }, deployment: { source_ref: 'main' } },
      }) as unknown as Parameters<typeof toCommitLine>[0][number]
    const serves = (name: string, hash: string) =>
      ({
        server: { id: 1, name },
        state: 'known',
        commit: { hash },
        action: { id: 1 },
        since: AT,
      }) as LiveRelease
    const live = [serves('web-1', 'aaa'), serves('web-2', 'eee')]
    const line = toCommitLine(
      [
        deploy(9, null, 'waiting'),
        deploy(8, 'ccc', 'failed', 'FAILED_REVERTED'),
        deploy(7, 'aaa', 'completed'),
        deploy(6, 'bbb', 'skipped'),
        deploy(5, 'aaa', 'completed'),
        deploy(4, 'ddd', 'completed'),
      ],
      live,
    )
    assert.deepEqual(
      line.map(({ hash, state, liveOn, run }) => [hash, state, liveOn, run?.id]),
      [
        [null, 'waiting', [], 9],
        ['ccc', 'reverted', [], 8],
        ['aaa', 'live', ['web-1'], 7],
        ['bbb', 'skipped', [], 6],
        ['ddd', 'earlier', [], 4],
        ['eee', 'live', ['web-2'], 1],
      ],
    )
  })
})
