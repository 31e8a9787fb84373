// The guides in a real browser: searched by keyboard, read on any screen, and found from the pages that they explain.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isAccessible, looksRight, looksRightInEveryWay } from './looks.ts'
import { openPage, openPagesWorld, type PagesWorld } from './world.ts'

const BUILD = fileURLToPath(new URL('../../scripts/build-guides.mjs', import.meta.url))

describe('the guides', () => {
  let world: PagesWorld
  const ends: (() => Promise<void>)[] = []
  before(async () => {
    assert.equal(spawnSync(process.execPath, [BUILD], { stdio: 'inherit' }).status, 0)
    world = await openPagesWorld({ after: (end) => ends.push(end) })
  })
  after(async () => {
    for (const end of ends.reverse()) await end()
  })

  async function open(path = '/docs/guides') {
    const opened = await openPage(world, path, null)
    await opened.page.getByRole('combobox', { name: 'Search the guides' }).waitFor()
    return opened
  }

  it('are searched by the keyboard alone, and a result opens at its heading', async () => {
    const { page, errors, close } = await open()
    const search = page.getByRole('combobox')
    const options = page.getByRole('option')
    await page.keyboard.press('/')
    await page.keyboard.type('rolling back')
    await options.first().waitFor()
    assert.match(await options.first().innerText(), /^Releases: Rolling back\n/)
    assert.equal(await search.getAttribute('aria-expanded'), 'true')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowUp')
    assert.equal(await options.first().getAttribute('aria-selected'), 'true')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/docs/guides/releases#rolling-back')
    const heading = page.getByRole('heading', { name: 'Rolling back', exact: true })
    await page.waitForFunction(
      '(one) => one.getBoundingClientRect().top >= 0 && one.getBoundingClientRect().bottom <= innerHeight',
      await heading.elementHandle(),
    )
    assert.equal(await page.locator('nav [aria-current=page]').innerText(), 'Releases')

    await page.keyboard.press('/')
    await page.keyboard.type('nothing has these words')
    await page.getByRole('status').getByText('No results').waitFor()
    assert.equal(await options.count(), 0)
    assert.deepEqual(errors, [])
    await close()
  })

  it('say so when the search cannot load what it needs, and try again', async () => {
    const { page, close } = await open()
    await page.route('**/search.json', (route) => route.abort())
    await page.getByRole('combobox').fill('hook')
    await page.getByRole('status').getByText('could not be loaded').waitFor()
    await page.unroute('**/search.json')
    await page.getByRole('combobox').fill('hooks')
    await page.getByRole('option').first().waitFor()
    await close()
  })

  it('are accessible and fit the window, wide and narrow, light and dark', async () => {
    for (const path of [
      '/docs/guides',
      '/docs/guides/tour',
      '/docs/guides/permissions',
      '/docs/guides/gone',
    ]) {
      const { page, errors, close } = await open(path)
      await looksRightInEveryWay(page, path, 1280)
      assert.deepEqual(errors, [])
      await close()
    }
  })

  it('are accessible while a search is open, and with the list of guides on a small screen', async () => {
    const { page, errors, close } = await open('/docs/guides/runs')
    await page.getByRole('combobox').fill('hook')
    await page.getByRole('option').first().waitFor()
    await looksRight(page, 'results', 1280)
    await page.keyboard.press('Escape')
    await page.setViewportSize({ width: 360, height: 740 })
    await page.getByRole('button', { name: 'Guides' }).click()
    await page.getByRole('link', { name: 'Receivers' }).waitFor()
    const list = await page.getByRole('navigation', { name: 'Guides' }).boundingBox()
    assert.equal(list!.y + list!.height, 740, 'it ends with the window, and scrolls')
    await isAccessible(page, 'the list of guides')
    await page.getByRole('link', { name: 'Receivers' }).click()
    await page.getByRole('heading', { name: 'Receivers', level: 1 }).waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('copy a block of code', async () => {
    const { page, close } = await open('/docs/guides/tour')
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const block = page.locator('figure.code').first()
    await block.getByRole('button', { name: 'Copy' }).click()
    await block.getByRole('button', { name: 'Copied' }).waitFor()
    assert.equal(
      await page.evaluate('navigator.clipboard.readText()'),
      await block.locator('code').textContent(),
    )
    await close()
  })

  it('are complete without scripts', async () => {
    const context = await world.browser.newContext({ baseURL: world.url, javaScriptEnabled: false })
    const page = await context.newPage()
    await page.setViewportSize({ width: 360, height: 740 })
    await page.goto('/docs/guides')
    await page.getByRole('main').getByRole('link', { name: 'Releases: rolling back' }).click()
    assert.equal(new URL(page.url()).hash, '#rolling-back')
    await page.getByRole('heading', { name: 'Rolling back', exact: true }).waitFor()
    assert.equal(await page.getByRole('button').count(), 0)
    await page.getByRole('navigation', { name: 'Guides' }).getByRole('link', { name: 'Runs' }).click()
    await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor()
    await context.close()
  })

  it('open from the page that they explain, from the sign-in page, and from the reference', async () => {
    const { page, close } = await openPage(world, '/app/audit?organization=1')
    const [guide] = await Promise.all([
      page.waitForEvent('popup'),
      page.getByRole('link', { name: 'Guide to this page, opens in a new tab' }).click(),
    ])
    await guide.waitForURL('**/docs/guides/operations#audit-log')
    await guide.getByRole('heading', { name: 'Audit log' }).waitFor()
    await guide.close()
    await close()

    const visitor = await openPage(world, '/app/sign-in', null)
    await visitor.page.getByRole('link', { name: 'Guides' }).click()
    await visitor.page.getByRole('heading', { name: 'Documentation' }).waitFor()
    await visitor.page.getByRole('link', { name: 'API' }).click()
    await visitor.page.waitForURL('**/docs')
    // Searched on all of the reference, a role takes seconds.
    await visitor.page.locator('header').getByRole('link', { name: 'Guides' }).click()
    await visitor.page.waitForURL('**/docs/guides')
    assert.deepEqual(visitor.errors, [])
    await visitor.close()
  })
})
