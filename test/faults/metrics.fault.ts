// What operators get with Gantry: metrics, alert rules, a dashboard. Checked by Prometheus' own tool, and against each other.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { scrape } from '#test/support/metrics.ts'
import { openRunWorld } from '#test/support/run-world.ts'

const world = await openRunWorld({ after })
const { pipelineId } = await world.makeCustom([{ name: 'one', command: 'true' }])
await world.completed(await world.fire(await world.makeHook(pipelineId)))
const { text, samples } = await scrape(world.processes[0]!.url!, world.owner.token)

const pathOf = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url))
const ALERTS = pathOf('deploy/prometheus/alerts.yml')

type Rule = { alert: string; expr: string; annotations: { summary: string; runbook: string } }
const rules: Rule[] = parse(await readFile(ALERTS, 'utf8')).groups[0].rules

type Panel = { title: string; targets?: { expr: string }[] }
const dashboard: { panels: Panel[] } = JSON.parse(
  await readFile(pathOf('deploy/grafana/gantry.json'), 'utf8'),
)
const queries = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))

/** Resolves with its output; rejects when it complains. */
function promtool(args: string[], input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile('/usr/bin/promtool', args, (error, stdout, stderr) => {
      if (error) reject(new Error(`promtool ${args.join(' ')}: ${stdout}${stderr}`))
      else resolve(stdout + stderr)
    })
    child.stdin!.end(input)
  })
}

test('promtool has nothing to say about the metrics', async () => {
  assert.equal(await promtool(['check', 'metrics'], text), '')
})

test('the alert rules are valid, and fire when they should and only then', async () => {
  await promtool(['check', 'rules', ALERTS])
  await promtool(['test', 'rules', pathOf('test/faults/alerts.test.yml')])
})

test('the queries of the dashboard are valid', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-rules-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'rules.yml')
  const recorded = queries.map((expr, n) => ({
    record: `query_${n}`,
    expr: expr.replaceAll('$__rate_interval', '5m'),
  }))
  // JSON is YAML, too.
  await writeFile(file, JSON.stringify({ groups: [{ name: 'dashboard', rules: recorded }] }))
  assert.match(await promtool(['check', 'rules', file]), new RegExp(`${queries.length} rules found`))
})

test('every metric of a query exists, with the labels that the query names', () => {
  const known = new Map<string, string>()
  for (const sample of samples.keys()) {
    const [name, labels = ''] = sample.split('{')
    known.set(name!, `${known.get(name!) ?? ''}{${labels}`)
  }
  for (const expr of [...queries, ...rules.map((rule) => rule.expr)]) {
    const selectors = [...expr.matchAll(/\b(gantry_\w+)(?:\{([^}]*)\})?/g)]
    assert.ok(selectors.length > 0 || expr.startsWith('up'), expr)
    for (const [, name, labels = ''] of selectors) {
      const found = known.get(name!)
      assert.ok(found, `${name} in ${expr}`)
      for (const label of labels.split(',').filter(Boolean)) {
        const [, key, values] = /^(\w+)!?~"(.*)"$/.exec(label) ?? []
        const named = key ? values!.split('|').map((value) => `${key}="${value}"`) : [label]
        for (const one of named) assert.ok(found.includes(one), `${one} in ${expr}`)
      }
    }
  }
})

test('every alert has a section that says what to do', async () => {
  const guide = await readFile(pathOf('docs/operations.md'), 'utf8')
  for (const { alert, annotations } of rules) {
    assert.equal(annotations.runbook, `docs/operations.md#${alert.toLowerCase()}`)
    assert.match(guide, new RegExp(`^#### ${alert}$`, 'm'))
  }
})

test('every metric is documented, and every documented one exists', async () => {
  const guide = await readFile(pathOf('docs/operations.md'), 'utf8')
  const section = guide.slice(guide.indexOf('### Metrics'), guide.indexOf('## Alerts'))
  const documented = new Set(section.match(/gantry_\w+/g))
  const own = [...text.matchAll(/^# TYPE (gantry_\w+) /gm)].map(([, name]) => name!)
  for (const name of own.filter((one) => !/^gantry_(process|nodejs)_/.test(one)))
    assert.ok(documented.has(name), `${name} is not documented`)
  for (const name of documented)
    assert.ok(
      own.some((one) => one.startsWith(name)),
      `${name} does not exist`,
    )
})
