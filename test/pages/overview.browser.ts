// The pages that people leave open: cards of applications, the page of one, and pictures; every figure is the API's.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Locator, Page } from 'playwright-core'
import { until } from '#test/support/until.ts'
import type { ActionListItem, HookRequestRecord } from '#web/base/api/types.ts'
import { formatDuration } from '#web/base/ui/format.ts'
import { focusedName, tabTo } from './keyboard.ts'
import { isAccessible, looksRightInEveryWay } from './looks.ts'
import { goTo, isLoaded, openPage, openPagesWorld, type PagesWorld } from './world.ts'

/** How far what people look at has moved, and what that was. */
const SUM_SHIFTS = `globalThis.shift = 0
globalThis.shifted = []
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput, sources } of list.getEntries()) {
    if (hadRecentInput) continue
    globalThis.shift += value
    for (const { node } of sources) globalThis.shifted.push(node?.textContent?.slice(0, 40))
  }
}).observe({ type: 'layout-shift', buffered: true })`

const LONG_NAME = 'long'.repeat(63)
const RIGHT_TO_LEFT = 'متجر الكتب'

/** Of the attempts of one delivery, newest first. */
function stateOf(attempts: HookRequestRecord[]): string {
  if (attempts.some(({ outcome }) => outcome === 'delivered'))
    return attempts.length > 1 ? 'retried' : 'delivered'
  const { outcome, next_attempt_at } = attempts[0]!
  if (outcome === 'superseded') return 'superseded'
  return next_attempt_at === null ? 'failed' : 'retried'
}

