// A real Prometheus that scrapes processes of Gantry every two seconds, with the alert rules of deploy/.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { ordinaryUser } from '#platform/database/embedded/fixtures.ts'
import { later } from './later.ts'
import { freePort } from './ports.ts'
import { until } from './until.ts'

type Closer = { after(fn: () => Promise<void>): void }
type Rule = { alert: string; expr: string; for?: string }

const RULES = new URL('../../deploy/prometheus/alerts.yml', import.meta.url)
/** Instead of minutes and hours: what a rule remembers, and how long its condition has to last. */
const RANGE = '45s'
const LASTS = '1s'

/** The shipped expressions; only durations are shorter. */
async function readRules(): Promise<Rule[]> {
  const rules: Rule[] = parse(await readFile(RULES, 'utf8')).groups[0].rules
  return rules.map((rule) => ({
    ...rule,
    expr: rule.expr.replaceAll(/\[\d+[smh]\]/g, `[${RANGE}]`),
    ...(rule.for !== undefined && { for: LASTS }),
  }))
}

export async function startPrometheus(t: Closer, token: string) {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-prometheus-'))
  later(t, () => rm(folder, { recursive: true, force: true }))
  const rules = await readRules()
  const [config, ruleFile, targetFile] = ['prometheus.yml', 'rules.yml', 'targets.json'].map((name) =>
    join(folder, name),
  ) as [string, string, string]
  const gantry = {
    job_name: 'gantry',
    authorization: { credentials: token },
    file_sd_configs: [{ files: [targetFile], refresh_interval: '1s' }],
  }
  const global = { scrape_interval: '2s', scrape_timeout: '2s', evaluation_interval: '500ms' }
  // JSON is YAML.
  await writeFile(config, JSON.stringify({ global, rule_files: [ruleFile], scrape_configs: [gantry] }))
  await writeFile(ruleFile, JSON.stringify({ groups: [{ name: 'gantry', rules }] }))
  await writeFile(targetFile, '[]')
  await chown(folder, ordinaryUser.uid, ordinaryUser.gid)
  const port = await freePort()
  const options = [
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]
  const child = spawn('/usr/bin/prometheus', options, {
    ...ordinaryUser,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let messages = ''
  child.stderr.on('data', (chunk) => {
    messages += chunk
  })
  const ended = once(child, 'exit')
  later(t, async () => {
    child.kill('SIGKILL')
    await ended
  })

  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  async function get(path: string): Promise<any> {
    return (await (await fetch(`http://127.0.0.1:${port}/api/v1${path}`)).json()) as unknown
  }
  await until('Prometheus answers', 30_000, () => get('/alerts').catch(() => undefined)).catch((error) => {
    throw new Error(`${error.message}\n${messages}`)
  })
  const targets: string[] = []
  return {
    alerts: rules.map(({ alert }) => alert),
    /** Resolves when a process at this URL has been scraped. */
    async watch(url: string): Promise<void> {
      targets.push(new URL(url).host)
      await writeFile(targetFile, JSON.stringify([{ targets }]))
      const query = encodeURIComponent(`up{instance="${new URL(url).host}"} == 1`)
      await until(`${url} is scraped`, 30_000, async () => {
        const { data } = await get(`/query?query=${query}`)
        return data.result.length > 0
      })
    },
    /** `url`: about this process, and not only about another one. */
    async isFiring(alert: string, url?: string): Promise<boolean> {
      const { data } = await get('/alerts')
      const instance = url && new URL(url).host
      return data.alerts.some(
        ({ labels, state }: { labels: { alertname: string; instance?: string }; state: string }) =>
          labels.alertname === alert && state === 'firing' && (!instance || labels.instance === instance),
      )
    },
  }
}
