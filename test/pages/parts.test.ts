// The parts of the pages that decide something, without a browser.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chooseStep } from '../../web/src/action/choose-step.ts'
import { reasonInWords } from '../../web/src/action/reasons.ts'
import { gatherTellings, summarize } from '../../web/src/action/tellings.ts'
import { timeScale } from '../../web/src/action/time-scale.ts'
import { matches, readFilters, toQuery } from '../../web/src/actions/filters.ts'
import { applyMoves, insert, keepSame, type Row } from '../../web/src/actions/rows.ts'
import type { ActionMove, HookRequestRecord, Target } from '../../web/src/api-types.ts'
import { curlCommand } from '../../web/src/hooks/curl.ts'
import { healthInWords } from '../../web/src/hooks/hook-health.ts'
import { PLAIN, readLine, withoutColours } from '../../web/src/log/ansi.ts'
import { createLogLines } from '../../web/src/log/log-lines.ts'
import { median, successRate } from '../../web/src/pipelines/run-figures.ts'
import { NO_WISH, toBody } from '../../web/src/pipelines/run-wish.ts'
import { mayRun } from '../../web/src/session/may-run.ts'
import { formatAge, formatDuration } from '../../web/src/words/time.ts'
import { webAddress } from '../../web/src/words/web-address.ts'

