// How `gantry run` reads what it is given, and how a run is drawn.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Named } from '#cli/names.ts'
import { describeChecks } from '#cli/runs/checks-gate.ts'
import { choosePipelines } from '#cli/runs/find.ts'
import { parseRef, parseVariables } from '#cli/runs/input.ts'
import { renderRun } from '#cli/runs/live-view.ts'
import { logLine } from '#cli/runs/log-text.ts'
import { clock, detailOf, remoteText } from '#cli/runs/notifications.ts'
import type { RunState, StepState } from '#cli/runs/run-state.ts'
import { createTail } from '#cli/runs/tail.ts'
import { widthOf } from '#cli/table.ts'

test('a ref says what it is, or looks like it', () => {
  const refs: [given: string, type: string, ref: string][] = [
    ['main', 'branch', 'main'],
    ['feature/1.2', 'branch', 'feature/1.2'],
    ['v2.1.0', 'tag', 'v2.1.0'],
    ['2026.11-rc.1', 'tag', '2026.11-rc.1'],
    ['heads/2.1', 'branch', '2.1'],
    ['refs/tags/nightly', 'tag', 'nightly'],
    ['AB12'.repeat(10), 'commit', 'ab12'.repeat(10)],
    ['1a2b3c4', 'commit', '1a2b3c4'],
    ['facade', 'branch', 'facade'],
  ]
  for (const [given, source_type, source_ref] of refs)
    assert.deepEqual(parseRef(given), { source_type, source_ref }, given)
})

test('notifications say what the service shows, and what they wait for', () => {
  const now = new Date('2026-11-16T14:00:00')
  const at = new Date('2026-11-16T14:05:00').toISOString()
  type Notification = Parameters<typeof remoteText>[0]
  const notification = (more: object) =>
    ({
      receiver: 'api.github.com',
      paused_until: null,
      next_attempt_at: null,
      last_error: null,
      ...more,
    }) as Notification
  const shown = { remote_status: 'success', remote_detail: null, checked_at: at }
  const remote = (remote_state: string, more = {}) =>
    remoteText(notification({ ...shown, remote_state, ...more }), now)
  assert.equal(remote('matches'), 'shows success, checked 14:05')
  assert.equal(remote('repaired'), 'shows success after it was sent again, checked 14:05')
  assert.equal(
    remote('unknown', { remote_detail: 'GitHub returned 502.' }),
    'unknown, checked 14:05: GitHub returned 502.',
  )
  assert.equal(remote('not_checked', { checked_at: null }), '')
  const paused = { state: 'paused', paused_until: at, paused_reason: 'api.github.com … (rate limit).' }
  assert.equal(detailOf(notification(paused), now), 'waiting for api.github.com until 14:05 (rate limit)')
  const retrying = { state: 'retrying', next_attempt_at: at, last_error: 'The receiver returned 500.' }
  assert.equal(detailOf(notification(retrying), now), 'The receiver returned 500. Next attempt: 14:05.')
  assert.match(clock(at, new Date('2026-11-17T14:00:00')), /^2026-11-16 14:05$/)
})

test('a gate for checks names the check, with a link that is one, and nothing that moves the cursor', () => {
  const gate = (message: string | null, link: string | null, problem: string | null = null) =>
    describeChecks({ message, problem, waiting_for: link === null ? null : { link } } as Parameters<
      typeof describeChecks
    >[0])
  assert.equal(gate('build reported failure.', null), 'build reported failure.')
  assert.equal(gate('a.', 'https://ci.example.com/1?a=b'), 'a. https://ci.example.com/1?a=b')
  for (const link of ['javascript:alert(1)', 'file:///etc/passwd', '//x', 'nonsense', ''])
    assert.equal(gate('a.', link), 'a.', link)
  assert.equal(gate('\u001b[2Ja\r\nb\u202e.', 'http://x/\u001b[2J\u202e'), '[2Ja b. http://x/%1B[2J%E2%80%AE')
  assert.equal(gate(null, null, 'GitHub answered with 502.'), 'GitHub answered with 502.')
  assert.equal(gate(null, null), null)
})

test('variables are text as given, each once', () => {
  assert.deepEqual(parseVariables(['a=007', 'b=', 'c=x=y']), { a: '007', b: '', c: 'x=y' })
  assert.throws(() => parseVariables(['a']), /name=value/)
  assert.throws(() => parseVariables(['=a']), /name=value/)
  assert.throws(() => parseVariables(['a=1', 'a=2']), /twice/)
})

