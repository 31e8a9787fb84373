// What the settings and the log viewer decide, without a browser.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeGap, markGaps } from '#client/index.ts'
import {
  describeRetention,
  retentionBody,
  retentionField,
  retentionValues,
} from '#web/pages/settings/retention-input.ts'
import { appendWithGaps, createLogLines } from '#web/shared/log/log-lines.ts'

const FOREVER = { runs_days: null, runs_per_pipeline: null, logs_days: null, requests_days: null }

test('retention: the installation’s, or limits of which an empty one means forever', () => {
  const limited = { ...FOREVER, runs_days: 90, logs_days: 30 }
  assert.equal(retentionBody(retentionValues(null)), null)
  assert.deepEqual(retentionBody(retentionValues(limited)), limited)
  assert.deepEqual(retentionBody({ ...retentionValues(null), retention: 'own' }), FOREVER)
  for (const logs_days of ['soon', 'Infinity', '1e999']) {
    const typed = retentionBody({ ...retentionValues(null), retention: 'own', logs_days })
    assert.equal(JSON.parse(JSON.stringify(typed)).logs_days, logs_days)
  }
  assert.equal(describeRetention(FOREVER), 'everything forever')
  assert.equal(describeRetention(limited), 'runs 90 days, logs 30 days')
  assert.equal(retentionField('retention.logs_days'), 'logs_days')
  assert.equal(retentionField('name'), undefined)
})

test('a log shows what is omitted on a line of its own, and continues to count what was printed', () => {
  const log = { output: 'größer\ntail\n', gaps: [{ offset: 9, omitted_bytes: 12_345_678 }] }
  const lines = createLogLines()
  appendWithGaps(lines, log)
  assert.equal(lines.text(), 'größer\n… 12.3 MB omitted …\ntail\n')
  assert.equal(lines.size(), 9 + 12_345_678 + 5)
  assert.equal(markGaps(log.output, log.gaps), lines.text())
  appendWithGaps(lines, { output: 'more', gaps: [] })
  appendWithGaps(lines, { output: 'end\n', gaps: [{ offset: lines.size(), omitted_bytes: 2_000 }] })
  assert.equal(lines.text().slice(-30), 'tail\nmore\n… 2.0 kB omitted …\nend\n'.slice(-30))
})

test('a part of a log that starts behind its beginning has its gaps where they are', () => {
  const gaps = [{ offset: 106, omitted_bytes: 50 }]
  assert.equal(markGaps('first\nlast\n', gaps, 100), 'first\n… 50 bytes omitted …\nlast\n')
  assert.equal(markGaps('last\n', [{ offset: 100, omitted_bytes: 50 }], 100), '… 50 bytes omitted …\nlast\n')
  assert.equal(describeGap(999), '… 999 bytes omitted …')
})