describe('a log', () => {
  it('has its colours taken out of the text, over the end of a line', () => {
    const first = readLine('plain \x1b[1;31mred', PLAIN)
    assert.deepEqual(first.pieces, [
      { text: 'plain ', style: {} },
      { text: 'red', style: { bold: true, foreground: 1 } },
    ])
    const second = readLine('still\x1b[0m over', first.next)
    assert.deepEqual(second.pieces, [
      { text: 'still', style: { bold: true, foreground: 1 } },
      { text: ' over', style: {} },
    ])
    assert.deepEqual(readLine('\x1b[38;5;208mx\x1b[48;2;1;2;300my', PLAIN).pieces, [
      { text: 'x', style: { foreground: 'rgb(255 135 0)' } },
      { text: 'y', style: { foreground: 'rgb(255 135 0)', background: 'rgb(1 2 255)' } },
    ])
    assert.equal(withoutColours('a\x1b[31mb\x1b[0m'), 'ab')
  })

  it('grows by pieces that end anywhere, and counts bytes as the API does', () => {
    const lines = createLogLines()
    lines.append('one\ntw')
    assert.equal(lines.count(), 2)
    lines.append('ö\n')
    assert.equal(lines.count(), 2)
    assert.equal(lines.line(1).text, 'twö')
    assert.equal(lines.size(), 9)
    assert.equal(lines.whole(), 'one\ntwö\n')
  })

  it('breaks a line that is too long for one element, and finds words whatever their case or colour', () => {
    const lines = createLogLines()
    lines.append(`${'x'.repeat(5_000)}\nHel\x1b[31mlo\x1b[0m there`)
    assert.equal(lines.count(), 4)
    assert.deepEqual(lines.find('hello'), [3])
    assert.deepEqual(lines.find(''), [])
  })

  it('of ten megabytes is read and searched in a moment', () => {
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
    status: 'queued',
    reason: 'Queued',
    type: 'Deploy',
    resource: 'Shop',
    environment: 'Production',
    project: 'Shop',
    trigger: 'hook',
    who: 'Push',
    startedAt: null,
    completedAt: null,
    createdAt: '2026-11-15T08:00:00.000Z',
    ...more,
  })
  const move = (action_id: number, status: ActionMove['status']): ActionMove => ({
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

  it('changes the rows that moved and leaves the others the very objects they were', () => {
    const rows = [row(2), row(1)]
    const { rows: after, strangers } = applyMoves(rows, [move(2, 'in-progress'), move(9, 'completed')])
    assert.equal(after[0]!.status, 'in-progress')
    assert.equal(after[0]!.startedAt, '2026-11-15T08:00:05.000Z')
    assert.equal(after[1], rows[1])
    assert.deepEqual(strangers, [9])
    assert.equal(keepSame(rows, [row(2), row(1, { status: 'failed' })])[0], rows[0])
  })

  it('takes what begins into its first page, newest first, when it fits the filters', () => {
    const filters = readFilters(new URLSearchParams('status=queued'))
    const filtered = {
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
      { row: row(3), filtered },
      { row: row(4), filtered: { ...filtered, status: 'failed' } },
    ]
    assert.deepEqual(
      insert([row(2)], found, filters).map(({ id }) => id),
      [3, 2],
    )
    assert.equal(matches(readFilters(new URLSearchParams('environment=2')), filtered), false)
    assert.equal(matches(readFilters(new URLSearchParams('type=deploy,stop&trigger=hook')), filtered), true)
  })

  it('leaves out of the address what makes no sense', () => {
    const search = new URLSearchParams('page=-1&per_page=7&pipeline=x&hook=1&organization=zero&status=failed')
    const query = toQuery(readFilters(search))
    assert.deepEqual(JSON.parse(JSON.stringify(query)), { 'filter[status]': 'failed', page: 1, per_page: 25 })
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

  it('opens the log of the step that the address names, else of the one that failed or runs', () => {
    const targets = [
      target(1, step(1, 'completed', 'x'), step(2, 'in-progress', 'x')),
      target(2, step(1, 'failed', 'x')),
    ]
    assert.deepEqual(chooseStep(targets, '1.1'), { targetId: 1, order: 1 })
    assert.deepEqual(chooseStep(targets, '9.9'), { targetId: 2, order: 1 })
    assert.deepEqual(chooseStep(targets.slice(0, 1), null), { targetId: 1, order: 2 })
    assert.equal(chooseStep([], null), undefined)
  })

  it('says why it failed, and where', () => {
    const failed = {
      status: 'failed' as const,
      status_reason_code: 'FAILED_TIMEOUT' as const,
      status_reason_human_readable: 'Timed out',
      targets: [target(1, step(1, 'failed'))],
    }
    assert.equal(
      reasonInWords(failed),
      'A step took longer than it may and was stopped. It happened at step-1 on web-1.',
    )
  })

  it('says of each delivery whether it arrived, by its last attempt', () => {
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
    const tellings = gatherTellings([
      attempt('2', { retry_of: '1', outcome: 'delivered' }),
      attempt('1', {}),
      attempt('3', { next_attempt_at: 'soon' }),
      attempt('4', {}),
      attempt('6', { retry_of: '5', outcome: 'superseded' }),
      attempt('5', {}),
      attempt('0', { type: 'incoming', outcome: 'accepted' }),
    ])
    assert.deepEqual(
      tellings.map(({ id, state }) => [id, state]),
      [
        ['5', 'superseded'],
        ['4', 'not-told'],
        ['3', 'trying'],
        ['1', 'told'],
      ],
    )
    assert.equal(summarize(tellings), '1 told, 1 still being tried, 1 not told, 1 dropped for a newer one.')
    assert.match(healthInWords([attempt('2', {}), attempt('1', {})]), /2 of the last 2 attempts failed/)
  })

  it('has a timeline from its beginning to now', () => {
    const from = Date.parse('2026-11-15T08:00:00Z')
    const scale = timeScale(from, from + 10_000, from + 10_000)
    assert.deepEqual(scale.place('2026-11-15T08:00:02Z', '2026-11-15T08:00:04Z'), { left: 20, width: 20 })
    assert.deepEqual(scale.place('2026-11-15T08:00:05Z', null), { left: 50, width: 50 })
    assert.deepEqual(
      scale.ticks.map(({ label }) => label),
      ['0 s', '2 s', '4 s', '6 s', '8 s'],
    )
    assert.deepEqual(timeScale(from, from, from).place('2026-11-15T08:00:00Z', null), { left: 0, width: 0 })
  })
})

describe('what a person may and wants', () => {
  it('runs where a role that runs reaches', () => {
    const grant = { id: 1, role: null, role_id: null, role_name: '', project_id: null, environment_id: null }
    const at = { organizationId: 1, projectId: 2, environmentId: 3 }
    const may = (more: object, permissions: string[] = []) =>
      mayRun(
        [{ ...grant, created_at: '', ...more }],
        [{ id: 7, organization_id: 1, name: '', permissions, created_at: '', updated_at: '' }],
        at,
      )
    assert.equal(may({ role: 'developer' }), true)
    assert.equal(may({ role: 'viewer' }), false)
    assert.equal(may({ role: 'admin', project_id: 9 }), false)
    assert.equal(may({ role: 'admin', project_id: 2, environment_id: 3 }), true)
    assert.equal(may({ role_id: 7 }, ['pipeline:run']), true)
    assert.equal(may({ role_id: 7 }, ['pipeline:view']), false)
  })

  it('asks the API only for what differs from what the pipeline does by itself', () => {
    assert.deepEqual(toBody(NO_WISH, true, [1, 2]), {})
    const wish = { ...NO_WISH, sourceRef: ' v1 ', without: [2], comment: 'why', variables: 'a=b=c\nnonsense' }
    assert.deepEqual(toBody({ ...wish, sourceType: 'tag' }, true, [1, 2]), {
      source_type: 'tag',
      source_ref: 'v1',
      servers: [1],
      trigger_comment: 'why',
      variables: { a: 'b=c' },
    })
    assert.deepEqual(toBody({ ...NO_WISH, type: 'rollback', sourceRef: 'x' }, true, []), { type: 'rollback' })
  })

  it('gets commands that no address or body can break out of', () => {
    const command = curlCommand({
      base: 'http://x',
      method: 'PUT',
      path: "/a'; rm -rf /",
      body: { a: "it's" },
    })
    assert.ok(command.includes(`'http://x/a'\\''; rm -rf /'`))
    assert.ok(command.includes(`"it'\\''s"`))
  })

  it('follows no link but to the web', () => {
    assert.equal(webAddress('javascript:alert(1)'), undefined)
    assert.equal(webAddress('https://example.com/c/1'), 'https://example.com/c/1')
    assert.equal(webAddress(null), undefined)
  })
})

describe('figures', () => {
  it('are said as people say them', () => {
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
    assert.equal(successRate([{ id: 1, status: 'skipped', seconds: null }]), null)
    assert.equal(
      successRate([
        { id: 1, status: 'completed', seconds: 1 },
        { id: 2, status: 'failed', seconds: 1 },
      ]),
      0.5,
    )
  })
})
