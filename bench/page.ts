import { spawnSync } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { Browser, Page, Response } from 'playwright-core'
import { launchBrowser } from '#test/pages/browser.ts'
import type { Bench } from './bench.ts'
import { overviewFigures } from './overview.ts'
import { storeActions } from './stored-actions.ts'
import type { BenchServer } from './workbench.ts'

const SIZES = { full: { stored: 10_000, ms: 8_000 }, smoke: { stored: 200, ms: 1_000 } }
const MOVES_PER_SECOND = 10
const FRAME_MS = 1_000 / 60
const FIRST_LOAD_KB = 180
const BUILD = fileURLToPath(new URL('../scripts/build-web.mjs', import.meta.url))

/** The list of 100 actions while ten moves a second come in, against the same page while nothing happens. */
export const page: Bench = async (workbench, size) => {
  const { stored, ms } = SIZES[size]
  spawnSync(process.execPath, [BUILD], { stdio: 'ignore' })
  const database = await workbench.createDatabase('page')
  const { owner, pipelineId } = await storeActions(database, stored)
  const server = await workbench.startServer(database.settings)
  const browser = await launchBrowser({ isComplete: true })
  workbench.defer(() => browser.close())
  const context = await browser.newContext({ baseURL: server.url, viewport: { width: 1280, height: 900 } })
  await context.addCookies([{ name: 'gantry_session', value: owner.token, url: server.url }])
  const tab = await context.newPage()

  const kilobytes = await firstLoad(tab)
  await tab.goto('/app/actions?per_page=100')
  const rows = tab.locator('[data-action]')
  await rows.nth(99).waitFor()
  const quiet = await watchFrames(browser, tab, () => pause(ms))
  const newest = await rows.first().getAttribute('data-action')
  const busy = await watchFrames(browser, tab, () => makeMoves(server, owner.token, pipelineId, ms))
  if ((await rows.first().getAttribute('data-action')) === newest) throw new Error('No move reached the page')

  return [
    {
      name: 'page-frame',
      value: busy.p99Ms,
      unit: 'ms',
      ratio: busy.p99Ms / Math.max(quiet.p99Ms, 0.1),
      floor: 'quiet-page',
      goal: { of: 'value', is: 'at most', limit: 16 },
      details: { busy, quiet },
    },
    {
      name: 'page-first-load',
      value: kilobytes,
      unit: 'kB',
      ratio: kilobytes / FIRST_LOAD_KB,
      floor: 'budget',
      goal: { of: 'value', is: 'at most', limit: FIRST_LOAD_KB },
    },
    ...(await overviewFigures(workbench, size)),
  ]
}

/** Scripts and styles of the first page, gzipped. */
async function firstLoad(tab: Page): Promise<number> {
  const loaded: Promise<Buffer>[] = []
  const collect = (response: Response) => {
    if (['script', 'stylesheet'].includes(response.request().resourceType())) loaded.push(response.body())
  }
  tab.on('response', collect)
  await tab.goto('/app')
  await tab.getByRole('article').first().waitFor()
  await tab.locator('figure svg').first().waitFor()
  tab.off('response', collect)
  const bodies = await Promise.all(loaded)
  return bodies.reduce((sum, body) => sum + gzipSync(body).length, 0) / 1_000
}

/** Runs that are started and cancelled: there is no worker to run them. */
async function makeMoves(server: BenchServer, token: string, pipelineId: number, ms: number): Promise<void> {
  const post = async (path: string) => {
    const answer = await fetch(server.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{}',
    })
    if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as { id: number }
  }
  const startedAt = performance.now()
  for (let made = 0; performance.now() - startedAt < ms; made += 2) {
    const { id } = await post(`/pipelines/${pipelineId}/actions`)
    await post(`/actions/${id}/cancel`)
    await pause(Math.max(0, startedAt + ((made + 2) * 1_000) / MOVES_PER_SECOND - performance.now()))
  }
}

type TraceEvent = {
  ph: string
  name: string
  cat: string
  pid: number
  tid: number
  ts: number
  dur?: number
  tdur?: number
  args?: { name?: string }
}
type Frames = { p50Ms: number; p99Ms: number; longestMs: number; longestTaskMs: number; frames: number }

/** How long the page's main thread worked, by its own clock: at one task, and in each sixtieth of a second. */
async function watchFrames(browser: Browser, tab: Page, during: () => Promise<unknown>): Promise<Frames> {
  await browser.startTracing(tab, {
    categories: ['__metadata', 'toplevel', 'disabled-by-default-devtools.timeline'],
  })
  await during()
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    traceEvents: TraceEvent[]
  }
  const main = traceEvents.find(
    (event) => event.name === 'thread_name' && event.args?.name === 'CrRendererMain',
  )
  const tasks = traceEvents.filter(
    (event) =>
      event.ph === 'X' && event.name === 'RunTask' && event.pid === main?.pid && event.tid === main.tid,
  )
  if (tasks.length === 0) throw new Error('The trace has no task of the page')
  const frames = new Map<number, number>()
  const took = (task: TraceEvent) => (task.tdur ?? task.dur ?? 0) / 1_000
  for (const task of tasks) {
    const frame = Math.floor(task.ts / 1_000 / FRAME_MS)
    frames.set(frame, (frames.get(frame) ?? 0) + took(task))
  }
  const sorted = [...frames.values()].sort((one, other) => one - other)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!
  return {
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    longestMs: sorted.at(-1)!,
    longestTaskMs: Math.max(...tasks.map(took)),
    frames: sorted.length,
  }
}