test('a pipeline is found by its name, or by what it is the only one of', () => {
  const entry = (type: Named['type'], id: number, path: string, resource_id: number | null = null) =>
    ({ type, id, path, name: path.split('/').at(-1), resource_type: 'application', resource_id }) as Named
  const all = [
    entry('application', 1, 'shop/production/web'),
    entry('pipeline', 11, 'shop/production/web/deploy', 1),
    entry('pipeline', 12, 'shop/production/web/migrate', 1),
    entry('application', 2, 'shop/production/api'),
    entry('pipeline', 21, 'shop/production/api/deploy', 2),
    entry('pipeline', 31, 'shop/production/worker/web', 3),
  ]
  const ids = (given: string) => choosePipelines(all, given).map(({ id }) => id)
  assert.deepEqual(ids('web/deploy'), [11])
  assert.deepEqual(ids('shop/production/api'), [21])
  assert.deepEqual(ids('api'), [21])
  assert.deepEqual(ids('deploy'), [11, 21])
  assert.deepEqual(ids('web'), [31])
  assert.deepEqual(ids('shop/production/web'), [11, 12])
  assert.throws(() => ids('shop/production/wbe'), /There is no pipeline "/)
})

test('of control sequences in a log only colors reach a terminal that shows them', () => {
  const text = 'a\u001b[31mred\u001b[0m\u001b[2J\u0007b'
  assert.equal(logLine(text, false), 'ared[2Jb')
  assert.equal(logLine(text, true), 'a\u001b[31mred\u001b[0m[2Jb\u001b[0m')
})

test('of a progress bar in a log the last state is shown', () => {
  assert.equal(logLine('10%\r50%\r100%\r', false), '100%')
})

test('the end of a log is kept short, however long its lines are', () => {
  const tail = createTail()
  tail.append(`${'x'.repeat(1_000_000)}\nend\n`)
  assert.ok(tail.lines()[0]!.length < 10_000)
  assert.equal(tail.lines()[1], 'end')
})

suite('a run on a terminal', () => {
  const style = (_: string, text: string) => text
  const at = { startedAt: 1_000, endedAt: null }
  const step = (order: number, status: StepState['status'], log = ''): StepState => {
    const tail = createTail()
    tail.append(log)
    return { order, name: `step-${order}`, status, state: status, ...at, tail }
  }
  const run = (count: number): RunState => ({
    id: 42,
    title: 'Deploy shop/production/a-rather-long-name-of-an-application',
    status: 'in-progress',
    state: 'In progress',
    ...at,
    heldBy: null,
    targets: Array.from({ length: count }, (_, n) => ({
      id: n,
      name: `web-${n + 1}`,
      status: n < 2 ? 'completed' : 'in-progress',
      state: '',
      ...at,
      steps: [step(1, 'completed'), step(2, 'in-progress', `wide ${'寿司'.repeat(60)}\nlast line\n`)],
    })),
  })

  test('shows the end of the log of what runs, if there is room', () => {
    const lines = renderRun(run(1), { columns: 80, rows: 23, now: 13_000, style })
    assert.deepEqual(lines.slice(1), [
      '  ✓ web-1  1/2  12 s',
      '    ✓ step-1  12 s',
      '    ⠋ step-2  12 s',
      `      │ wide ${'寿司'.repeat(16)}…`,
      '      │ last line',
    ])
  })

  test('fits any terminal, however many servers there are', () => {
    for (const columns of [20, 40, 80])
      for (const rows of [4, 10, 23])
        for (const count of [1, 3, 8, 300]) {
          const notice = 'Connection lost, reconnecting…'
          const held = { ...run(count), heldBy: `Waiting for ${'寿司'.repeat(60)}` }
          const lines = renderRun(held, { columns, rows, now: 13_000, style, notice })
          assert.ok(lines.length <= rows, `${count} servers in ${rows} rows take ${lines.length}`)
          for (const line of lines) assert.ok(widthOf(line) < columns, line)
          assert.match(lines[0]!, /^⠋ #42/)
        }
    const lines = renderRun(run(300), { columns: 80, rows: 10, now: 13_000, style })
    assert.match(lines[1]!, /web-3 .*step-2/)
    assert.equal(lines.at(-1), '  and 292 more, 2 completed')
  })
})
