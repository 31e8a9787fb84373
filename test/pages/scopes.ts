// Scopes: the switcher, what is carried from page to page, and what is shown of several projects.
import assert from 'node:assert/strict'
import { before, it } from 'node:test'
import type { Page } from 'playwright-core'
import { until } from '#test/support/until.ts'
import { scopeLevel, selectScope } from './shell-steps.ts'
import { goTo, isLoaded, type Login, openPage, type PagesWorld } from './world.ts'

const LEVELS = ['Organization', 'Project', 'Environment'] as const

export function testScopes(theWorld: () => PagesWorld): void {
  let shop: Awaited<ReturnType<PagesWorld['createProject']>>
  let limited: Login
  before(async () => {
    shop = await theWorld().createProject('Web shop', 'Production')
    const grant = { role: 'developer', project_id: shop.projectId }
    limited = await theWorld().invite('limited@example.com', grant)
  })

  it('show the pipelines and hooks of every project when none is selected', async () => {
    const { page, errors, close } = await openPage(theWorld(), '/app/pipelines')
    const sample = page.getByRole('region', { name: 'Sample project / Development' })
    const added = page.getByRole('region', { name: 'Web shop / Production' })
    await sample.getByRole('link', { name: 'Two steps' }).waitFor()
    await added.getByRole('link', { name: 'Restart Web shop' }).waitFor()
    await page.getByRole('link', { name: 'Hooks' }).click()
    await sample.getByRole('link', { name: 'External service' }).waitFor()
    await added.getByRole('link', { name: 'Deploy Web shop' }).waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('select organization, project and environment, one after the other and back again', async () => {
    await theWorld().callHook({})
    const { page, errors, close } = await openPage(theWorld(), '/app/actions')
    const all = page.locator('[data-action]')
    await all.first().waitFor()
    assert.equal(await scopeLevel(page, 'Environment').count(), 0)
    await scopeLevel(page, 'Project').press('ArrowDown')
    await page.getByRole('option', { name: 'Web shop' }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByText('No runs yet').waitFor()
    await searchIs(page, `?organization=1&project=${shop.projectId}`)
    await selectScope(page, 'Environment', 'Production')
    await searchIs(page, `?organization=1&project=${shop.projectId}&environment=${shop.environmentId}`)

    await page.reload()
    await isSelected(page, 'Sample organization', 'Web shop', 'Production')
    await selectScope(page, 'Project', 'Sample project')
    await all.first().waitFor()
    await searchIs(page, '?organization=1&project=1')
    await page.goBack()
    await page.getByText('No runs yet').waitFor()
    await isSelected(page, 'Sample organization', 'Web shop', 'Production')
    await selectScope(page, 'Organization', 'All organizations')
    await all.first().waitFor()
    await searchIs(page, '')
    assert.deepEqual(errors, [])
    await close()
  })

  it('carry the scope: to other pages, past the page of one object, and from the overview', async () => {
    const scope = `?organization=1&project=${shop.projectId}`
    const { page, errors, close } = await openPage(theWorld(), `/app/pipelines${scope}`)
    await page.getByRole('link', { name: 'Restart Web shop' }).click()
    const breadcrumbs = page.getByRole('navigation', { name: 'Scope' })
    await breadcrumbs.getByRole('link', { name: 'Web shop', exact: true }).waitFor()
    assert.match(await breadcrumbs.innerText(), /Sample organization\s*\/\s*Web shop\s*\/\s*Production/)
    assert.equal(await scopeLevel(page, 'Project').inputValue(), 'Web shop')
    await page.getByRole('link', { name: 'Hooks' }).click()
    await page.getByRole('link', { name: 'Deploy Web shop' }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'External service' }).count(), 0)
    await page.getByRole('link', { name: 'Deploy Web shop' }).click()
    await breadcrumbs.getByRole('link', { name: 'Production' }).click()
    await searchIs(page, `${scope}&environment=${shop.environmentId}`)
    await page.getByRole('link', { name: 'Gantry', exact: true }).click()
    await page.getByRole('link', { name: 'Failed (24 h)' }).click()
    await page.getByText('No actions match these filters').waitFor()
    await page.getByRole('link', { name: 'Members' }).click()
    await page.getByText('developer in Web shop').waitFor()
    assert.equal(await scopeLevel(page, 'Project').inputValue(), 'Web shop', 'it is still carried')
    assert.deepEqual(errors, [])
    await close()
  })

  it('show people with a role in one project what is in it, and pages of the organization who to ask', async () => {
    const { page, errors, close } = await openPage(theWorld(), '/app/members', limited)
    await page.getByText('Your role covers only part of an organization').waitFor()
    await goTo(page, '/app/pipelines')
    await page.getByRole('link', { name: 'Restart Web shop' }).waitFor()
    await goTo(page, `/app/pipelines?organization=1&project=${shop.projectId}`)
    await page.getByRole('link', { name: 'Restart Web shop' }).waitFor()
    await isSelected(page, 'Sample organization', 'Web shop', 'All environments')
    assert.deepEqual(errors, [])
    await close()
  })

  it('say when there are more projects than are shown', async () => {
    for (const name of ['Third', 'Fourth']) await theWorld().createProject(name, 'Staging')
    await theWorld().api('POST', '/organizations/1/projects', { name: 'Empty' })
    const { page, errors, close } = await openPage(theWorld(), '/app/pipelines')
    await page.setViewportSize({ width: 375, height: 740 })
    await page.getByText('Showing 3 of 5 projects.').waitFor()
    await page.getByRole('link', { name: 'Restart Fourth' }).waitFor()
    assert.equal(await page.getByRole('region', { name: /Sample project/ }).count(), 0)
    await page.getByRole('button', { name: 'Navigation' }).click()
    await selectScope(page, 'Project', 'Sample project')
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Two steps' }).waitFor()
    await isLoaded(page)
    assert.equal(await page.getByText(/Showing 3/).count(), 0)
    assert.equal(await page.evaluate('document.documentElement.scrollWidth > window.innerWidth'), false)
    assert.deepEqual(errors, [])
    await close()
  })
}

/** The URL carries the scope, and nothing else. */
async function searchIs(page: Page, search: string): Promise<void> {
  await page.waitForURL((url) => url.search === search)
}

/** The switcher shows these names, once they are loaded. */
async function isSelected(page: Page, ...names: [string, string, string]): Promise<void> {
  for (const [index, level] of LEVELS.entries())
    await until(`${names[index]} is selected`, 20_000, async () => {
      return (await scopeLevel(page, level).inputValue()) === names[index]
    })
}
