// The logic of starting and watching runs, without a browser.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gateOf, isFiltered, matches, NO_FILTERS, readFilters, toQuery } from '#web/pages/actions/filters.ts'
import { namesOf, withinScope } from '#web/pages/actions/named-filters.ts'
import { busyOn } from '#web/resources/runs/blockers.ts'
import { toReleases } from '#web/resources/runs/releases.ts'
import { EMPTY_INPUT, inputOf, inputProblems, toBody } from '#web/resources/runs/run-input.ts'
import { readVariables, variablesError } from '#web/resources/runs/run-variables.ts'
import { startMessage } from '#web/resources/runs/start-message.ts'
import { logLinkHash, markLine, readLogLink } from '#web/shared/log/log-link.ts'

describe('the run dialog', () => {
  it('sends only what differs from the defaults of the pipeline', () => {
    assert.deepEqual(toBody(EMPTY_INPUT, true, [1, 2]), {})
    const input = { ...EMPTY_INPUT, sourceRef: ' v1 ', excluded: [2], comment: 'why', variables: 'a=b=c' }
    assert.deepEqual(toBody({ ...input, sourceType: 'tag' }, true, [1, 2]), {
      source_type: 'tag',
      source_ref: 'v1',
      servers: [1],
      trigger_comment: 'why',
      variables: { a: 'b=c' },
    })
    assert.deepEqual(toBody({ ...EMPTY_INPUT, type: 'redeploy', sourceRef: 'x' }, true, []), {
      type: 'redeploy',
    })
  })

  it('reads pasted variables, and names every line that is none', () => {
    const pasted = '# settings\r\nA=1\r\n\r\n b = two words = three \nURL=https://x/?a=b'
    assert.deepEqual(readVariables(pasted), {
      variables: { A: '1', b: 'two words = three', URL: 'https://x/?a=b' },
      problems: [],
    })
    assert.equal(variablesError(pasted), undefined)
    assert.equal(variablesError('a=1\nnonsense'), 'Line 2 is not name=value.')
    assert.match(
      variablesError('1a=x\n=y')!,
      /^Line 1 has an invalid name: .* Line 2 has no name before the =\.$/,
    )
    assert.equal(
      variablesError('Name=1\nname=2'),
      'Line 2 repeats name, which line 1 has (case does not matter).',
    )
    assert.match(variablesError('one\ntwo\nthree\nfour\nfive')!, /Line 3 .*\. 2 more like that\.$/)
    assert.match(variablesError(`${'é'.repeat(65)}=x`)!, /^Line 1 has an invalid name/)
    const many = Array.from({ length: 101 }, (_, index) => `v${index}=x`).join('\n')
    assert.equal(variablesError(many), 'A run takes at most 100 variables, these are 101.')
    assert.deepEqual(Object.keys(readVariables('__proto__=x').variables), ['__proto__'])
  })

  it('checks before it asks the API, and shows what the API says at the right input', () => {
    const all = { ...EMPTY_INPUT, sourceType: 'tag' as const, excluded: [1, 2], variables: 'x' }
    assert.deepEqual(inputProblems(all, true, [1, 2]), {
      sourceRef: 'Enter a tag.',
      excluded: 'Select at least one server.',
      variables: 'Line 1 is not name=value.',
    })
    assert.deepEqual(Object.values(inputProblems(EMPTY_INPUT, true, [1])), [undefined, undefined, undefined])
    assert.equal(inputOf('variables.name'), 'variables')
    assert.equal(inputOf('servers.0'), 'excluded')
    assert.equal(inputOf('release_name'), undefined)
  })

  it('says that a run has started when it has', () => {
    assert.equal(startMessage('Deploy shop #43', 'pending'), 'Queued Deploy shop #43')
    assert.equal(startMessage('Deploy shop #43', 'queued'), 'Queued Deploy shop #43')
    assert.equal(startMessage('Deploy shop #43', 'waiting', [42]), 'Deploy shop #43 is waiting for #42')
    assert.equal(startMessage('Deploy shop #43', 'waiting'), 'Deploy shop #43 is waiting for its turn')
    assert.equal(startMessage('Deploy shop #43', 'in-progress'), 'Started Deploy shop #43')
    assert.equal(startMessage('Deploy shop #43', 'failed'), 'Deploy shop #43 failed')
  })

  it('names the runs that keep servers busy', () => {
    const run = (id: number, resource_id: number, status: string) =>
      ({ id, targets: [{ resource_id, status }] }) as unknown as Parameters<typeof busyOn>[0][number]
    const running = [
      run(9, 1, 'in-progress'),
      run(8, 2, 'in-progress'),
      run(7, 1, 'completed'),
      run(5, 1, 'in-progress'),
    ]
    assert.deepEqual(busyOn(running, [1]), [5, 9])
    assert.deepEqual(busyOn(running, [3]), [])
  })
})

