// The logic of the pages, without a browser.
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type ApiListener, createApi } from '#web/base/api/api.ts'
import type { ActionMove, HookRequestRecord, Target } from '#web/base/api/types.ts'
import { isGranted } from '#web/base/session/permissions.ts'
import { formatAge, formatDuration, formatWait, safeUrl } from '#web/base/ui/format.ts'
import { outcomeLabel, triggerLabel } from '#web/base/ui/status.ts'
import { selectStep, stateSummary } from '#web/pages/action/steps.ts'
import { timeScale } from '#web/pages/action/time-scale.ts'
import { matches, readFilters, toQuery } from '#web/pages/actions/filters.ts'
import {
  applyEvents,
  groupRows,
  insert,
  type Row,
  reuseRows,
  withoutCommit,
} from '#web/pages/actions/rows.ts'
import { deliveriesSummary, groupDeliveries } from '#web/pages/hooks/outgoing/deliveries.ts'
import { median, successRate } from '#web/pages/pipelines/run-stats.ts'
import { healthSummary } from '#web/resources/hooks/hook-health.ts'
import { curlCommand } from '#web/shared/copy-as/curl.ts'
import { PLAIN, parseLine, stripColors } from '#web/shared/log/ansi.ts'
import { createLogLines } from '#web/shared/log/log-lines.ts'
import { scopeLabel } from '#web/shared/scope/scope-names.ts'

describe('a log', () => {
  it('is parsed into colored spans, across line ends', () => {
    const first = parseLine('plain \x1b[1;31mred', PLAIN)
    assert.deepEqual(first.spans, [
      { text: 'plain ', style: {} },
      { text: 'red', style: { bold: true, foreground: 1 } },
    ])
    const second = parseLine('still\x1b[0m over', first.next)
    assert.deepEqual(second.spans, [
      { text: 'still', style: { bold: true, foreground: 1 } },
      { text: ' over', style: {} },
    ])
    assert.deepEqual(parseLine('\x1b[38;5;208mx\x1b[48;2;1;2;300my', PLAIN).spans, [
      { text: 'x', style: { foreground: 'rgb(255 135 0)' } },
      { text: 'y', style: { foreground: 'rgb(255 135 0)', background: 'rgb(1 2 255)' } },
    ])
    assert.equal(stripColors('a\x1b[31mb\x1b[0m'), 'ab')
  })

  it('grows by chunks that end anywhere, and counts bytes as the API does', () => {
    const lines = createLogLines()
    lines.append('one\ntw')
    assert.equal(lines.count(), 2)
    lines.append('ö\n')
    assert.equal(lines.count(), 2)
    assert.equal(lines.line(1).text, 'twö')
    assert.equal(lines.size(), 9)
    assert.equal(lines.text(), 'one\ntwö\n')
  })

  it('splits lines that are too long for one element, and finds text in any case or color', () => {
    const lines = createLogLines()
    lines.append(`${'x'.repeat(5_000)}\nHel\x1b[31mlo\x1b[0m there`)
    assert.equal(lines.count(), 4)
    assert.deepEqual(lines.find('hello'), [3])
    assert.deepEqual(lines.find(''), [])
  })

  it('of ten megabytes is read and searched within seconds', () => {
    const lines = createLogLines()
    const text = `${'a line of a log that is long enough '.repeat(2)}\n`.repeat(1_000)
    const startedAt = performance.now()
    while (lines.size() < 10 * 1024 * 1024) lines.append(text)
    assert.equal(lines.find('nowhere').length, 0)
    assert.ok(performance.now() - startedAt < 5_000)
    assert.ok(lines.count() > 100_000)
  })
})