describe('applications at a glance', () => {
  let world: PagesWorld
  const ends: (() => Promise<void>)[] = []
  before(async () => {
    world = await openPagesWorld({ after: (end) => ends.push(end) })
  })
  after(async () => {
    for (const end of ends) await end()
  })

  const card = (page: Page, name: string): Locator =>
    page.getByRole('article').filter({ has: page.getByRole('heading', { name, exact: true }) })

  it('deploy and roll back in two clicks from the overview, confirmation included', async () => {
    const first = await world.deploy()
    const { page, errors, close } = await openPage(world, '/app/overview')
    const hello = card(page, 'Hello Gantry')
    await hello.getByRole('button', { name: 'Deploy Hello Gantry' }).click()
    const dialog = page.getByRole('dialog', { name: 'Deploy Hello Gantry' })
    await dialog.getByText('Deploys branch main').waitFor()
    await dialog.getByText('Ships nothing new: this commit is live.').waitFor()
    await isAccessible(page, 'the dialog that deploys')
    await dialog.getByRole('button', { name: 'Deploy', exact: true }).click()
    await page.getByText('All targets completed.').waitFor()

    await goTo(page, '/app/overview')
    await hello.getByRole('button', { name: 'Roll back Hello Gantry' }).click()
    const rollback = page.getByRole('dialog', { name: 'Roll back Deploy Hello Gantry' })
    await rollback.getByText(`To ${first.release}`).waitFor()
    await rollback.getByRole('button', { name: 'Roll back' }).click()
    await page.getByText('All targets completed.').waitFor()
    await page.getByText(first.release).first().waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('show on each card what the API has, and follow a run as it moves', async () => {
    const { page, errors, close } = await openPage(world, '/app/overview')
    const { body } = await world.api('GET', '/overview/applications')
    const [known] = body
    const hello = card(page, known.name)
    await hello.getByText(known.live[0].commit.hash.slice(0, 8)).waitFor()
    const marks = hello.getByRole('list', { name: `Last runs of ${known.name}` }).getByRole('link')
    assert.deepEqual(
      await Promise.all((await marks.all()).map((mark) => mark.getAttribute('href'))),
      known.runs.map(({ id }: { id: number }) => `/app/actions/${id}`).reverse(),
    )
    const { body: started } = await world.api('POST', '/pipelines/1/actions', {})
    await hello.getByRole('link', { name: `#${started.id}`, exact: true }).waitFor()
    await marks.last().and(page.locator('[data-status="completed"]')).waitFor()
    assert.match((await marks.last().getAttribute('href'))!, new RegExp(`/${started.id}$`))
    const deployments = page.getByRole('region', { name: 'Recent deployments' })
    await deployments.getByRole('link', { name: `Hello Gantry #${started.id}` }).waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('are reached by keyboard: one stop for the marks, whose arrow keys move between runs', async () => {
    const { page, close } = await openPage(world, '/app/overview')
    await card(page, 'Hello Gantry').getByRole('list').waitFor()
    await tabTo(page, /^Deploy Hello Gantry #\d+/)
    const newest = await focusedName(page)
    await page.keyboard.press('ArrowLeft')
    assert.notEqual(await focusedName(page), newest)
    await page.keyboard.press('End')
    assert.equal(await focusedName(page), newest)
    await page.keyboard.press('Tab')
    assert.equal(await focusedName(page), 'Roll back Hello Gantry')
    await close()
  })

  it('say why viewers cannot deploy', async () => {
    const { page, errors, close } = await openPage(world, '/app/overview', world.viewer)
    for (const command of ['Deploy', 'Roll back']) {
      const button = card(page, 'Hello Gantry').getByRole('button', { name: new RegExp(`^${command}`) })
      await button.waitFor()
      assert.equal(await button.getAttribute('aria-disabled'), 'true', command)
    }
    assert.deepEqual(errors, [])
    await close()
  })

  it('have pages about one, with a table of its servers, its commits and its insights', async () => {
    const { page, errors, close } = await openPage(world, '/app/applications/1')
    const { body: live } = await world.api('GET', '/applications/1/live')
    const table = page.getByRole('table', { name: 'Servers and releases' })
    await table
      .getByRole('row')
      .filter({ hasText: live[0].release_name })
      .getByText('Live', { exact: true })
      .waitFor()
    const commits = page.getByRole('table', { name: 'Commits' })
    await commits
      .getByRole('row')
      .filter({ hasText: live[0].commit.hash.slice(0, 8) })
      .getByText('Live')
      .waitFor()
    for (const [path, tab] of [
      ['/applications/1/insights', '/app/applications/1/insights'],
      ['/environments/1/insights', '/app/environments/1'],
    ] as const) {
      await goTo(page, tab)
      const { body: insights } = await world.api('GET', path)
      const figure = page.locator('dl > div').filter({ hasText: 'Deployments' })
      await figure.getByText(String(insights.deployments.count), { exact: true }).waitFor()
      const days = page.getByRole('table', { name: 'Deployments, rollbacks and reverts per day' })
      assert.deepEqual(
        await days.locator('tbody tr').allTextContents(),
        insights.days.map((day: Record<string, unknown>) => Object.values(day).join('')),
      )
    }
    await page
      .getByRole('table', { name: 'What is live where' })
      .getByText(live[0].commit.hash.slice(0, 8))
      .waitFor()
    await goTo(page, '/app/applications/1/nowhere')
    await page.getByRole('heading', { name: 'This page does not exist' }).waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('draw pictures whose figures are those of the API', async () => {
    const { body: after } = await world.api('POST', '/pipelines/server/1', {
      name: 'Runs after',
      operation: 'restart',
      run_after: [world.pipelineId],
    })
    await world.api('PUT', `/pipelines/${world.pipelineId}`, { max_parallel_actions: 1 })
    const start = async () => (await world.api('POST', `/pipelines/${world.pipelineId}/actions`, {})).body.id
    const [running, waiting] = [await start(), await start()]
    const { page, errors, close } = await openPage(world, '/app/environments/1')

    const slots = page
      .getByRole('table', { name: 'Slots and queues' })
      .getByRole('row', { name: 'Two steps' })
    const cellsOf = async (row: Locator) =>
      (await row.getByRole('cell').all()).map((cell) => cell.getByRole('link').allTextContents())
    await slots.getByRole('link', { name: `#${waiting}` }).waitFor()
    assert.deepEqual(await Promise.all(await cellsOf(slots)), [
      ['Two steps'],
      [`#${running}`],
      [`#${waiting}`],
    ])

    const chain = page.getByRole('table', { name: 'Which pipelines run after which' })
    await chain.getByRole('row', { name: 'Runs after Two steps', exact: true }).waitFor()
    assert.equal(await page.locator('figure svg rect + text').count(), 2)
    await world.openAll()
    await until('both have ended', 20_000, async () => {
      const { body } = await world.api('GET', `/actions/${waiting}`)
      return body.status === 'completed'
    })
    await page.getByText('Nothing runs or waits for a slot').waitFor()

    const matrix = page.getByRole('table', { name: 'What is live where' })
    for (const { id, name } of (await world.api('GET', '/overview/applications')).body) {
      const { body: live } = await world.api('GET', `/applications/${id}/live`)
      for (const { server, commit } of live) {
        const column = (await matrix.getByRole('columnheader').allTextContents()).indexOf(server.name)
        const row = matrix
          .getByRole('row')
          .filter({ has: page.getByRole('rowheader', { name, exact: true }) })
        assert.equal(
          await row
            .getByRole('cell')
            .nth(column - 1)
            .innerText(),
          commit.hash.slice(0, 8),
        )
      }
    }

    await goTo(page, `/app/pipelines/${world.pipelineId}`)
    const { body: runs } = await world.api(
      'GET',
      `/actions?filter[pipeline_id]=${world.pipelineId}&filter[status]=completed&per_page=30`,
    )
    const durations = page.getByRole('table', { name: /^Duration per step of the last/ })
    for (const name of ['speak', 'finish']) {
      const bars = durations.getByRole('row', { name }).locator('svg rect title')
      await bars.first().waitFor({ state: 'attached' })
      const times = (runs as ActionListItem[]).toReversed().map(({ id, targets }) => {
        const { started_at, completed_at } = targets[0]!.steps.find((step) => step.name === name)!
        return `#${id}: ${formatDuration(Date.parse(completed_at!) - Date.parse(started_at!))}`
      })
      assert.deepEqual(await bars.allTextContents(), times)
    }

    const { body: hooks } = await world.api('GET', `/pipelines/${world.pipelineId}/hooks`)
    const receiver = hooks.find(({ type }: { type: string }) => type === 'outgoing')
    await goTo(page, `/app/hooks/outgoing/${receiver.id}`)
    const hours = page.getByRole('table', { name: 'Deliveries per hour' }).locator('tbody tr')
    await hours.first().waitFor({ state: 'attached' })
    const { body: requests } = await world.api('GET', `/hooks/outgoing/${receiver.id}/requests?per_page=100`)
    const deliveries = Map.groupBy(requests as HookRequestRecord[], ({ id, retry_of }) => retry_of ?? id)
    const expected = [...deliveries.values()].map(stateOf)
    await until('every delivery is counted', 20_000, async () => {
      const counts = await Promise.all(
        (await hours.all()).map((hour) => hour.getByRole('cell').allTextContents()),
      )
      return ['delivered', 'retried', 'failed'].every(
        (state, index) =>
          counts.reduce((sum, row) => sum + Number(row[index]), 0) ===
          expected.filter((one) => one === state).length,
      )
    })

    await world.api('DELETE', `/pipelines/${after.id}`)
    assert.deepEqual(errors, [])
    await close()
  })

  it('take at most 180 kB of scripts and styles at first, compressed', async () => {
    const { page, close } = await openPage(world, '/app/nowhere')
    // What loads seconds later, for later, does not count, however slowly the page appears.
    await page.addInitScript(() => {
      const { setTimeout } = globalThis
      const soon = (handler: () => void, ms = 0) => (ms < 2_000 ? setTimeout(handler, ms) : 0)
      Object.assign(globalThis, { setTimeout: soon })
    })
    const loaded: Promise<[string, number]>[] = []
    page.on('response', (response) => {
      if (['script', 'stylesheet'].includes(response.request().resourceType()))
        loaded.push(response.body().then((body) => [response.url(), gzipSync(body).length]))
    })
    await page.goto('/app')
    await page.getByRole('article').first().waitFor()
    await page.locator('figure svg').first().waitFor()
    const sizes = await Promise.all(loaded)
    const total = sizes.reduce((sum, [, size]) => sum + size, 0)
    assert.ok(total > 100_000 && total <= 180_000, `${total}: ${sizes.join(' ')}`)
    await close()
  })

  it('move nothing while they load', async () => {
    const { page, close } = await openPage(world, '/app/overview')
    await page.addInitScript(SUM_SHIFTS)
    const { id } = await world.deploy()
    for (const width of [1440, 390])
      for (const path of ['overview', 'applications/1', `actions/${id}`, 'environments/1']) {
        await page.setViewportSize({ width, height: 900 })
        await page.goto(`/app/${path}`)
        await page.getByRole('heading', { level: 1 }).waitFor()
        await isLoaded(page)
        const shift = (await page.evaluate('globalThis.shift')) as number
        const shifted = await page.evaluate('globalThis.shifted')
        assert.ok(shift <= 0.05, `${path} at ${width} px: ${shift} ${JSON.stringify(shifted)}`)
      }
    await close()
  })

  it('fit with many of them, with long and right-to-left names, and are found by a filter', async () => {
    const { body: first } = await world.api('GET', '/applications/1')
    const names = [
      LONG_NAME,
      RIGHT_TO_LEFT,
      ...Array.from({ length: 24 }, (_, index) => `Application ${index}`),
    ]
    for (const name of names)
      await world.api('POST', '/environments/1/applications', { name, repository: first.repository })
    const { page, errors, close } = await openPage(world, '/app/overview')
    await until('24 cards', 20_000, async () => (await page.getByRole('article').count()) === 24)
    await page.getByRole('button', { name: 'Next' }).click()
    await until('the rest', 20_000, async () => (await page.getByRole('article').count()) === 3)
    await page.getByLabel('Filter applications').fill('long')
    await card(page, LONG_NAME).waitFor()
    await until('one card', 20_000, async () => (await page.getByRole('article').count()) === 1)
    assert.equal(new URL(page.url()).search, '?q=long')
    await looksRightInEveryWay(page, 'a long name')
    await page.getByLabel('Filter applications').fill('no such')
    await page.getByText('No applications match').waitFor()
    await page.getByRole('button', { name: 'Show all' }).click()
    await until('all again', 20_000, async () => (await page.getByRole('article').count()) === 24)
    await page.getByLabel('Filter applications').fill(RIGHT_TO_LEFT)
    await card(page, RIGHT_TO_LEFT).getByText('Not linked to a server yet').waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('stay while Gantry is unreachable, and continue when it is back', async () => {
    const { page, close } = await openPage(world, '/app/overview?q=hello')
    await card(page, 'Hello Gantry').waitFor()
    const start = await world.stop()
    await page.getByLabel('Filter applications').fill('hello gantry')
    await page.getByText('Gantry is unreachable.').waitFor()
    assert.equal(await card(page, 'Hello Gantry').count(), 1)
    await start()
    await page.getByText('Gantry is unreachable.').waitFor({ state: 'detached' })
    await isLoaded(page)
    assert.equal(await card(page, 'Hello Gantry').count(), 1)
    await close()
  })
})
