// npm run screenshots: takes the screenshots that the docs use, into docs/screenshots; with `-- --all` every page, light
// and dark, wide and narrow. The data comes from a temporary Gantry.
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { isLoaded, openPage, openPagesWorld, type PagesWorld } from '#test/pages/world.ts'
import { until } from '#test/support/until.ts'

/** The ones that README and docs show. */
const USED = ['actions-light-wide', 'action-failed-light-wide', 'overview-dark-wide']
const isAll = process.argv.includes('--all')
const FOLDER = fileURLToPath(new URL('../docs/screenshots', import.meta.url))
const LOOKS = [
  { name: 'light-wide', colorScheme: 'light', width: 1280, height: 860 },
  { name: 'dark-wide', colorScheme: 'dark', width: 1280, height: 860 },
  { name: 'light-narrow', colorScheme: 'light', width: 360, height: 740 },
  { name: 'dark-narrow', colorScheme: 'dark', width: 360, height: 740 },
] as const

/** A step that fails the deployment. */
const MIGRATE = String.raw`printf 'applying \033[1m0041_add_orders_region\033[0m … \033[32mok\033[0m\n'
sleep 0.3
printf 'applying \033[1m0042_orders_region_not_null\033[0m …\n'
sleep 0.4
printf '\033[1;31mERROR: column "region" of relation "orders" contains null values\033[0m\n'
printf '\033[33mrolled back 0042; 0041 stays applied\033[0m\n'
exit 3`

/** Names that look like a real installation. */
const NAMES = {
  '/organizations/1': 'Acme',
  '/projects/1': 'Web shop',
  '/environments/1': 'Production',
  '/servers/1': 'web-1',
  '/applications/1': 'Shop',
  '/pipelines/1': 'Deploy shop',
}

const cleanups: (() => unknown)[] = []
try {
  const world = await openPagesWorld({ after: (cleanUp) => cleanups.push(cleanUp) })
  const pages = await populate(world)
  await mkdir(FOLDER, { recursive: true })
  const { page } = await openPage(world, '/app/overview')
  await page.route((url) => url.pathname === '/overview', addHistory)
  for (const look of LOOKS) {
    await page.emulateMedia({ colorScheme: look.colorScheme })
    await page.setViewportSize(look)
    for (const [name, path] of Object.entries(pages)) {
      if (!isAll && !USED.includes(`${name}-${look.name}`)) continue
      await page.goto(path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await isLoaded(page)
      if (/\d/.test(path)) await page.getByRole('navigation', { name: 'Scope' }).waitFor()
      const fullPage = name.startsWith('action-')
      if (fullPage) await page.getByRole('link', { name: 'Team chat' }).first().waitFor()
      await page.screenshot({ path: `${FOLDER}/${name}-${look.name}.png`, scale: 'css', fullPage })
    }
  }
  await world.open('finish')
} finally {
  for (const cleanUp of cleanups.toReversed()) await cleanUp()
}

/** A bit of everything: completed runs, a failed one, a running one, receivers that respond and that do not. */
async function populate(world: PagesWorld): Promise<Record<string, string>> {
  const { api, pipelineId } = world
  const receiver = createServer((_, response) => response.writeHead(204).end()).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  cleanups.push(() => receiver.close())
  const { port } = receiver.address() as AddressInfo
  const chat = await api('POST', '/pipelines/1/hooks/outgoing', {
    name: 'Team chat',
    target_url: `http://127.0.0.1:${port}/deploys`,
  })
  const push = await api('POST', '/pipelines/1/hooks/incoming', {
    name: 'Push to main',
    settings: { variables: [{ name: 'branch', type: 'string', required: false }] },
  })
  const deploy = async () => {
    const answer = await fetch(push.body.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ branch: 'main' }),
    })
    return ((await answer.json()) as { action_id: number }).action_id
  }
  for (const [path, name] of Object.entries(NAMES)) await api('PUT', path, { name })
  const deployed = []
  for (let run = 0; run < 6; run++) deployed.push(await ended(world, await deploy()))

  const after = 'build-application'
  await api('POST', '/pipelines/1/steps', { name: 'migrate', command: MIGRATE, trigger_after: after })
  const failed = await ended(world, await deploy())

  await world.open('speak')
  await world.callHook({ greeting: 'hello' })
  return {
    overview: '/app/overview',
    actions: '/app/actions',
    'action-failed': `/app/actions/${failed}`,
    'action-deployed': `/app/actions/${deployed.at(-1)}`,
    pipelines: '/app/pipelines',
    pipeline: '/app/pipelines/1',
    hooks: '/app/hooks',
    'hook-incoming': `/app/hooks/incoming/${push.body.id}`,
    'hook-outgoing': `/app/hooks/outgoing/${chat.body.id}`,
    members: '/app/members',
    'pipeline-custom-steps': `/app/pipelines/${pipelineId}`,
  }
}

async function ended({ api }: PagesWorld, id: number): Promise<number> {
  await until(
    `action ${id} ended`,
    60_000,
    async () => (await api('GET', `/actions/${id}`)).body.completed_at,
  )
  return id
}

/** A Gantry that is a minute old has no history; this one is made up. */
async function addHistory(route: Parameters<Parameters<Page['route']>[1]>[0]): Promise<void> {
  const response = await route.fetch()
  const overview = await response.json()
  for (const [index, day] of overview.runs_per_day.entries()) {
    day.completed += 9 + ((index * 7) % 11) + (index % 7 < 5 ? 6 : 0)
    day.failed += (index * 5) % 13 === 0 ? 3 : index % 4 === 0 ? 1 : 0
  }
  for (const [index, day] of overview.median_duration_seconds_per_day.entries())
    day.seconds = 38 + ((index * 13) % 17) + (index > 20 ? -12 : 0)
  await route.fulfill({ response, json: overview })
}