describe('the list of actions', () => {
  const row = (id: number, more: Partial<Row> = {}): Row => ({
    id,
    pipelineId: 1,
    gate: 'none',
    status: 'queued',
    reason: 'Queued',
    type: 'Deploy',
    ref: 'main',
    hash: '',
    message: '',
    resource: 'Shop',
    environment: 'Production',
    project: 'Shop',
    trigger: 'Push (hook)',
    startedAt: null,
    completedAt: null,
    createdAt: '2026-11-15T08:00:00.000Z',
    ...more,
  })
  const event = (action_id: number, status: ActionMove['status']): ActionMove => ({
    action_id,
    environment_id: 1,
    pipeline_id: 1,
    previous_status: 'queued',
    status,
    status_human_readable: status,
    status_reason_code: 'IN_PROGRESS',
    status_reason_human_readable: status,
    occurred_at: '2026-11-15T08:00:05.000Z',
  })

  it('changes the rows of events and reuses the objects of all others', () => {
    const rows = [row(2), row(1)]
    const { rows: after, unlisted } = applyEvents(rows, [event(2, 'in-progress'), event(9, 'completed')])
    assert.equal(after[0]!.status, 'in-progress')
    assert.equal(after[0]!.startedAt, '2026-11-15T08:00:05.000Z')
    assert.equal(after[1], rows[1])
    assert.deepEqual(unlisted, [9])
    assert.equal(reuseRows(rows, [row(2), row(1, { status: 'failed' })])[0], rows[0])
  })

  it('keeps a row in its group when others come and go', () => {
    const groups = (ids: number[]) =>
      groupRows(ids.map((id) => row(id))).map(([, rows]) => rows.map(({ id }) => id))
    assert.deepEqual(groups([21, 20, 19, 11, 10, 9]), [[21, 20], [19, 11, 10], [9]])
    assert.deepEqual(groups([22, 21, 20, 19, 11, 10]), [
      [22, 21, 20],
      [19, 11, 10],
    ])
  })

  it('reads a deploy again that ended before its commit was known', () => {
    const rows = [row(3), row(2, { hash: '9ecf4219' }), row(1, { ref: '' })]
    const events = [event(3, 'completed'), event(2, 'completed'), event(1, 'completed')]
    assert.deepEqual(withoutCommit(rows, events), [3])
    assert.deepEqual(withoutCommit(rows, [event(3, 'in-progress')]), [])
  })

  it('inserts new actions that match the filters into its first page, newest first', () => {
    const filters = readFilters(new URLSearchParams('status=queued'))
    const action = {
      status: 'queued',
      type: 'deploy',
      trigger: 'hook',
      pipelineId: 1,
      hookId: null,
      organizationId: 1,
      projectId: 1,
      environmentId: 1,
    }
    const found = [
      { row: row(3), action },
      { row: row(4), action: { ...action, status: 'failed' } },
    ]
    assert.deepEqual(
      insert([row(2)], found, filters).map(({ id }) => id),
      [3, 2],
    )
    assert.equal(matches(readFilters(new URLSearchParams('environment=2')), action), false)
    assert.equal(matches(readFilters(new URLSearchParams('type=deploy,stop&trigger=hook')), action), true)
  })

  it('ignores invalid parameters of the URL', () => {
    const search = new URLSearchParams('page=-1&per_page=7&pipeline=x&hook=1&organization=zero&status=failed')
    const query = toQuery(readFilters(search), 0)
    assert.deepEqual(JSON.parse(JSON.stringify(query)), { 'filter[status]': 'failed', page: 1, per_page: 25 })
    const odd = new URLSearchParams('since=toString&resource=pipeline:1&user=1;2&pipeline=1,')
    assert.deepEqual(JSON.parse(JSON.stringify(toQuery(readFilters(odd), 0))), { page: 1, per_page: 25 })
  })
})