describe('releases to roll back to', () => {
  it('are those of completed deploys, each once and where it was made, newest first', () => {
    const deploy = (id: number, release_name: string | null, hash: string | null = 'abc') =>
      ({
        id,
        action_data: { release_name, commit: { hash, message: 'Subject\n\nBody', author_name: 'Ada' } },
        completed_at: `2026-01-0${id}T00:00:00Z`,
        created_at: '2026-01-01T00:00:00Z',
        triggered_from: { name: 'Administrator', email: null },
      }) as unknown as Parameters<typeof toReleases>[0][number]
    // Newest first: 5 rolled back to the release of 2.
    const releases = toReleases([
      deploy(5, 'two'),
      deploy(4, 'four'),
      deploy(3, null),
      deploy(2, 'two'),
      deploy(1, 'one', null),
    ])
    assert.deepEqual(
      releases.map(({ name, actionId }) => [name, actionId]),
      [
        ['four', 4],
        ['two', 2],
      ],
    )
    assert.equal(releases[0]!.commit.message, 'Subject')
  })
})

describe('a link to lines of a log', () => {
  it('names target, step and lines', () => {
    const link = { targetId: 12, order: 3, from: 120, to: 120 }
    assert.equal(logLinkHash(link), '#step:12.3:120')
    assert.deepEqual(readLogLink('#step:12.3:120'), link)
    assert.deepEqual(readLogLink('#step:12.3:140-120'), { ...link, from: 120, to: 140 })
    assert.equal(logLinkHash({ ...link, to: 140 }), '#step:12.3:120-140')
    for (const other of ['', '#', '#log', '#step:12.3', '#step:12.3:0', '#step:x.3:1', '#step:1.1:1e3'])
      assert.equal(readLogLink(other), undefined, other)
  })

  it('is extended by a second line, and removed by the same one', () => {
    assert.deepEqual(markLine(undefined, 5, true), { from: 5, to: 5 })
    assert.deepEqual(markLine({ from: 5, to: 5 }, 9, true), { from: 5, to: 9 })
    assert.deepEqual(markLine({ from: 5, to: 9 }, 2, true), { from: 2, to: 9 })
    assert.deepEqual(markLine({ from: 5, to: 9 }, 7, false), { from: 7, to: 7 })
    assert.equal(markLine({ from: 7, to: 7 }, 7, false), undefined)
  })
})

describe('filters of the list of actions', () => {
  const filters = readFilters(new URLSearchParams('since=24h&pipeline=1,2&resource=application:5&user=7'))

  it('become filters of the API, the time as of when the list is read', () => {
    const now = Date.parse('2026-01-02T00:00:00Z')
    assert.deepEqual(JSON.parse(JSON.stringify(toQuery(filters, now))), {
      'filter[created_after]': '2026-01-01T00:00:00.000Z',
      'filter[pipeline_id]': '1,2',
      'filter[resource_type]': 'application',
      'filter[resource_id]': '5',
      'filter[user_id]': '7',
      page: 1,
      per_page: 25,
    })
    assert.equal(isFiltered(filters), true)
    assert.equal(isFiltered({ ...filters, ...NO_FILTERS }), false)
  })

  it('decide whether a new action is listed', () => {
    const action = { status: 'queued', environmentId: 1, pipelineId: 2, resource: 'application:5', userId: 7 }
    assert.equal(matches(filters, action), true)
    assert.equal(matches(filters, { ...action, pipelineId: 3 }), false)
    assert.equal(matches(filters, { ...action, resource: 'server:5' }), false)
    assert.equal(matches(filters, { ...action, userId: null }), false)
  })

  it('say at which gate runs wait, and follow them there and away', () => {
    const atGate = readFilters(new URLSearchParams('gate=approval,freeze'))
    assert.equal(toQuery(atGate, 0)['filter[gate]'], 'approval,freeze')
    assert.equal(isFiltered(atGate), true)
    const action = { status: 'waiting', environmentId: 1, pipelineId: 2 }
    const gates = ['WAITING_APPROVAL', 'WAITING_FREEZE', 'WAITING_CHECKS', 'WAITING_WORKER'].map(gateOf)
    assert.deepEqual(
      gates.map((gate) => matches(atGate, { ...action, gate })),
      [true, true, false, false],
    )
    assert.equal(readFilters(new URLSearchParams('gate=other')).gate, '')
  })

  it('are named, and searched within the selected scope', () => {
    assert.equal(namesOf('1,2', [{ id: 2, name: '<b>Deploy</b>' }]), '#1, <b>Deploy</b>')
    assert.equal(withinScope({ organization: 1, project: 2 }), 'project:2')
    assert.equal(withinScope({}), undefined)
  })
})
