// What surrounds every page: sidebar, drawer, palette, account menu; and what does not move or overlap.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { until } from '#test/support/until.ts'
import { findViolations } from './axe.ts'
import { chooseInAccountMenu, scopeLevel, selectScope } from './shell-steps.ts'
import { isLoaded, openPage, openPagesWorld, type PagesWorld } from './world.ts'

const LONG_NAME = `Deploy ${'ブログ und <b>shop</b> '.repeat(13)}`.slice(0, 250)
const ROW_HEIGHT = 60
const WIDTHS = [360, 768, 1024, 1440, 2200, 2560]

describe('the shell', () => {
  let world: PagesWorld
  let longId: number
  const ends: (() => Promise<void>)[] = []
  before(async () => {
    world = await openPagesWorld({ after: (end) => ends.push(end) })
    await world.openAll()
    await world.createProject('Web shop', 'Production')
    await world.deploy()
    const { body } = await world.api('POST', '/pipelines/server/1', { name: LONG_NAME, operation: 'custom' })
    longId = body.id
    await world.api('POST', `/pipelines/${longId}/steps`, { name: 'wait', command: 'sleep 600' })
  })
  after(async () => {
    for (const end of ends) await end()
  })

  it('lists each run by the name of its pipeline, and nothing in a row overlaps at any width', async () => {
    for (let run = 0; run < 3; run++) await world.api('POST', `/pipelines/${longId}/actions`, {})
    await world.callHook({})
    const { page, errors, close } = await openPage(world, '/app/actions')
    await page.getByRole('link', { name: 'Two steps #5' }).waitFor()
    await page.getByRole('link', { name: /^Deploy ブログ.* #4$/ }).waitFor()
    await page.getByText('Waiting: pipeline busy').first().waitFor()
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 })
      assert.deepEqual(await page.evaluate(OVERLAPS), [], `at ${width}`)
      assert.equal(await isTooWide(page), false, `wider than ${width}`)
    }
    assert.deepEqual(errors, [])
    await close()
  })

  it('switches the scope from any page: an object leads to its list, an organization page to the overview', async () => {
    const { page, errors, close } = await openPage(world, `/app/pipelines/${longId}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await selectScope(page, 'Project', 'Web shop')
    await page.waitForURL((url) => url.pathname === '/app/pipelines')
    await page.getByRole('link', { name: 'Restart Web shop' }).waitFor()
    await page.getByRole('link', { name: 'Members' }).click()
    await page.getByRole('heading', { level: 1, name: 'Members' }).waitFor()
    await selectScope(page, 'Project', 'All projects')
    await page.waitForURL((url) => url.pathname === '/app/members' && url.search === '?organization=1')
    await selectScope(page, 'Project', 'Sample project')
    await page.waitForURL((url) => url.pathname === '/app/overview')
    assert.equal(await scopeLevel(page, 'Project').inputValue(), 'Sample project')
    assert.deepEqual(errors, [])
    await close()
  })

  it('searches a level by typing once it is long', async () => {
    for (let index = 1; index <= 8; index++)
      await world.api('POST', '/organizations/1/projects', { name: `Project ${index}` })
    const { page, close } = await openPage(world, '/app/overview')
    await scopeLevel(page, 'Project').click()
    await page.keyboard.press('Control+a')
    await page.keyboard.type('web')
    await until('only one is left', 20_000, async () => (await page.getByRole('option').count()) === 1)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL(/project=\d+/)
    assert.equal(await scopeLevel(page, 'Project').inputValue(), 'Web shop')
    await close()
  })

  it('jumps and runs by keyboard alone, announces what it found, and offers it first next time', async () => {
    const { page, errors, close } = await openPage(world, '/app/overview')
    await page.getByRole('heading', { level: 1 }).waitFor()
    await openPalette(page)
    await page.keyboard.type('this machine')
    await page.getByRole('option', { name: /^This machine/ }).waitFor()
    await page
      .getByRole('status')
      .getByText(/^\d+ results?$/)
      .waitFor({ state: 'attached' })
    assert.deepEqual(await findViolations(page), [])
    await press(page, 'Enter')
    await page.waitForURL((url) => url.pathname === '/app/servers/1')
    await headingHasFocus(page)

    await openPalette(page)
    await page.keyboard.type('#1')
    await page.getByRole('option', { name: / #1/ }).first().waitFor()
    await resultsAreComplete(page)
    await press(page, 'Enter')
    await page.waitForURL((url) => url.pathname === '/app/actions/1')
    await headingHasFocus(page)

    await openPalette(page)
    await page.keyboard.type('run two')
    await page.getByRole('option', { name: 'Run Two steps' }).waitFor()
    await resultsAreComplete(page)
    await press(page, 'Enter')
    await page.getByRole('dialog', { name: 'Run Two steps' }).waitFor()
    await press(page, 'Escape')

    await openPalette(page)
    const recent = page.getByRole('group', { name: 'Recent' }).getByRole('option')
    assert.match((await recent.first().textContent()) ?? '', /^Run Two steps/)
    await press(page, 'ArrowDown')
    await press(page, 'ArrowUp')
    await press(page, 'ArrowUp')
    assert.equal(await page.getByRole('option', { selected: true }).textContent(), 'Sign out')
    await page.keyboard.type(LONG_NAME.slice(0, 200))
    await page
      .getByRole('option', { name: /ブログ und <b>shop<\/b>/ })
      .first()
      .waitFor()
    await press(page, 'Escape')
    await page.getByRole('combobox', { name: 'Search and commands' }).waitFor({ state: 'detached' })
    assert.equal(await page.locator('style').count(), 0)
    assert.deepEqual(errors, [])
    await close()
  })

  it('rolls back an application by name', async () => {
    const { page, errors, close } = await openPage(world, '/app/overview')
    await page.getByRole('button', { name: /^Search/ }).click()
    await paletteHasFocus(page)
    await page.keyboard.type('roll back sample')
    // The list is still changing while it is searched: a click could hit what has just moved.
    await page.getByRole('option', { name: /^Roll back /, selected: true }).waitFor()
    await press(page, 'Enter')
    await page.waitForURL((url) => url.pathname === '/app/pipelines/1')
    await page.getByRole('dialog').waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('restores focus and scroll position on Back, and moves to the heading on the way forth', async () => {
    for (let call = 0; call < 20; call++) await world.callHook({})
    const { page, errors, close } = await openPage(world, '/app/actions')
    await page.setViewportSize({ width: 1200, height: 500 })
    const link = page.getByRole('link', { name: 'Two steps #5' })
    await link.focus()
    const scroll = Number(await page.evaluate('scrollY'))
    assert.ok(scroll > 100)
    await press(page, 'Enter')
    await page.getByRole('heading', { level: 1, name: 'Two steps #5' }).waitFor()
    await headingHasFocus(page)
    assert.equal(await page.evaluate('scrollY'), 0)
    await page.goBack()
    await until('the link has the focus again', 20_000, async () => {
      return (await page.evaluate('document.activeElement.textContent')) === 'Two steps #5'
    })
    await until('it is where it was', 20_000, async () => {
      return Math.abs(Number(await page.evaluate('scrollY')) - scroll) < ROW_HEIGHT
    })
    assert.deepEqual(errors, [])
    await close()
  })

  it('opens as a drawer where there is no room, and closes after a choice', async () => {
    const { page, errors, close } = await openPage(world, '/app/overview')
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.setViewportSize({ width: 360, height: 740 })
    const burger = page.getByRole('button', { name: 'Navigation' })
    await burger.click()
    const drawer = page.getByRole('dialog', { name: 'Navigation' })
    await drawer.getByRole('link', { name: 'Servers' }).waitFor()
    const { height } = (await drawer.boundingBox())!
    assert.equal(height, 740)
    assert.deepEqual(await findViolations(page), [])
    await drawer.getByRole('link', { name: 'Servers' }).click()
    await drawer.waitFor({ state: 'detached' })
    await page.getByRole('heading', { level: 1, name: 'Servers' }).waitFor()
    await isLoaded(page)
    assert.equal(await isTooWide(page), false)
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('combobox', { name: 'Search and commands' }).waitFor()
    assert.deepEqual(await findViolations(page), [])
    assert.deepEqual(errors, [])
    await close()
  })

  it('has an account menu, and places of the instance only for its administrators', async () => {
    const { page, errors, close } = await openPage(world, '/app/overview')
    await page.getByRole('link', { name: 'Users' }).waitFor()
    await page.getByRole('button', { name: /^Account menu of/ }).click()
    await page.getByRole('menuitemradio', { name: 'Dark' }).click()
    await page.locator('html[data-mantine-color-scheme="dark"]').waitFor()
    assert.deepEqual(await findViolations(page), [])
    await page.getByRole('menuitemradio', { name: 'Like the system' }).click()
    await page.getByRole('menuitem', { name: 'Account' }).click()
    await page.getByRole('heading', { level: 1, name: 'Account' }).waitFor()
    assert.deepEqual(errors, [])
    await close()
    const viewer = await openPage(world, '/app/overview', world.viewer)
    await viewer.page.getByRole('link', { name: 'Members' }).waitFor()
    assert.equal(await viewer.page.getByRole('link', { name: 'Users' }).count(), 0)
    await chooseInAccountMenu(viewer.page, 'Sign out')
    await viewer.page.getByLabel('Email').waitFor()
    assert.equal(await viewer.page.evaluate("localStorage.getItem('gantry-recent')"), null)
    await viewer.close()
  })
})

const press = (page: Page, key: string) => page.keyboard.press(key)

/** Opens it from wherever the focus is. */
async function openPalette(page: Page): Promise<void> {
  await press(page, 'Control+k')
  await paletteHasFocus(page)
}

async function paletteHasFocus(page: Page): Promise<void> {
  await page.locator('[role="combobox"][aria-label="Search and commands"]:focus').waitFor()
}

async function headingHasFocus(page: Page): Promise<void> {
  await until('the heading has the focus', 20_000, async () => {
    return (await page.evaluate('document.activeElement.tagName')) === 'H1'
  })
}

async function resultsAreComplete(page: Page): Promise<void> {
  await page.locator('[role="listbox"][aria-busy="false"]').waitFor()
}

function isTooWide(page: Page): Promise<unknown> {
  return page.evaluate('document.documentElement.scrollWidth > window.innerWidth')
}

/** Cells of a row that overlap, and what leaves its cell. */
const OVERLAPS = `[...document.querySelectorAll('[data-action]')].flatMap((row) => {
  const cells = [...row.cells].filter((cell) => cell.checkVisibility())
  const boxes = cells.map((cell) => ({ text: cell.innerText, box: cell.getBoundingClientRect() }))
  const problems = cells.flatMap((cell, index) => {
    const { right } = boxes[index].box
    const isTooWide = cell.scrollWidth > cell.clientWidth + 1
    const leaves = [...cell.querySelectorAll('*')].some((part) => part.getBoundingClientRect().right > right + 1)
    return isTooWide || leaves ? [cell.innerText + ' leaves its cell'] : []
  })
  for (const [index, { text, box: a }] of boxes.entries())
    for (const { text: other, box: b } of boxes.slice(index + 1)) {
      const isApart = a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 1 || b.bottom <= a.top + 1
      if (!isApart) problems.push(text + ' overlaps ' + other)
    }
  return problems
})`