describe('an action', () => {
  const step = (order: number, status: string, started_at: string | null = null) => ({
    order,
    name: `step-${order}`,
    status,
    started_at,
  })
  const target = (id: number, ...steps: unknown[]) =>
    ({ id, resource_id: id, resource_data: { name: `web-${id}` }, steps }) as unknown as Target

  it('opens the log of the step in the URL, else of the one that failed or is running', () => {
    const targets = [
      target(1, step(1, 'completed', 'x'), step(2, 'in-progress', 'x')),
      target(2, step(1, 'failed', 'x')),
    ]
    assert.deepEqual(selectStep(targets, '1.1'), { targetId: 1, order: 1 })
    assert.deepEqual(selectStep(targets, '9.9'), { targetId: 2, order: 1 })
    assert.deepEqual(selectStep(targets.slice(0, 1), null), { targetId: 1, order: 2 })
    assert.equal(selectStep([], null), undefined)
  })

  it('opens the log of the slowest step if it had ended before', () => {
    const ended = (order: number, seconds: number) => ({
      ...step(order, 'completed', '2026-11-18T10:00:00.000Z'),
      completed_at: new Date(Date.parse('2026-11-18T10:00:00.000Z') + seconds * 1_000).toISOString(),
    })
    const targets = [target(1, ended(1, 3), ended(2, 1)), target(2, ended(1, 5), ended(2, 2))]
    assert.deepEqual(selectStep(targets, null, { hasEnded: true }), { targetId: 2, order: 1 })
    assert.deepEqual(selectStep(targets, null), { targetId: 2, order: 2 })
    assert.deepEqual(selectStep(targets, '1.2', { hasEnded: true }), { targetId: 1, order: 2 })
    const failed = [...targets, target(3, { ...ended(1, 1), status: 'failed' })]
    assert.deepEqual(selectStep(failed, null, { hasEnded: true }), { targetId: 3, order: 1 })
  })

  it('says why it failed, and where', () => {
    const failed = {
      status: 'failed' as const,
      status_reason_code: 'FAILED_TIMEOUT' as const,
      status_reason_human_readable: 'Timed out',
      targets: [target(1, step(1, 'failed'))],
    }
    assert.equal(
      stateSummary(failed),
      'A step exceeded its timeout and was stopped. Step "step-1" failed on web-1.',
    )
    assert.equal(stateSummary({ ...failed, status_reason_code: 'FAILED' }), 'Step "step-1" failed on web-1.')
  })

  it('groups attempts into deliveries, with the state of the last attempt', () => {
    const attempt = (id: string, more: Partial<HookRequestRecord>) =>
      ({
        id,
        type: 'outgoing',
        hook_id: 'h',
        url: 'u',
        retry_of: null,
        outcome: 'unreachable',
        next_attempt_at: null,
        created_at: id,
        ...more,
      }) as HookRequestRecord
    const deliveries = groupDeliveries([
      attempt('2', { retry_of: '1', outcome: 'delivered' }),
      attempt('1', {}),
      attempt('3', { next_attempt_at: 'soon' }),
      attempt('4', {}),
      attempt('6', { retry_of: '5', outcome: 'superseded' }),
      attempt('5', {}),
      attempt('0', { type: 'incoming', outcome: 'accepted' }),
    ])
    assert.deepEqual(
      deliveries.map(({ id, state }) => [id, state]),
      [
        ['5', 'superseded'],
        ['4', 'failed'],
        ['3', 'retrying'],
        ['1', 'delivered'],
      ],
    )
    assert.equal(deliveriesSummary(deliveries), '1 delivered, 1 retrying, 1 failed, 1 superseded')
    assert.equal(deliveriesSummary([]), 'No notifications yet')
    assert.match(healthSummary([attempt('2', {}), attempt('1', {})]), /2 of the last 2 attempts failed/)
  })

  it('has a timeline from its start to now', () => {
    const from = Date.parse('2026-11-15T08:00:00Z')
    const scale = timeScale(from, from + 10_000, from + 10_000)
    assert.deepEqual(scale.span('2026-11-15T08:00:02Z', '2026-11-15T08:00:04Z'), { left: 20, width: 20 })
    assert.deepEqual(scale.span('2026-11-15T08:00:05Z', null), { left: 50, width: 50 })
    assert.deepEqual(
      scale.ticks.map(({ label }) => label),
      ['0 s', '2 s', '4 s', '6 s', '8 s'],
    )
    assert.deepEqual(timeScale(from, from, from).span('2026-11-15T08:00:00Z', null), { left: 0, width: 0 })
  })
})

describe('a person', () => {
  it('may do what a grant allows, in its scope and below', () => {
    const scope = { organization: 1, project: 2, environment: 3 }
    const may = (more: object, where = scope) => {
      const grant = { organization_id: 1, project_id: null, environment_id: null, ...more }
      return isGranted([{ ...grant, permissions: ['pipeline:run'] }], 'pipeline:run', where)
    }
    assert.equal(may({}), true)
    assert.equal(may({ organization_id: 9 }), false)
    assert.equal(may({ project_id: 9 }), false)
    assert.equal(may({ project_id: 2 }), true)
    assert.equal(may({ project_id: 2, environment_id: 3 }), true)
    assert.equal(may({ project_id: 2, environment_id: 4 }), false)
    assert.equal(
      isGranted(
        [{ organization_id: 1, project_id: null, environment_id: null, permissions: [] }],
        'hook:add',
        scope,
      ),
      false,
    )
  })

  it('gets commands that no URL or body can break out of', () => {
    const command = curlCommand({
      base: 'http://x',
      method: 'PUT',
      path: "/a'; rm -rf /",
      body: { a: "it's" },
    })
    assert.ok(command.includes(`'http://x/a'\\''; rm -rf /'`))
    assert.ok(command.includes(`"it'\\''s"`))
  })

  it('gets links to HTTP and HTTPS only', () => {
    assert.equal(safeUrl('javascript:alert(1)'), undefined)
    assert.equal(safeUrl('https://example.com/c/1'), 'https://example.com/c/1')
    assert.equal(safeUrl(null), undefined)
  })
})

