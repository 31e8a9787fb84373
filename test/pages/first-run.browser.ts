// What a new installation offers: a checklist, a sample that can be removed, and a whole project from one file.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, describe, it } from 'node:test'
import { findViolations } from './axe.ts'
import { tabTo } from './keyboard.ts'
import { looksRight } from './looks.ts'
import { goTo, isDisabledWithReason, isLoaded, openPage, openPagesWorld, type PagesWorld } from './world.ts'
import { assertWrites } from './writes.ts'

const DOCUMENT = `organization: Acme
project: { name: Docs }
credentials:
  GitLab: { provider_code: gitlab, token: "\${GITLAB_TOKEN}" }
environments:
  Production: { type: production }
`

describe('a new installation', () => {
  let world: PagesWorld
  const ends: (() => Promise<void>)[] = []
  before(async () => {
    world = await openPagesWorld({ after: (end) => ends.push(end) })
  })
  after(async () => {
    for (const end of ends) await end()
  })

  it('leads an administrator from the checklist to the guided setup, and bothers no viewer with it', async () => {
    const { page, errors, close } = await openPage(world, '/app/overview')
    await page.getByText('0 of 5 done').waitFor()
    await page.getByRole('link', { name: 'Add your first application' }).press('Enter')
    await page.getByRole('textbox', { name: 'Project' }).waitFor()
    assert.deepEqual(await findViolations(page), [])
    await page.getByRole('textbox', { name: 'Project' }).fill('')
    await page.keyboard.press('Enter')
    await page.getByText('Enter a name.').waitFor()
    await page.getByRole('textbox', { name: 'Project' }).fill('Läden 商店')
    await page.reload()
    await page.getByText('Your unsaved changes were restored.').waitFor()
    assert.equal(await page.getByRole('textbox', { name: 'Project' }).inputValue(), 'Läden 商店')
    await close()
    const viewer = await openPage(world, '/app/overview', world.viewer)
    await viewer.page.getByText('Nothing is running').waitFor()
    await isLoaded(viewer.page)
    assert.equal(await viewer.page.getByText('Deploy on push, in five steps').count(), 0)
    assert.deepEqual([...errors, ...viewer.errors], [])
    await viewer.close()
  })

  it('takes a gantry.yaml, shows what would change, and applies it', async () => {
    await world.api('POST', '/organizations', { name: 'Acme' })
    const { page, errors, close } = await openPage(world, '/app/settings')
    await page.getByRole('button', { name: 'Apply gantry.yaml' }).click()
    const dialog = page.getByRole('dialog', { name: 'Apply gantry.yaml' })
    const editor = dialog.getByRole('textbox', { name: 'Document' })
    await dialog.locator('.cm-content').waitFor()
    await editor.fill('organization: Acme\nproject: { nam: Docs }')
    await dialog.getByRole('button', { name: 'Preview changes' }).click()
    await dialog
      .getByRole('alert')
      .getByText(/line 2/)
      .first()
      .waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Keep editing' }).click()
    for (const key of ['Control+a', 'Delete']) await editor.press(key)
    await editor.fill(DOCUMENT)
    await dialog.getByLabel('Value of GITLAB_TOKEN').fill('glpat-of-a-test')
    await dialog.getByRole('button', { name: 'Preview changes' }).click()
    await dialog.getByText('3 to create').waitFor()
    assert.deepEqual(await findViolations(page), [])
    await dialog.getByRole('button', { name: 'Apply', exact: true }).click()
    await dialog.getByText('3 created').waitFor()
    await dialog.getByRole('button', { name: 'Done' }).click()
    assert.equal(await page.evaluate('JSON.stringify(sessionStorage).includes("glpat")'), false)
    assert.deepEqual(errors, [])
    await close()
  })

  it('runs its sample in two clicks, and says where the result is', async () => {
    const viewer = await openPage(world, '/app/overview', world.viewer)
    await isDisabledWithReason(viewer.page, 'Run the sample')
    await viewer.close()
    const { page, errors, close } = await openPage(world, '/app/overview')
    await page.getByRole('button', { name: 'Run the sample' }).click()
    const notice = page.getByRole('region', { name: 'Sample' })
    await notice.getByText('The page is now at').waitFor()
    const file = await notice.getByText('current/index.html').innerText()
    assert.match(await readFile(file, 'utf8'), /<h1>Hello Gantry<\/h1>/)
    await looksRight(page, 'the sample after its run')
    await notice.getByRole('link', { name: 'Open the result' }).click()
    await page.getByText('All targets completed.').waitFor()
    await page.goBack()
    await page.getByRole('button', { name: 'Run the sample again' }).waitFor()
    await tabTo(page, 'Run the sample again')
    await page.keyboard.press('Enter')
    await notice.getByRole('link', { name: 'Run #2' }).waitFor()
    await notice.getByText('Completed', { exact: true }).waitFor()
    // The last part of the page that shows it: nothing moves below the focus from here on.
    await page.getByRole('link', { name: /#2: Completed/ }).waitFor()
    await notice.getByRole('link', { name: 'Open the result' }).waitFor()
    await tabTo(page, 'Open the result', 'Shift+Tab')
    await page.keyboard.press('Enter')
    await page.getByText('All targets completed.').waitFor()
    assert.deepEqual(errors, [])
    await close()
  })

  it('warns wherever it hands out a URL that others cannot reach', async () => {
    const [incoming, outgoing] = world.everyPage(1).filter((path) => /hooks\/(in|out)/.test(path))
    const warning = /Only the machine that Gantry runs on reaches .*Set GANTRY_URL to the URL/
    for (const login of [undefined, world.viewer]) {
      const { page, errors, close } = await openPage(world, incoming!, login)
      await page.getByText(warning).waitFor()
      await goTo(page, outgoing!)
      await page.getByText(warning).waitFor()
      await looksRight(page, 'an outgoing hook with a warning')
      assert.deepEqual(errors, [])
      await close()
    }
    const { page, close } = await openPage(world, '/app/members')
    await page.getByRole('button', { name: 'Invite', exact: true }).click()
    await page.getByLabel('Email').fill('ada@example.com')
    await page.getByRole('button', { name: 'Create link' }).click()
    await page.getByRole('dialog').getByText(warning).waitFor()
    await looksRight(page, 'an invitation with a warning')
    await close()
  })

  it('loses its sample with one button, which names what goes with it', async () => {
    const { page, errors, close } = await openPage(world, '/app/overview')
    await page.getByRole('button', { name: 'Remove the sample' }).click()
    const dialog = page.getByRole('dialog', { name: 'Remove Sample organization?' })
    await dialog.getByText('Hello Gantry', { exact: true }).waitFor()
    await dialog.getByRole('button', { name: 'Remove organization' }).click()
    await page.getByText('Organization Sample organization removed.').waitFor()
    await page.getByRole('button', { name: 'Remove the sample' }).waitFor({ state: 'detached' })
    assert.deepEqual(errors, [])
    await close()
  })

  it('performs the operations that writes.ts lists', () => assertWrites(world, 'first-run.browser.ts'))
})
