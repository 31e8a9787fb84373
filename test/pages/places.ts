// Where a person looks: the place switcher, what goes along from page to page, and what is shown of several projects.
import assert from 'node:assert/strict'
import { before, it } from 'node:test'
import type { Page } from 'playwright-core'
import { goTo, type Login, openPage, type PagesWorld, settled } from './world.ts'

export function testPlaces(theWorld: () => PagesWorld): void {
  let shop: Awaited<ReturnType<PagesWorld['makeProject']>>
  let narrow: Login
  before(async () => {
    shop = await theWorld().makeProject('Web shop', 'Production')
    const grant = { role: 'developer', project_id: shop.projectId }
    narrow = await theWorld().invite('narrow@example.com', grant)
  })

  it('show the pipelines and hooks of every project to whoever has chosen none', async () => {
    const { page, faults, close } = await openPage(theWorld(), '/app/pipelines')
    const old = page.getByRole('region', { name: 'Development of Sample project' })
    const fresh = page.getByRole('region', { name: 'Production of Web shop' })
    await old.getByRole('link', { name: 'Two steps' }).waitFor()
    await fresh.getByRole('link', { name: 'Restart Web shop' }).waitFor()
    await page.getByRole('link', { name: 'Hooks' }).click()
    await old.getByRole('link', { name: 'Outside world' }).waitFor()
    await fresh.getByRole('link', { name: 'Call of Web shop' }).waitFor()
    assert.deepEqual(faults, [])
    await close()
  })

  it('choose organization, project and environment, one after the other and back again', async () => {
    await theWorld().callHook({})
    const { page, faults, close } = await openPage(theWorld(), '/app/actions')
    const all = page.locator('[data-action]')
    await all.first().waitFor()
    assert.equal(await page.getByLabel('Environment').count(), 0)
    await page.getByLabel('Project').press('ArrowDown')
    await page.getByText('Nothing has run here yet.').waitFor()
    await addressEnds(page, `?organization=1&project=${shop.projectId}`)
    await page.getByLabel('Environment').selectOption('Production')
    await addressEnds(page, `?organization=1&project=${shop.projectId}&environment=${shop.environmentId}`)

    await page.reload()
    await seeChosen(page, 'Sample organization', 'Web shop', 'Production')
    await page.getByLabel('Project').selectOption('Sample project')
    await all.first().waitFor()
    await addressEnds(page, '?organization=1&project=1')
    await page.goBack()
    await page.getByText('Nothing has run here yet.').waitFor()
    await seeChosen(page, 'Sample organization', 'Web shop', 'Production')
    await page.getByLabel('Organization').selectOption('All organizations')
    await all.first().waitFor()
    await addressEnds(page, '')
    assert.deepEqual(faults, [])
    await close()
  })

  it('take the place along: to other pages, past a page about one thing, and from the overview', async () => {
    const place = `?organization=1&project=${shop.projectId}`
    const { page, faults, close } = await openPage(theWorld(), `/app/pipelines${place}`)
    await page.getByRole('link', { name: 'Restart Web shop' }).click()
    const trail = page.getByRole('navigation', { name: 'Where it stands' })
    await trail.getByText('Sample organization / Web shop / Production').waitFor()
    assert.equal(await page.getByLabel('Project').count(), 0)
    await page.getByRole('link', { name: 'Hooks' }).click()
    await page.getByRole('link', { name: 'Call of Web shop' }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'Outside world' }).count(), 0)
    await page.getByRole('link', { name: 'Call of Web shop' }).click()
    await trail.getByRole('link', { name: 'Production' }).click()
    await addressEnds(page, `${place}&environment=${shop.environmentId}`)
    await page.getByRole('link', { name: 'Gantry', exact: true }).click()
    await page.getByRole('link', { name: 'Failed in a day' }).click()
    await page.getByText('No action matches these filters.').waitFor()
    await page.getByRole('link', { name: 'Members' }).click()
    await page.getByText('developer in Web shop').waitFor()
    assert.equal(await page.getByLabel('Project').count(), 0, 'members belong to the organization')
    assert.deepEqual(faults, [])
    await close()
  })

  it('show whoever has a role in one project only what is theirs, and how to get there', async () => {
    const { page, faults, close } = await openPage(theWorld(), '/app/pipelines', narrow)
    await page.getByText('There is no organization here that you see as a whole.').waitFor()
    await goTo(page, `/app/pipelines?organization=1&project=${shop.projectId}`)
    await page.getByRole('link', { name: 'Restart Web shop' }).waitFor()
    await seeChosen(page, 'Sample organization', 'Web shop', 'All environments')
    assert.deepEqual(faults, [])
    await close()
  })

  it('say so when there are more projects than are shown', async () => {
    for (const name of ['Third', 'Fourth']) await theWorld().makeProject(name, 'Staging')
    await theWorld().api('POST', '/organizations/1/projects', { name: 'Empty' })
    const { page, faults, close } = await openPage(theWorld(), '/app/pipelines')
    await page.setViewportSize({ width: 375, height: 740 })
    await page.getByText('These are 3 of 5 projects.').waitFor()
    await page.getByRole('link', { name: 'Restart Fourth' }).waitFor()
    assert.equal(await page.getByRole('region', { name: /Sample project/ }).count(), 0)
    await page.getByLabel('Project').selectOption('Sample project')
    await page.getByRole('link', { name: 'Two steps' }).waitFor()
    await settled(page)
    assert.equal(await page.getByText(/These are/).count(), 0)
    assert.equal(await page.evaluate('document.documentElement.scrollWidth > window.innerWidth'), false)
    assert.deepEqual(faults, [])
    await close()
  })
}

/** The place, and whatever else there is to be passed on, stands in the address. */
async function addressEnds(page: Page, search: string): Promise<void> {
  await page.waitForURL((url) => url.search === search)
}

/** The switcher names them, once it has read what they are called. */
async function seeChosen(page: Page, ...names: [string, string, string]): Promise<void> {
  for (const [index, level] of ['Organization', 'Project', 'Environment'].entries())
    await page.getByLabel(level).locator('option:checked').getByText(names[index]!, { exact: true }).waitFor({
      state: 'attached',
    })
}