describe('numbers and labels', () => {
  it('counts whole seconds until the next attempt', () => {
    assert.deepEqual([379, 3_900, 61_000].map(formatWait), ['a moment', '3 s', '1 min 01 s'])
  })

  it('says where a pipeline is in names, without those that the person may not see', () => {
    const entry = {
      path: 'web-shop/production/shop/deploy-shop',
      project_id: 1,
      environment_id: 2,
      resource_type: 'application',
      resource_id: 3,
    } as const
    const names = new Map([
      ['project:1', 'Web shop'],
      ['environment:2', 'Production'],
    ])
    assert.equal(scopeLabel(entry, names), 'Web shop / Production')
    assert.equal(scopeLabel(entry, names.set('application:3', 'shop')), 'shop · Web shop / Production')
    assert.equal(scopeLabel(entry, new Map()), 'web-shop/production/shop')
  })

  it('read naturally', () => {
    assert.deepEqual([12, 1_234, 59_999, 61_000, 3_700_000].map(formatDuration), [
      '12 ms',
      '1.2 s',
      '59 s',
      '1 min 01 s',
      '1 h 01 min',
    ])
    assert.deepEqual([1_000, 30_000, 7_200_000, 90_000_000, 300_000_000].map(formatAge), [
      'just now',
      '30 s ago',
      '2 h ago',
      'yesterday',
      '3 days ago',
    ])
    assert.equal(median([3, 1, 2]), 2)
    assert.equal(median([4, 1]), 2.5)
    assert.equal(successRate([{ id: 1, status: 'skipped', isCanceled: false, seconds: null }]), null)
    assert.equal(
      successRate([
        { id: 1, status: 'completed', isCanceled: false, seconds: 1 },
        { id: 2, status: 'failed', isCanceled: false, seconds: 1 },
        { id: 3, status: 'failed', isCanceled: true, seconds: 1 },
      ]),
      0.5,
    )
  })

  it('name what triggered a run, and what became of a request', () => {
    assert.equal(triggerLabel('manual', 'Administrator'), 'Administrator (manual)')
    assert.equal(triggerLabel('retry', null), 'Retry')
    assert.equal(outcomeLabel({ outcome: 'refused', response_status_code: 500 }), 'Receiver returned 500')
    assert.equal(outcomeLabel({ outcome: 'unreachable', response_status_code: null }), 'Receiver unreachable')
  })
})

describe('a list', () => {
  /** A server with this many organizations. */
  function serve(t: TestContext, count: number) {
    const pages: number[] = []
    t.mock.method(globalThis, 'fetch', async ({ url }: Request) => {
      const { searchParams } = new URL(url)
      const [page, perPage] = [Number(searchParams.get('page')), Number(searchParams.get('per_page'))]
      pages.push(page)
      const items = Array.from(
        { length: Math.min(perPage, count - (page - 1) * perPage) },
        (_, index) => index,
      )
      const link = page * perPage < count ? `<http://x/organizations?page=${page + 1}>; rel="next"` : ''
      return Response.json(items, { headers: { link, 'x-total-count': String(count) } })
    })
    const truncated: unknown[] = []
    const listener = { onTruncated: (list: unknown) => truncated.push(list) } as unknown as ApiListener
    return { api: createApi('http://x', listener), pages, truncated }
  }

  it('is read page by page to its end', async (t) => {
    const { api, pages, truncated } = serve(t, 250)
    assert.equal((await api.all('/organizations')).length, 250)
    assert.deepEqual(pages, [1, 2, 3])
    assert.deepEqual(truncated, [])
  })

  it('that is too long is cut off, and reported', async (t) => {
    const { api, truncated } = serve(t, 5_000)
    assert.equal((await api.all('/organizations')).length, 2_000)
    assert.deepEqual(truncated, [{ url: '/organizations', shown: 2_000, total: '5000' }])
  })
})
